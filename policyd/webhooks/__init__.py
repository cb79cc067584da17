"""Webhook configurations as plain JSON: what the API server accepts and calls. No I/O."""
