"""Commands that keep an installation fit: backups, retention, file space."""
