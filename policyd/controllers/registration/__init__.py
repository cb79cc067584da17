"""Keep webhook configurations in step with the policies, and find the policies they reach."""
