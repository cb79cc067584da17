"""The ASGI application: endpoints, status pages, limits. Knows no server."""
