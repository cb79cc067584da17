"""What is kept of a cluster in memory, in step with it: for lookups, and for reads."""
