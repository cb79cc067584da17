"""PolicyReports of the objects in a cluster: scans, writes and deletes reports, and sums up."""
