"""The command `policyd test`."""
