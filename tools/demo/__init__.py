"""The demonstration of `make demo`."""
