"""PolicyReports of the objects in a cluster: scan, write and delete reports, and summarize."""
