"""Tokens of API servers: keys, verification, and what is remembered."""
