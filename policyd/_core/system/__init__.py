"""What policyd asks of the C library and the kernel, and Python does not offer."""
