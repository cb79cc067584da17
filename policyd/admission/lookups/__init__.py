"""Data that policies look up outside the request, and how their evaluation waits for it."""
