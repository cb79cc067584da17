"""Webhook configurations in the style of well-known products, and of those who write odd ones. No
tests here.

Each webhook is called at ``URL/CONFIGURATION/WEBHOOK``, so that a server can tell them apart.
"""

from collections.abc import Iterator

from policyd.json_types import JSON, JSONObject

CREATE, UPDATE = ["CREATE"], ["CREATE", "UPDATE"]
ANY = ["*"]


def rule(
    resources: list[str],
    operations: list[str] = CREATE,
    groups: list[str] | None = None,
    versions: list[str] | None = None,
    **fields: JSON,
) -> JSONObject:
    return {
        "operations": operations,
        "apiGroups": [""] if groups is None else groups,
        "apiVersions": ["v1"] if versions is None else versions,
        "resources": resources,
        **fields,
    }


def _is(key: str, operator: str, *values: str) -> JSONObject:
    requirement: JSONObject = {"key": key, "operator": operator}
    return requirement | ({"values": list(values)} if values else {})


def _all(*requirements: JSONObject) -> JSONObject:
    return {"matchExpressions": list(requirements)}


NAME = "kubernetes.io/metadata.name"
EVERYTHING = rule(["*/*"], ANY, ANY, ANY)
NOT_SYSTEM = _all(_is(NAME, "NotIn", "kube-system"))
PODS = rule(["pods"])

