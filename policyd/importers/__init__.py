"""Policies of other engines as policies of policyd.

Policies with the same meaning are converted; others are reported with their place and the reason.
"""
