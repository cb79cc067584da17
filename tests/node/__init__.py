"""policyd on a real single-node Kubernetes: ``make node``."""
