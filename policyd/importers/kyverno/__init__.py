"""Policies of Kyverno."""
