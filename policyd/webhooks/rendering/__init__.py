"""Render the smallest webhook configurations that call policyd for all that policies need."""
