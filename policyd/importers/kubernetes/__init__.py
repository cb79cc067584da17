"""Policies of the API server itself, with their bindings."""
