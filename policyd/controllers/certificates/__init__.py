"""Certificates that policyd issues and rotates, and those that are mounted."""
