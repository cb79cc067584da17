"""Keep webhook configurations in step with the policies, and find what they reach."""
