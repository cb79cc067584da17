"""Policies of Kyverno that are written in CEL."""
