"""Policies of other engines as policies of policyd: what means the same is converted, the rest is
named.
"""
