"""Backends of the ports; the only place that imports client libraries."""
