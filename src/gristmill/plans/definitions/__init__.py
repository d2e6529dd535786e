"""What everything that is written as a file shares: YAML that remembers its lines, and conditions in CEL."""
