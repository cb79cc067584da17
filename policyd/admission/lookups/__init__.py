"""Data that policies look up beside the request, and how their evaluation waits for it."""
