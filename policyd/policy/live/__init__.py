"""Policies in use: watching sources, swapping sets, what a live cluster adds."""
