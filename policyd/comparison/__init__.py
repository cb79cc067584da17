"""Compare the decisions of another admission webhook with policyd's, for recorded requests."""
