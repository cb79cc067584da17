"""Follow and write the documents with which the API server enforces policies."""
