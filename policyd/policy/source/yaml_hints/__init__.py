"""Plain words for YAML that cannot be read, and for values that YAML reads in another way."""
