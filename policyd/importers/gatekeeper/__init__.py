"""Policies of Gatekeeper."""
