"""``policyd export``: policies as documents that the API server evaluates itself."""
