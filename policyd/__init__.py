"""policyd: a Kubernetes admission webhook that means what the API server means."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policyd.api.policy_set import PolicySet as PolicySet

__version__ = "0.1.0"
__all__ = ["PolicySet", "__version__"]


def __getattr__(name: str) -> object:
    # Lazily, so that `policyd --help` imports no engine.
    if name == "PolicySet":
        from policyd.api.policy_set import PolicySet

        return PolicySet
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
