"""The namespace that a server runs in."""

from policyd.cluster import NAMESPACE_FILE, pod_namespace
from policyd.config import Settings
from policyd.errors import ConfigError


def own_namespace(settings: Settings) -> str:
    """Return the setting, or the namespace of the Pod; empty if neither is known."""
    return settings.namespace or pod_namespace()


def known_namespace(settings: Settings) -> str:
    """Return the namespace; raises ConfigError if it is not known."""
    namespace = own_namespace(settings)
    if not namespace:
        raise ConfigError(f"--namespace is not set, and there is no {NAMESPACE_FILE}")
    return namespace
