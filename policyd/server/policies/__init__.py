"""Policies in use: watch sources, swap sets, add definitions of a live cluster."""
