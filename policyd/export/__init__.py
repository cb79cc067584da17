"""Export: the documents with which the API server itself enforces a policy."""
