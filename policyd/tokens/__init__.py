"""Tokens with which an API server identifies itself to a webhook (KEP-6060): keys, claims, and a
cache of verified tokens. No I/O. Imported only with ``--require-api-server-token``.
"""
