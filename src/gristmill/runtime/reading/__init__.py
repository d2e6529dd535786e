"""Looks into a state folder for a person: items, runs, what was given up. Nothing is changed but by `requeue`."""
