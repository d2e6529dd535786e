"""Values of what faces the outside: callers, publications, what people say, and how the installation is."""
