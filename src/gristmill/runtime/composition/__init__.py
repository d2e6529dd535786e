"""Composition root: flows, resources and a store become the two services."""
