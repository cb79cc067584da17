"""Kubernetes' own kinds of policies, and the API versions in which it serves them."""

from collections.abc import Mapping

from policyd.policy.model.kinds import ADMISSION_GROUP
from policyd.policy.model.suite import Webhook
from policyd.versions import KubernetesVersion

# By the webhook at which policyd serves them.
KINDS: Mapping[Webhook, str] = {
    "validate": "ValidatingAdmissionPolicy",
    "mutate": "MutatingAdmissionPolicy",
}

# Of each kind, the versions of its API, newest first, and the Kubernetes version that serves it by
# default.
_SERVED = {
    "ValidatingAdmissionPolicy": (("v1", KubernetesVersion(1, 30)),),
    "MutatingAdmissionPolicy": (
        ("v1", KubernetesVersion(1, 36)),
        ("v1beta1", KubernetesVersion(1, 34)),
    ),
}


def api_version(kind: str, version: KubernetesVersion) -> str | None:
    """Return the apiVersion of a kind of policy, which is also its bindings'; None if the
    Kubernetes version does not serve it.

    >>> api_version("MutatingAdmissionPolicy", KubernetesVersion(1, 35))
    'admissionregistration.k8s.io/v1beta1'
    """
    for name, since in _SERVED[kind]:
        if since <= version:
            return f"{ADMISSION_GROUP}/{name}"
    return None


def not_served(kind: str, version: KubernetesVersion) -> str:
    """Return why a kind of policy cannot be exported for a version."""
    return f"Kubernetes {version} does not serve {kind}"
