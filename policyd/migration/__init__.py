"""Policies of other engines in a live cluster: what there is of them, and what changed since they
were imported. Only reads.
"""
