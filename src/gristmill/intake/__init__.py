"""How foreign records become items: files are read into records, records are mapped and checked."""
