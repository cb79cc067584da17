"""Placement: which engine enforces a policy, the API server itself or the webhook."""
