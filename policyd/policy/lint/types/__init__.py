"""Expressions checked against the schemas of the kinds that a policy matches."""
