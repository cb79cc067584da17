"""Decisions of another admission webhook beside those of policyd, for recorded requests. Prints
nothing.
"""
