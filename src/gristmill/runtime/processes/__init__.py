"""A group of processes: main starts, watches and stops a dispatcher and engines."""
