"""Parts of the Dispatcher: what feeds it, what comes back, and the leases in between."""
