"""Expressions at random, answered by policyd and by the CEL of Kubernetes (tests/oracle), and hostile input."""
