"""Parts of the Engine: from a leased record to an Item, and from ended Runs to a commit."""
