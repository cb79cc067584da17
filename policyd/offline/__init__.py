"""Commands' work on policies and requests outside a server: explain, replay, coverage."""
