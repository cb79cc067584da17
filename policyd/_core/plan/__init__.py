"""Compiled policies: what one validation, mutation or overlay does with a request."""
