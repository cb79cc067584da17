"""Policies with errors: what is known of them, and what happens to the requests they match."""
