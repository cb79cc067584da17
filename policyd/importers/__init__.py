"""Policies of other engines as policies of policyd.

What means the same is converted; what does not is reported with its place and the reason.
"""
