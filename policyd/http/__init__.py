"""The ASGI application: endpoints, status pages, limits. Independent of the server that runs it."""
