"""Policies of other engines in a live cluster, and their changes since they were imported. Only
reads.
"""
