"""The type checker of CEL, and the checks that follow it."""
