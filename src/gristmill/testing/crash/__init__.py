"""Kills processes of a running group at random moments and compares what is left with an undisturbed run."""
