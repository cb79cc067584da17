"""TLS: certificates, contexts, and the handshakes of clients."""
