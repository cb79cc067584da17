"""The server process: connections, certificates, watches, signals, capture."""
