"""The rules of each document's form, beyond what its model says."""
