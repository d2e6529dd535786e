"""`gristmill run`: a file goes in as the records of a topic of its own, and comes out as one line a record."""
