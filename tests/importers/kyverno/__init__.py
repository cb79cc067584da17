"""Tests of the import of Kyverno's policies."""
