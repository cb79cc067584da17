"""JMESPath, and strings with JMESPath in `{{ }}`, as CEL. Knows nothing of policies."""
