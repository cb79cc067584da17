"""What a Pod knows of itself. Connects to nothing."""

from pathlib import Path

# Where a Pod finds its namespace.
NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def pod_namespace() -> str:
    """Return the namespace of this Pod; empty outside of a Pod, and without a ServiceAccount."""
    try:
        return NAMESPACE_FILE.read_text().strip()
    except OSError:
        return ""
