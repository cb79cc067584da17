"""Overlays: a YAML tree compiled and bound to the schema of a kind."""
