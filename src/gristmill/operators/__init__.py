"""Built-in operators: pure functions over content. Tasks of the shipped flows are thin wrappers around them."""
