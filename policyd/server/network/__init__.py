"""The ports: listeners, connections, TLS streams and the HTTP protocols on them."""
