"""One Run, from its first task to what it wants written: the shell around the marking."""
