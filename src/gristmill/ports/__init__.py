"""Protocols with stated guarantees; a contract suite in `gristmill.testing` holds every implementation to them."""
