"""Decisions of another admission webhook beside policyd's, for recorded requests. Prints
nothing.
"""
