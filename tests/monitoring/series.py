"""Which series the queries of rules and dashboards name, and which exist. No tests here."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from policyd.server.callers.required_tokens import CAUSES

READS = ("usable", "objects", "bytes", "key_errors", "events_total", "staleness_seconds")
# Metrics that a server has only in a cluster, with the values of their labels that queries may name.
IN_CLUSTER: dict[str, dict[str, set[str]]] = {
    "policyd_cluster_cache_staleness_seconds": {"cache": set()},
    "policyd_cluster_cache_objects": {"cache": set()},
    **{f"policyd_read_{name}": {"kind": set[str]()} for name in READS},
    "policyd_policies_unreached": {},
    "policyd_registrations_total": {"result": {"success", "error", "conflict"}},
    "policyd_leader": {},
    "policyd_worker_restarts_total": {},  # with --workers
    "policyd_policy_rollout_until_timestamp_seconds": {"policy": set()},  # with a rollout
    "policyd_policies_placed": {
        "policy": set(),
        "webhook": {"validate", "mutate"},
        "engine": {"api-server", "webhook"},
    },
    "policyd_placements_total": {"result": {"success", "error", "conflict"}},
    "policyd_certificate_rotations_total": {"result": {"success", "error"}},
    "policyd_events_total": {"result": {"written", "dropped", "failed"}},
    # With --require-api-server-token.
    "policyd_unauthenticated_requests_total": {"cause": {*CAUSES}},
}
# Values of labels that others have there only.
MORE_VALUES: dict[str, dict[str, set[str]]] = {
    "policyd_watch_healthy": {"watch": {"registration", "managed-certificates", "in-tree"}},
}
# Of the API server (k8s.io/apiserver, pkg/admission/metrics), of kube-state-metrics and of Prometheus.
OTHERS: dict[str, dict[str, set[str]]] = {
    "apiserver_admission_webhook_rejection_count": {
        "name": {"validate-fail.policyd.dev", "mutate-ignore-5s.policyd.dev"},
        "type": {"validating", "admit"},
        "operation": {"CREATE", "UPDATE", "DELETE", "CONNECT"},
        "error_type": {"calling_webhook_error", "apiserver_internal_error", "no_error"},
        "rejection_code": set(),
    },
    "apiserver_admission_webhook_fail_open_count": {
        "name": {"validate-ignore.policyd.dev", "policies.policyd.dev"},
        "type": {"validating", "admit"},
    },
    **{
        f"apiserver_{kind}_admission_policy_check_{end}": {
            "policy": set(),
            "policy_binding": set(),
            "error_type": {"compile_error", "invalid_error", "out_of_budget", "no_error"},
            **actions,
        }
        for kind, actions in (
            ("validating", {"enforcement_action": {"allow", "deny", "audit", "warn"}}),
            ("mutating", dict[str, set[str]]()),
        )
        for end in ("total", "duration_seconds_sum", "duration_seconds_count")
    },
    "kube_deployment_spec_replicas": {"namespace": set(), "deployment": {"policyd", "a-policyd"}},
    "kube_deployment_status_replicas_available": {
        "namespace": set(),
        "deployment": {"policyd", "a-policyd"},
    },
    "up": {},
}
# What exists only with a policy that reads, with --in-tree (of policyd and of the API server), with
# --events or with --require-api-server-token.
ON_REQUEST = (
    *(f"policyd_read_{name}" for name in READS),
    "policyd_events_total",
    "policyd_unauthenticated_requests_total",
    "policyd_policies_placed",
    "policyd_placements_total",
    *(name for name in OTHERS if "_admission_policy_check_" in name),
)
# Added to every series by Prometheus or its operator.
TARGET = {"cluster", "namespace", "job", "instance", "pod"}

_NAME = r"(?<![\w$\"./-])((?:policyd|apiserver|kube|process)_\w+|up)\b"
_SELECTOR = re.compile(_NAME + r"(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
_GROUPING = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right) *\(([^)]*)\)")


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label."""

    label: str
    operator: str
    value: str

    def problem(self, known: set[str]) -> str:
        """Why no series can have what it asks for; every alternative of a pattern must be one."""
        if "$" in self.value or not known:
            return ""
        wanted = self.value.split("|") if "=~" in self.operator else [self.value]
        return "; ".join(
            f"{self.label} is never {each}"
            for each in wanted
            if not any(re.fullmatch(each, value) for value in known)
        )


def selectors(expression: str) -> Iterator[tuple[str, list[Matcher]]]:
    """The metrics that an expression names, each with its conditions."""
    for name, matchers in _SELECTOR.findall(expression):
        yield name, [Matcher(*each) for each in _MATCHER.findall(matchers)]


def grouped_by(expression: str) -> set[str]:
    """The labels that an expression aggregates or joins by."""
    found = _GROUPING.findall(expression)
    return {label.strip() for each in found for label in each.split(",") if label.strip()}


def shown(exposition: str) -> dict[str, dict[str, set[str]]]:
    """Every metric in the text of a scrape with the values of its labels, and ``MORE_VALUES``."""
    found = {
        name: {label: set(values) for label, values in labels.items()}
        for name, labels in MORE_VALUES.items()
    }
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


def problems(expression: str, known: Mapping[str, Mapping[str, set[str]]]) -> list[str]:
    """What an expression names that does not exist."""
    found = []
    labels: set[str] = set()
    for name, matchers in selectors(expression):
        if name not in known:
            found.append(f"no metric {name}")
            continue
        labels |= known[name].keys()
        for each in matchers:
            if each.label in known[name]:
                found += [
                    f"{name}: {text}" for text in [each.problem(known[name][each.label])] if text
                ]
            elif each.label not in TARGET:
                found.append(f"{name} has no label {each.label}")
    unknown = grouped_by(expression) - labels - TARGET
    return found + [f"no metric in it has the label {each}" for each in sorted(unknown)]
