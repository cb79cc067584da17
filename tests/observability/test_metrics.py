"""Every metric of docs/reference/metrics.md, from the text of a scrape."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from policyd._core.counting.counters import DECISIONS
from policyd.http.limits import InFlight, Peer, Reservation
from policyd.observability.metrics import Exposition, PrometheusRecorder
from policyd.observability.metrics.scrape import CacheState, ReadState
from policyd.policy.compile.rollouts import CompiledRollout
from policyd.policy.source.files import BundleState
from policyd.server.network.connections import PortConnections
from tests.builders.policies import labelling, map_, policy
from tests.policy_sets import compiled
from tests.server.fakes import FakePolicy, FakeSet
from tests.shared import ROOT

DOCUMENT = ROOT / "docs" / "reference" / "metrics.md"
# The supervisor of several workers shows these (tests/server/test_worker_metrics.py).
OF_SEVERAL = {"policyd_workers", "policyd_worker_restarts_total", "policyd_worker_generations"}


UNTIL = datetime(2027, 3, 1, tzinfo=UTC)


class FakeStore:
    """A store with one set."""

    serves_last_good = False
    unready = ""
    last = None
    bundles: Sequence[BundleState] = (
        BundleState("configmap/a", "1", "", 1),
        BundleState("configmap/b", "2", "3", 1),
    )
    current: Any = FakeSet(
        "gen1",
        (
            FakePolicy("a", "a.txt", "allow", "a", rollout=CompiledRollout(until=UNTIL)),
            FakePolicy("b", "b.txt", "broken", "", rollout=CompiledRollout()),
        ),
        exemption_ends=(
            None,
            *(datetime.now(UTC) + timedelta(days=days) for days in (8, 6, 0.5, -1)),
        ),
    )


@pytest.fixture
def recorder() -> PrometheusRecorder:
    recorder = PrometheusRecorder()
    recorder.request("validate", "CREATE", "allowed", 60_000)
    recorder.request("validate", "CREATE", "allowed", 2_000_000)
    recorder.request("mutate", "UPDATE", "denied", 40_000_000_000)
    recorder.request("validate", "", "bad_request", 10_000)
    recorder.phase("decode", 12_000)
    recorder.shed("bytes")
    recorder.refused("expired")
    recorder.lookup("authorizer", "success", 1_000_000)
    recorder.reload(True)
    recorder.reload(False)
    recorder.edited("refused")
    recorder.patch_operations("a", 2)
    recorder.patch_operations("a", 1)
    recorder.mutation_conflict("a")
    recorder.leads = lambda: True
    recorder.traces = {"exported": 2, "dropped": 0, "failed": 0}
    recorder.placed = lambda: [("p", "validate", "api-server"), ("m", "mutate", "webhook")]
    recorder.placements["success"] = 2
    recorder.events = {"written": 4, "dropped": 0, "failed": 1}
    recorder.unauthenticated = {"missing": 3, "expired": 0}
    recorder.unreached = lambda: 2
    return recorder


@pytest.fixture
def exposition(recorder: PrometheusRecorder) -> Exposition:
    in_flight = InFlight(10, 1000)
    room = in_flight.enter(Peer("a"))
    assert isinstance(room, Reservation)
    room.hold(70)
    connections = PortConnections()
    connections.closed["idle"] = 5
    return Exposition(
        recorder,
        FakeStore(),
        in_flight,
        lambda: 1_800_000_000.0,
        watches=lambda: {"policies": True, "certificates": False},
        log_lines_lost=lambda: 3,
        connections={"reviews": connections},
        caches=lambda: {"namespaces": CacheState(1.5, 7)},
        reads=lambda: {"Pod.v1": ReadState(9, 4096, 2, 11, 3.5, usable=True)},
    )


WANT: list[tuple[str, dict[str, str], float]] = [
    ("policyd_watch_healthy", {"watch": "policies"}, 1),
    ("policyd_watch_healthy", {"watch": "certificates"}, 0),
    ("policyd_cluster_cache_staleness_seconds", {"cache": "namespaces"}, 1.5),
    ("policyd_cluster_cache_objects", {"cache": "namespaces"}, 7),
    ("policyd_read_usable", {"kind": "Pod.v1"}, 1),
    ("policyd_read_objects", {"kind": "Pod.v1"}, 9),
    ("policyd_read_bytes", {"kind": "Pod.v1"}, 4096),
    ("policyd_read_key_errors", {"kind": "Pod.v1"}, 2),
    ("policyd_read_events_total", {"kind": "Pod.v1"}, 11),
    ("policyd_read_staleness_seconds", {"kind": "Pod.v1"}, 3.5),
    ("policyd_refused_clients_total", {"reason": "expired"}, 1),
    ("policyd_leader", {}, 1),
    ("policyd_policies_unreached", {}, 2),
    ("policyd_registrations_total", {"result": "success"}, 0),
    ("policyd_certificate_rotations_total", {"result": "error"}, 0),
    ("policyd_log_lines_lost_total", {}, 3),
    ("policyd_policy_set_empty", {}, 0),
    ("policyd_connections", {"port": "reviews", "state": "idle"}, 0),
    ("policyd_closed_connections_total", {"port": "reviews", "reason": "idle"}, 5),
    (
        "policyd_admission_requests_total",
        {"webhook": "validate", "operation": "CREATE", "result": "allowed"},
        2,
    ),
    (
        "policyd_admission_requests_total",
        {"webhook": "mutate", "operation": "UPDATE", "result": "denied"},
        1,
    ),
    (
        "policyd_admission_requests_total",
        {"webhook": "validate", "operation": "", "result": "bad_request"},
        1,
    ),
    ("policyd_admission_duration_seconds_bucket", {"webhook": "validate", "le": "5e-05"}, 1),
    ("policyd_admission_duration_seconds_bucket", {"webhook": "validate", "le": "0.0001"}, 2),
    ("policyd_admission_duration_seconds_bucket", {"webhook": "validate", "le": "+Inf"}, 3),
    ("policyd_admission_duration_seconds_bucket", {"webhook": "mutate", "le": "30"}, 0),
    ("policyd_admission_duration_seconds_bucket", {"webhook": "mutate", "le": "+Inf"}, 1),
    ("policyd_admission_duration_seconds_sum", {"webhook": "mutate"}, 40.0),
    ("policyd_admission_phase_duration_seconds_count", {"phase": "decode"}, 1),
    ("policyd_policy_decisions_total", {"policy": "a", "decision": "deny"}, 1),
    ("policyd_policy_evaluation_seconds_total", {"policy": "a"}, 0.5),
    ("policyd_policy_cost_units_total", {"policy": "b"}, 70),
    ("policyd_policies", {"state": "active", "kind": "Policy"}, 1),
    ("policyd_policies", {"state": "quarantined", "kind": "Policy"}, 1),
    ("policyd_policies", {"state": "active", "kind": "MutatingAdmissionPolicy"}, 0),
    ("policyd_policies", {"state": "quarantined", "kind": "ValidatingAdmissionPolicy"}, 0),
    ("policyd_policy_rollout_until_timestamp_seconds", {"policy": "a"}, UNTIL.timestamp()),
    ("policyd_serving_last_good", {}, 0),
    ("policyd_policy_set_info", {"generation": "gen1", "kubernetes": "1.37"}, 1),
    ("policyd_policy_exceptions", {"state": "active"}, 2),
    ("policyd_policy_exceptions", {"state": "expiring"}, 2),
    ("policyd_policy_exceptions", {"state": "expired"}, 1),
    ("policyd_policy_configmaps", {"state": "current"}, 1),
    ("policyd_policy_configmaps", {"state": "held"}, 1),
    ("policyd_policy_edits_total", {"result": "refused"}, 1),
    ("policyd_policy_edits_total", {"result": "accepted"}, 0),
    ("policyd_reloads_total", {"result": "success"}, 1),
    ("policyd_reloads_total", {"result": "error"}, 1),
    ("policyd_last_reload_successful", {}, 0),
    ("policyd_in_flight_requests", {}, 1),
    ("policyd_in_flight_bytes", {}, 70),
    ("policyd_shed_requests_total", {"reason": "bytes"}, 1),
    ("policyd_shed_requests_total", {"reason": "requests"}, 0),
    ("policyd_patch_operations_total", {"policy": "a"}, 3),
    ("policyd_mutation_conflicts_total", {"policy": "a"}, 1),
    (
        "policyd_policies_placed",
        {"policy": "p", "webhook": "validate", "engine": "api-server"},
        1,
    ),
    ("policyd_policies_placed", {"policy": "m", "webhook": "mutate", "engine": "webhook"}, 1),
    ("policyd_placements_total", {"result": "success"}, 2),
    ("policyd_placements_total", {"result": "error"}, 0),
    ("policyd_events_total", {"result": "written"}, 4),
    ("policyd_events_total", {"result": "dropped"}, 0),
    ("policyd_unauthenticated_requests_total", {"cause": "missing"}, 3),
    ("policyd_certificate_expiry_timestamp_seconds", {}, 1_800_000_000),
]


def samples(
    exposition: Exposition, accept: str
) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text, content_type = exposition.prepare(accept)()
    parse = openmetrics if "openmetrics" in content_type else prometheus
    return {
        # Parsers print bounds as floats: "30.0".
        (sample.name, frozenset((k, _bound(k, v)) for k, v in sample.labels.items())): sample.value
        for family in parse(text.decode())
        for sample in family.samples
    }


def _bound(label: str, value: str) -> str:
    return f"{float(value):g}" if label == "le" and value != "+Inf" else value


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_every_series_has_its_value(exposition: Exposition, accept: str) -> None:
    found = samples(exposition, accept)
    for name, labels, value in WANT:
        assert found[name, frozenset(labels.items())] == value, (name, labels)


def test_openmetrics_is_given_by_accept(exposition: Exposition) -> None:
    text, content_type = exposition.prepare("application/openmetrics-text; version=1.0.0")()
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")
    assert exposition.prepare("text/plain")()[1].startswith("text/plain")


def test_every_documented_metric_is_shown_and_every_shown_one_documented(
    exposition: Exposition,
) -> None:
    documented = set(re.findall(r"^\| .*?policyd_.*$", DOCUMENT.read_text(), re.MULTILINE))
    names = {
        name for row in documented for name in re.findall(r"`(policyd_\w+)`", row.split("| ")[1])
    }
    shown = set()
    for name, _ in samples(exposition, ""):
        if name.startswith("policyd_"):
            shown.add(re.sub(r"_(bucket|sum|count|created)$", "", name))
    assert shown == names - OF_SEVERAL


KNOWN: dict[str, dict[str, tuple[str, ...]]] = {
    "policyd_admission_requests_total": {
        "webhook": ("validate", "mutate"),
        "operation": ("CREATE", "UPDATE", "DELETE", "CONNECT"),
        "result": ("allowed", "denied", "error"),
    },
    "policyd_admission_duration_seconds_count": {"webhook": ("validate", "mutate")},
    "policyd_admission_phase_duration_seconds_count": {
        "phase": ("decode", "queue", "match", "lookup", "evaluate", "patch", "encode")
    },
    "policyd_policies": {
        "state": ("active", "quarantined"),
        "kind": ("MutatingAdmissionPolicy", "Policy", "ValidatingAdmissionPolicy"),
    },
    "policyd_policy_decisions_total": {
        "policy": ("m", "p"),
        "decision": DECISIONS,
    },
    "policyd_policy_evaluation_seconds_total": {"policy": ("m", "p")},
    "policyd_policy_cost_units_total": {"policy": ("m", "p")},
    "policyd_patch_operations_total": {"policy": ("m", "p")},
    "policyd_mutation_conflicts_total": {"policy": ("m", "p")},
    "policyd_policy_edits_total": {"result": ("accepted", "refused", "error")},
    "policyd_reloads_total": {"result": ("success", "error")},
    "policyd_shed_requests_total": {
        "reason": ("requests", "bytes", "stalled", "queue", "deadline")
    },
    "policyd_closed_connections_total": {
        "port": ("reviews",),
        "reason": (
            "client",
            "answered",
            "idle",
            "handshake",
            "refused",
            "head",
            "write",
            "flood",
            "room",
            "full",
            "drain",
            "error",
        ),
    },
    "policyd_cluster_lookups_total": {
        "question": ("authorizer", "namespace", "param", "kind", "definition", "read"),
        "result": ("success", "error", "timeout"),
    },
    "policyd_cluster_lookup_duration_seconds_count": {
        "question": ("authorizer", "namespace", "param", "kind", "definition", "read")
    },
    "policyd_registrations_total": {"result": ("success", "error", "conflict")},
    "policyd_certificate_rotations_total": {"result": ("success", "error")},
    "policyd_captured_reviews_total": {"result": ("written", "dropped", "failed")},
    "policyd_refused_clients_total": {
        "reason": (
            "no_certificate",
            "expired",
            "unknown_authority",
            "purpose",
            "bad_certificate",
            "name",
            "server_certificate",
            "protocol",
        )
    },
    "policyd_log_lines_lost_total": {},
    "policyd_recording_errors_total": {
        "part": ("recorder", "log", "denials", "events", "capture", "traces")
    },
}


LABEL = labelling("a", "'b'")


class FreshStore(FakeStore):
    """A store with one policy that may mutate, and one that may do both."""

    bundles = ()
    current = compiled(map_("m", mutations=[LABEL]), policy("p", mutations=[LABEL]))


@pytest.fixture
def fresh() -> Exposition:
    connections = {"reviews": PortConnections()}
    return Exposition(PrometheusRecorder(), FreshStore(), InFlight(10, 10), connections=connections)


@pytest.mark.parametrize("name", KNOWN)
def test_series_with_known_labels_exist_from_the_start(fresh: Exposition, name: str) -> None:
    labels = KNOWN[name]
    found = {key for metric, key in samples(fresh, "") if metric == name}
    for values in product(*labels.values()):
        assert frozenset(zip(labels, values, strict=True)) in found


def test_requests_that_were_not_evaluated_have_no_operation(fresh: Exposition) -> None:
    found = samples(fresh, "")
    for webhook, result in product(("validate", "mutate"), ("shed", "bad_request", "error")):
        labels = {"webhook": webhook, "operation": "", "result": result}
        assert found["policyd_admission_requests_total", frozenset(labels.items())] == 0


def test_every_counter_is_in_the_table(fresh: Exposition) -> None:
    text, _ = fresh.prepare("")()
    families = [each for each in prometheus(text.decode()) if each.name.startswith("policyd_")]
    counters = {f"{each.name}_total" for each in families if each.type == "counter"}
    histograms = {f"{each.name}_count" for each in families if each.type == "histogram"}
    assert counters | histograms == KNOWN.keys() - {"policyd_policies"}


def test_reload_sets_the_time_only_when_it_succeeds(recorder: PrometheusRecorder) -> None:
    at = recorder.last_successful_reload
    assert at > 1_700_000_000
    recorder.reload(False)
    assert recorder.last_successful_reload == at
