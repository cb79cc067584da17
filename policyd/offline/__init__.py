"""The work of commands on policies and requests outside a server: explain, replay, coverage."""
