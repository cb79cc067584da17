"""The policies that the server of a load test has; run as a module, as options of ``serve``."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Policies that need nothing but the request.
POLICIES = (
    "policies/pod-security/baseline",
    *(
        f"policies/best-practices/{name}"
        for name in (
            "autoscaler-bounds",
            "block-protected-deletion",
            "disallow-default-namespace",
            "disallow-external-ips",
            "disallow-latest-tag",
            "disallow-node-port",
            "immutable-labels",
            "minimum-replicas",
            "pod-disruption-budget",
            "require-ingress-tls",
            "restrict-cluster-admin",
            "restrict-secret-types",
            "restrict-wildcard-rbac",
        )
    ),
    *(
        f"policies/mutation/{name}"
        for name in (
            "default-labels",
            "default-resources",
            "default-security-context",
            "drop-deprecated-annotations",
            "image-pull-policy",
        )
    ),
)

if __name__ == "__main__":
    print(*(f"-p {each}" for each in POLICIES))
