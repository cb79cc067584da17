"""Which clients may send reviews: those with a token of the API server, if that is required."""
