"""Kinds and resources of Kubernetes: built in, defined by CRDs, with Pod templates."""