# Configuration: its webhooks by name.
MUTATING: dict[str, dict[str, JSONObject]] = {
    # Sees every request first, as it is; its review is what predictions are made of.
    "000-observer": {"observer.example.com": {"rules": [EVERYTHING], "matchPolicy": "Exact"}},
    "istio-sidecar-injector": {
        "namespace.sidecar-injector.istio.io": {
            "rules": [PODS],
            "namespaceSelector": _all(_is("istio-injection", "In", "enabled")),
            "objectSelector": _all(_is("sidecar.istio.io/inject", "NotIn", "false")),
            "reinvocationPolicy": "IfNeeded",
        },
        "object.sidecar-injector.istio.io": {
            "rules": [PODS],
            "namespaceSelector": _all(_is("istio-injection", "DoesNotExist")),
            "objectSelector": _all(_is("sidecar.istio.io/inject", "In", "true")),
            "reinvocationPolicy": "IfNeeded",
        },
    },
    "linkerd-proxy-injector": {
        "linkerd-proxy-injector.linkerd.io": {
            "rules": [rule(["pods", "services"])],
            "namespaceSelector": _all(
                _is("config.linkerd.io/admission-webhooks", "NotIn", "disabled"),
                _is(NAME, "NotIn", "kube-system", "cert-manager"),
            ),
            "failurePolicy": "Ignore",
        }
    },
    "kyverno-resource-mutating": {
        "mutate.kyverno.svc-fail": {
            "rules": [
                rule(["deployments", "statefulsets"], UPDATE, ["apps"]),
                rule(["configmaps", "secrets"], [*UPDATE, "DELETE"]),
            ],
            "reinvocationPolicy": "IfNeeded",
            "namespaceSelector": NOT_SYSTEM,
        },
        "mutate.kyverno.svc-ignore": {
            "rules": [rule(["*/*"], [*UPDATE, "DELETE", "CONNECT"], ANY, ANY)],
            "failurePolicy": "Ignore",
            "objectSelector": _all(_is("kyverno", "Exists")),
        },
    },
    "vault-agent-injector": {
        "vault.hashicorp.com": {
            "rules": [rule(["pods", "deployments", "jobs"], CREATE, ["", "apps", "batch"])],
            "objectSelector": _all(_is("app.kubernetes.io/name", "NotIn", "vault-agent-injector")),
        }
    },
    "pod-identity": {
        "pod-identity.amazonaws.com": {
            "rules": [rule(["pods"], UPDATE, scope="Namespaced")],
            "failurePolicy": "Ignore",
            "matchConditions": [
                {"name": "named", "expression": "has(object.spec.serviceAccountName)"},
                {
                    "name": "person",
                    "expression": "!request.userInfo.username.startsWith('system:')",
                },
            ],
        }
    },
    "keda": {
        "autoscaling.keda.example.com": {
            "rules": [rule(["horizontalpodautoscalers"], UPDATE, ["autoscaling"], ["v1"])],
        },
        "exact.keda.example.com": {
            "rules": [rule(["horizontalpodautoscalers"], UPDATE, ["autoscaling"], ["v1"])],
            "matchPolicy": "Exact",
        },
    },
    "aa-defaulter": {
        "again.defaulter.example.com": {
            "rules": [rule(["configmaps"], UPDATE)],
            "reinvocationPolicy": "IfNeeded",
        },
        "once.defaulter.example.com": {"rules": [rule(["configmaps"], UPDATE)]},
    },
    "mm-patcher": {
        "patcher.example.com": {
            "rules": [rule(["configmaps"], UPDATE)],
            "objectSelector": {"matchLabels": {"patch": "yes"}},
            "reinvocationPolicy": "IfNeeded",
        }
    },
    "zz-last": {
        "last.example.com": {
            "rules": [rule(["configmaps"], UPDATE)],
            "reinvocationPolicy": "IfNeeded",
        }
    },
}
VALIDATING: dict[str, dict[str, JSONObject]] = {
    "gatekeeper-validating": {
        "validation.gatekeeper.sh": {
            "rules": [
                EVERYTHING | {"operations": UPDATE, "resources": ["*"]},
                rule(["pods/ephemeralcontainers", "pods/exec", "pods/attach", "pods/eviction",
                      "pods/portforward", "services/status"], ANY, [""], ANY),
            ],
            "namespaceSelector": _all(_is("admission.gatekeeper.sh/ignore", "DoesNotExist")),
            "failurePolicy": "Ignore",
        },
        "check-ignore-label.gatekeeper.sh": {
            "rules": [rule(["namespaces"], UPDATE, [""], ANY)],
            "namespaceSelector": _all(_is("admission.gatekeeper.sh/ignore", "Exists")),
        },
    },
    "cert-manager-webhook": {
        "webhook.cert-manager.io": {
            "rules": [rule(["*/*"], UPDATE, ["cert-manager.io", "acme.cert-manager.io"])],
            "namespaceSelector": _all(_is("cert-manager.io/disable-validation", "NotIn", "true")),
        }
    },
    "ingress-nginx": {
        "validate.nginx.ingress.kubernetes.io": {
            "rules": [rule(["ingresses"], UPDATE, ["networking.k8s.io"])],
            "matchPolicy": "Equivalent",
        }
    },
    "prometheus-operator": {
        "widgets.monitoring.example.com": {
            "rules": [rule(["widgets"], UPDATE, ["example.com"], ["v1"])],
        },
        "exact.monitoring.example.com": {
            "rules": [rule(["widgets"], UPDATE, ["example.com"], ["v1"])],
            "matchPolicy": "Exact",
        },
        "conditions.monitoring.example.com": {
            "rules": [rule(["widgets"], UPDATE, ["example.com"], ["v2"])],
            "matchConditions": [{"name": "v2", "expression": "object.apiVersion == 'example.com/v2'"}],
        },
    },
    "aws-load-balancer": {
        "vpods.elbv2.k8s.aws": {"rules": [rule(["pods/status"], ["UPDATE"])]},
        "vservice.elbv2.k8s.aws": {"rules": [rule(["services"], ["UPDATE", "DELETE"])]},
    },
    "scopes": {
        "cluster.scopes.example.com": {"rules": [rule(["*"], ANY, ANY, ANY, scope="Cluster")]},
        "namespaced.scopes.example.com": {"rules": [rule(["*"], ANY, ANY, ANY, scope="Namespaced")]},
    },
    "subresources": {
        "scale.subresources.example.com": {"rules": [rule(["*/scale"], ANY, ANY, ANY)]},
        "status.subresources.example.com": {"rules": [rule(["*/status"], ANY, ANY, ANY)]},
        "pods.subresources.example.com": {"rules": [rule(["pods/*"], ANY)]},
        "connect.subresources.example.com": {"rules": [rule(["*/*"], ["CONNECT"], ANY, ANY)]},
        "token.subresources.example.com": {"rules": [rule(["serviceaccounts/token"])]},
    },
    "deletes": {
        "labelled.deletes.example.com": {
            "rules": [rule(["*"], ["DELETE"], ANY, ANY)],
            "objectSelector": {"matchLabels": {"keep": "yes"}},
        },
        "unlabelled.deletes.example.com": {
            "rules": [rule(["*"], ["DELETE"], ANY, ANY)],
            "objectSelector": _all(_is("keep", "DoesNotExist")),
        },
        "conditions.deletes.example.com": {
            "rules": [rule(["*"], ["DELETE"], ANY, ANY)],
            "matchConditions": [{"name": "old", "expression": "object == null && oldObject != null"}],
        },
    },
    "namespaces": {
        "prod.namespaces.example.com": {
            "rules": [EVERYTHING],
            "namespaceSelector": {"matchLabels": {"env": "prod"}},
        },
        "other.namespaces.example.com": {
            "rules": [EVERYTHING],
            "namespaceSelector": _all(_is("env", "NotIn", "prod")),
        },
        "named.namespaces.example.com": {
            "rules": [EVERYTHING],
            "namespaceSelector": {"matchLabels": {NAME: "calls-prod"}},
        },
    },
    "conditions": {
        "users.conditions.example.com": {
            "rules": [EVERYTHING],
            "matchConditions": [{"name": "bob", "expression": "request.userInfo.username == 'bob'"}],
        },
        "kinds.conditions.example.com": {
            "rules": [EVERYTHING],
            "matchConditions": [
                {"name": "secret", "expression": "request.kind.kind == 'Secret'"},
                {"name": "resource", "expression": "request.resource.resource == 'secrets'"},
                {"name": "nobody", "expression": "namespaceObject == null"},
            ],
        },
        "fails.conditions.example.com": {
            "rules": [rule(["secrets"], ANY)],
            "matchConditions": [
                {"name": "a", "expression": "object.metadata.name != 'broken' || object.absent == 1"},
                {"name": "b", "expression": "object.metadata.name != 'broken' || object.none.x > 2"},
            ],
        },
        "ignores.conditions.example.com": {
            "rules": [rule(["secrets"], ANY)],
            "failurePolicy": "Ignore",
            "matchConditions": [
                {"name": "a", "expression": "object.metadata.name != 'ignored' || object.absent == 1"},
            ],
        },
        "allowed.conditions.example.com": {
            "rules": [rule(["secrets"], ANY)],
            "matchConditions": [
                {"name": "a",
                 "expression": "authorizer.group('').resource('pods').check('list').allowed()"},
                {"name": "b", "expression": "authorizer.requestResource.check('breakglass').allowed()"},
            ],
        },
        "mapped.conditions.example.com": {
            "rules": [rule(["horizontalpodautoscalers"], UPDATE, ["autoscaling"], ["v2"])],
            "matchConditions": [
                {"name": "kind", "expression": "request.kind.version == 'v2'"},
                {"name": "resource", "expression": "request.resource.version == 'v1'"},
                {"name": "asked", "expression": "request.requestResource.version == 'v1'"},
            ],
        },
    },
    "events": {
        "core.events.example.com": {"rules": [rule(["events"])]},
        "group.events.example.com": {"rules": [rule(["events"], CREATE, ["events.k8s.io"])]},
    },
    "reviews": {
        "reviews.example.com": {
            "rules": [rule(ANY, ANY, ["authorization.k8s.io", "authentication.k8s.io"], ANY)]
        },
        "admission.reviews.example.com": {
            "rules": [rule(ANY, ANY, ["admissionregistration.k8s.io"], ANY)]
        },
    },
}  # fmt: skip


def configurations(url: str, authority: str) -> Iterator[JSONObject]:
    """Yield them all; their webhooks are at ``url``."""
    for kind, listed in (("Mutating", MUTATING), ("Validating", VALIDATING)):
        for name, hooks in listed.items():
            yield {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": [
                    {
                        "name": hook,
                        "admissionReviewVersions": ["v1"],
                        "sideEffects": "None",
                        "timeoutSeconds": 10,
                        "clientConfig": {"url": f"{url}/{name}/{hook}", "caBundle": authority},
                        **fields,
                    }
                    for hook, fields in hooks.items()
                ],
            }
