"""Keep a server and its cluster in step: follow what policies need, and write for all replicas."""
