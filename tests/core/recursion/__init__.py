"""Every recursive function of the core, what bounds it, and attacks on it."""
