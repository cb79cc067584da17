"""Certificates that policyd issues and rotates, and mounted ones."""
