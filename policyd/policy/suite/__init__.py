"""Suites: cases with requests and expectations, and running them."""
