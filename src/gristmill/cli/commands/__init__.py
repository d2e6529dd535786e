"""One file for each command or pair of commands; imported when called."""
