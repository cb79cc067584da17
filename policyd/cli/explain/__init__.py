"""The command `policyd explain`."""
