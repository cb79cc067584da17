"""Objects of a cluster that are kept in memory for lookups and reads."""
