"""Subscriptions: what is found out about items leaves to whoever needs it."""
