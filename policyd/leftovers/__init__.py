"""Leftovers of other engines in a cluster: webhooks that block it, policies and exceptions without
effect, and rules that are enforced twice. Only reads.
"""
