"""Tables of policyd that come from Kubernetes: which modules they are read from, and how."""
