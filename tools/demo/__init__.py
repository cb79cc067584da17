"""The demo of `make demo`."""
