"""Reads of a policy: other objects of the cluster that its expressions see."""
