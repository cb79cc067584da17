"""Checked expressions made into programs of the core."""
