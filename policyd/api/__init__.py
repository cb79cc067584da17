"""The public Python API; nothing else of the package is promised."""
