"""Render the smallest webhook configurations that send policyd all requests of the policies."""
