"""The check of callers in a server: keys that change, and requests over TLS."""
