"""Loops that a server runs in its cluster: the Lease, certificates, registration."""
