"""What the store of recent items decides: forms of events, filters, rules of queries, and when it is ready."""
