"""Objects of a cluster in memory, kept in step with it, for lookups and reads."""
