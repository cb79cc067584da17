"""The command `policyd eval`."""
