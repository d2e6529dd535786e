"""Feeding and serving recent items: what the two roles are made of, and their lives."""
