"""Advice on which requests policies match."""
