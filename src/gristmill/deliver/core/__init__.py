"""Decides what is sent to whom, when again, and how it is signed. Touches nothing."""
