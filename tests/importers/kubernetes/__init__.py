"""Tests of the import of Kubernetes' own policies."""
