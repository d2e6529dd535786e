"""Composition root: settings become adapters, services and a group of processes, and their health is told."""
