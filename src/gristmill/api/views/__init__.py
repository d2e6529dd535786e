"""Shapes of what the API takes and answers. Ids are decimal strings, times RFC 3339 in UTC with milliseconds."""
