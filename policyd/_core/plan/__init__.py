"""Compiled policies: validations, mutations and overlays of requests."""
