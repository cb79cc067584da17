"""Keep a server in step with its cluster: follow objects that policies need, and write objects."""
