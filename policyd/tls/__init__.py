"""TLS certificates and contexts, and the handshakes of clients."""
