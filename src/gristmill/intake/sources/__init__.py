"""Sources as data: a YAML file says how foreign records become items, without a line of Python."""
