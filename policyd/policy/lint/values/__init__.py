"""Advice on values: literals in expressions, and plain scalars of YAML."""
