"""Lint rules about mutations: what they write, and how that fits the schemas of their kinds."""
