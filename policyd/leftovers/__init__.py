"""What other engines leave in a cluster: webhooks that block it, policies and exceptions that do
nothing, and what is enforced twice. Only reads.
"""
