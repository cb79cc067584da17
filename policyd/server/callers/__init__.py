"""Accept reviews only from clients with a token of the API server, if that is required."""
