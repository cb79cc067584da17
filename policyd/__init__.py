"""policyd: a Kubernetes admission webhook that evaluates policies exactly as the API server does.

The names in ``__all__`` are the public Python API (docs/embed/embedding.md); everything else may
change in any release.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policyd.admission.lookups.authorizer import (
        AccessDecision,
        Attributes,
        Authorizer,
        Failure,
        StaticAuthorizer,
    )
    from policyd.api.asgi import asgi
    from policyd.api.build_review import build_review
    from policyd.api.lookups import Lookups
    from policyd.api.policy_set import PolicySet
    from policyd.api.result import PolicyViolation, ReviewResult
    from policyd.errors import PolicydError, PolicyError, Problem, ReviewError
    from policyd.versions import KubernetesVersion

__version__ = "0.1.0"
__all__ = [
    "AccessDecision",
    "Attributes",
    "Authorizer",
    "Failure",
    "KubernetesVersion",
    "Lookups",
    "PolicyError",
    "PolicySet",
    "PolicyViolation",
    "PolicydError",
    "Problem",
    "ReviewError",
    "ReviewResult",
    "StaticAuthorizer",
    "__version__",
    "asgi",
    "build_review",
]

# Imported when a name is used, so that `policyd --help` imports no engine.
_MODULES = {
    "Attributes": "policyd.admission.lookups.authorizer",
    "Authorizer": "policyd.admission.lookups.authorizer",
    "AccessDecision": "policyd.admission.lookups.authorizer",
    "Failure": "policyd.admission.lookups.authorizer",
    "KubernetesVersion": "policyd.versions",
    "Lookups": "policyd.api.lookups",
    "PolicyError": "policyd.errors",
    "PolicySet": "policyd.api.policy_set",
    "PolicyViolation": "policyd.api.result",
    "PolicydError": "policyd.errors",
    "Problem": "policyd.errors",
    "ReviewError": "policyd.errors",
    "ReviewResult": "policyd.api.result",
    "StaticAuthorizer": "policyd.admission.lookups.authorizer",
    "asgi": "policyd.api.asgi",
    "build_review": "policyd.api.build_review",
}

if not TYPE_CHECKING:  # a type checker reports names that are not in __all__

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
