"""Plan checked expressions: turn them into programs of the core."""
