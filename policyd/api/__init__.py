"""The public Python API; nothing else in the package is stable."""
