"""The static cost of expressions."""
