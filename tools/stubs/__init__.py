"""The .pyi of compiled modules, which ``python -m tools.stubs`` writes from .pyx and .pxd."""
