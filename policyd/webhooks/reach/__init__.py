"""Find the webhooks and rules that reach policies, and the gaps."""
