"""policyd: a Kubernetes admission webhook that means what the API server means."""

__version__ = "0.1.0"
