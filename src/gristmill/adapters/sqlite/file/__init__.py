"""One SQLite file: how it is opened, who writes when, who reads, and what its driver's errors mean."""
