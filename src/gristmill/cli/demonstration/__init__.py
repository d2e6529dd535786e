"""What `gristmill demo` puts into its state folder, and how it shows that in the console."""
