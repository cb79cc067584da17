"""Tokens by which an API server identifies itself to a webhook (KEP-6060): keys, claims, and what
was verified. No I/O. Imported only with ``--require-api-server-token``.
"""
