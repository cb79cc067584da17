"""The command `policyd apply`."""
