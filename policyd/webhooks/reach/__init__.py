"""Find by which webhooks and rules policies are reached, and what is not covered."""
