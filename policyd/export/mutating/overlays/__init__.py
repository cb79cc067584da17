"""Overlays as CEL: an ApplyConfiguration or a JSON Patch that makes the same object."""
