"""From shadow to everywhere on a real API server, while a load runs: what clients saw, the log,
metrics, the audit log and reports agree to the last request.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from policyd.json_types import JSONObject
from policyd.policy.compile.rollouts import number_of
from tests.builders.config_maps import LABELS
from tests.builders.objects import config_map
from tests.builders.policies import demand, document, labelling, policy, rule, vap, vap_binding
from tests.e2e import in_cluster
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import make_namespace
from tests.e2e.definitions import served
from tests.e2e.reporting import ReportCommand, report_definitions, reports_in, stored
from tests.e2e.spread import Created, SpreadLoad, annotations, spread_load
from tests.e2e.webhook import registered, serving, write
from tests.server.config_maps import SELECTOR
from tests.server.process import Process, until

NAME = "no-bad"
CREATES = rule("configmaps", operations=["CREATE"])
NO_BAD = [demand("!has(object.data) || !('bad' in object.data)", "nothing bad")]
# It never leaves the shadow.
STAMP = policy("stamp", CREATES, mutations=[labelling("stamp", "'v1'")], rollout={"enforce": {}})
# Creates in each stage before it is counted.
ENOUGH = 150
ANNOTATION = "validate.policyd.dev"
DENIED = 'policyd_admission_requests_total{operation="CREATE",result="denied",webhook="validate"}'


class Stage(NamedTuple):
    """One step of the rollout, and the share of the namespaces that it enforces the policy in."""

    rollout: JSONObject | None
    percent: int


STAGES = [
    Stage({"enforce": {}}, 0),
    Stage({"enforce": {"percent": 25}}, 25),
    Stage({"enforce": {"percent": 50}, "otherwise": ["Warn", "Audit"]}, 50),
    Stage({"enforce": {"percent": 50}, "until": "2020-01-01T00:00:00Z"}, 100),
    Stage(None, 100),
]
Documents = Callable[[JSONObject | None], list[JSONObject]]


def of_its_own(rollout: JSONObject | None) -> list[JSONObject]:
    """A Policy with the rollout in its spec."""
    staged = {} if rollout is None else {"rollout": rollout}
    return [policy(NAME, CREATES, validations=NO_BAD, **staged), STAMP]


def of_kubernetes(rollout: JSONObject | None) -> list[JSONObject]:
    """A ValidatingAdmissionPolicy, and the rollout as a document."""
    made = [vap(NAME, CREATES, validations=NO_BAD), vap_binding(NAME, policyName=NAME), STAMP]
    if rollout is not None:
        spec = {"policyName": NAME, **rollout}
        made.append(document("policyd.dev/v1", "Rollout", NAME, spec))
    return made


def chosen_namespaces(prefix: str) -> list[str]:
    """Names of namespaces: a few in each part of the rollout."""
    wanted = {"first": 4, "second": 3, "last": 5}
    found = []
    for index in range(1000):
        name = f"{prefix}-{index}"
        number = number_of(NAME, name, "", "")
        part = "first" if number < 25 else "second" if number < 50 else "last"
        if wanted[part]:
            wanted[part] -= 1
            found.append(name)
    return found


class Serving(NamedTuple):
    """A server, and how its policies are changed."""

    process: Process
    publish: Callable[[list[JSONObject]], object]


@pytest.fixture(params=["file", "ConfigMap"])
def serve(
    request: pytest.FixtureRequest, api: Cluster, client: Client, namespace: str, tmp_path: Path
) -> Iterator[Callable[[list[JSONObject]], Serving]]:
    """Start a server with some documents, in a file or in a ConfigMap of the test's namespace."""
    folder, log = tmp_path / "policies", tmp_path / "policyd.log"
    packed = config_map("policies", namespace)
    packed["metadata"]["labels"] = LABELS

    def filled(documents: list[JSONObject]) -> JSONObject:
        text = "\n---\n".join(json.dumps(each) for each in documents)
        return {**packed, "data": {"policies.yaml": text}}

    def replaced(documents: list[JSONObject]) -> None:
        assert client.replace(filled(documents)).status == 200

    with ExitStack() as stack:

        def started(documents: list[JSONObject]) -> Serving:
            if request.param == "file":
                sources = [write(folder, documents)]
                process = stack.enter_context(serving(api, sources, log))
                return Serving(process, lambda changed: write(folder, changed))
            client.made(filled(documents))
            settings = {
                "kubeconfig": str(in_cluster.kubeconfig(api, tmp_path)),
                "namespace": namespace,
                "policy_configmaps": SELECTOR,
            }
            process = stack.enter_context(serving(api, [], log, **settings))
            return Serving(process, replaced)

        yield started


class Counted(NamedTuple):
    """What was true when the load was paused in a stage: all creates so far, and the metrics."""

    stage: Stage
    generation: str
    created: list[Created]
    deny: float
    would_deny: float
    denied: float


def decisions(server: Process, name: str, decision: str) -> float:
    return server.metric(f'policyd_policy_decisions_total{{decision="{decision}",policy="{name}"}}')


@pytest.mark.parametrize("documents", [of_its_own, of_kubernetes])
def test_counts_agree_from_shadow_to_everywhere(
    documents: Documents,
    api: Cluster,
    client: Client,
    namespace: str,
    serve: Callable[[list[JSONObject]], Serving],
) -> None:
    namespaces = chosen_namespaces(f"{namespace[-30:].strip('-')}-x")
    for each in namespaces:
        make_namespace(client, each, rollout=namespace)
    selector = {"matchLabels": {"rollout": namespace}}
    server, publish = serve(documents(STAGES[0].rollout))
    with (
        registered(api, server, namespaces[0], namespaceSelector=selector),
        spread_load(api, namespaces) as load,
    ):
        counted = []
        for number, stage in enumerate(STAGES):
            if number:
                publish(documents(stage.rollout))
            counted.append(counted_in(stage, number, server, load))
        load.stop()
        would_mutate = decisions(server, "stamp", "would_mutate")
        assert decisions(server, "stamp", "admit") == 0
        assert server.terminate() == 0  # the log is complete
    created = load.created
    marks = audited(api, created)
    assert_each_create_was_answered(created)
    assert_stages_agree(counted, created, marks, server.lines())
    assert would_mutate == len(server.lines("would_mutate"))
    real = [each for each in server.lines("would_mutate") if not each.get("dryRun")]
    assert len(real) == len(created)
    assert {each["message"] for each in real} == {"/metadata/labels"}
    assert_stored(client, namespaces, created)


def counted_in(stage: Stage, number: int, server: Process, load: SpreadLoad) -> Counted:
    """Wait for the policies of the stage and some creates, and count while the load pauses."""
    loaded = until(lambda: server.lines("reload")[number:], "the reload")
    until(load.more(ENOUGH), "creates in this stage")
    with load.paused() as created:
        deny, would_deny = (decisions(server, NAME, each) for each in ("deny", "would_deny"))
        denied = server.metric(DENIED)
    return Counted(stage, loaded[0]["generation"], created, deny, would_deny, denied)


def audited(api: Cluster, created: list[Created]) -> dict[str, dict[str, str]]:
    """The audit annotations of the creates, once all are written."""

    def complete() -> Any:
        found = annotations(api)
        return found if all(each.answer.audit_id in found for each in created) else None

    found: dict[str, dict[str, str]] = until(complete, "the audit log")
    return found


def assert_each_create_was_answered(created: list[Created]) -> None:
    assert len({(each.namespace, each.name) for each in created}) == len(created)
    assert {each.answer.status for each in created} == {201, 422}
    for each in created:
        if not each.admitted:
            assert each.violates
            assert each.answer.message.endswith("nothing bad")


def assert_stages_agree(
    counted: list[Counted],
    created: list[Created],
    marks: dict[str, dict[str, str]],
    lines: list[dict[str, Any]],
) -> None:
    """For each stage: the clients, the metrics, the log and the audit log of the API server."""

    def generation(each: Created) -> str:
        return marks[each.answer.audit_id][f"{ANNOTATION}/generation"]

    events = Counter((each["event"], each.get("generation")) for each in lines)
    assert len({each.generation for each in counted}) == len(STAGES)
    assert {generation(each) for each in created} == {each.generation for each in counted}
    before: set[str] = set()
    for stage, current, paused, deny, would_deny, denied in counted:
        so_far = outcomes(paused)
        assert (so_far["denied"], so_far["would be"]) == (deny, would_deny), stage
        assert so_far["denied"] == denied, stage
        mine = [each for each in created if generation(each) == current]
        whole = outcomes(mine)
        assert whole.total() >= ENOUGH / 2, "the load went on"
        assert whole["denied"] == events["denial", current], stage
        assert whole["would be"] == events["would_deny", current], stage
        noted = [
            each for each in mine if f"{ANNOTATION}/rollout.{NAME}" in marks[each.answer.audit_id]
        ]
        assert len(noted) == whole["would be"], stage
        warned = [each for each in mine if each.answer.warnings]
        asked = "Warn" in (stage.rollout or {}).get("otherwise", ())
        assert len(warned) == (whole["would be"] if asked else 0), stage

        enforced = {each.namespace for each in mine if not each.admitted}
        spared = {each.namespace for each in mine if each.violates and each.admitted}
        assert not enforced & spared, "a namespace is enforced or not, at every attempt"
        wanted = {
            each.namespace
            for each in created
            if number_of(NAME, each.namespace, "", "") < stage.percent
        }
        assert enforced == wanted, stage
        assert before <= enforced, "what was enforced stays so"
        before = enforced
    assert not before ^ {each.namespace for each in created}, "everywhere in the end"


def outcomes(created: list[Created]) -> Counter[str]:
    return Counter(
        "denied" if not each.admitted else "would be" if each.violates else "innocent"
        for each in created
    )


def assert_stored(client: Client, namespaces: list[str], created: list[Created]) -> None:
    """The API server has what was admitted, as it was sent."""
    for name in namespaces:
        found = client.send("GET", f"/api/v1/namespaces/{name}/configmaps").body["items"]
        stored = {each["metadata"]["name"] for each in found}
        assert stored == {each.name for each in created if each.admitted and each.namespace == name}
        assert not any("labels" in each["metadata"] for each in found)


@pytest.fixture
def definitions(client: Client) -> Iterator[None]:
    """The API of reports, which other tests do not expect."""
    with served(client, *report_definitions("openreports.io")):
        yield


@pytest.mark.usefixtures("definitions")
def test_reports_agree_with_what_was_admitted(
    api: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    namespaces = chosen_namespaces("reported")
    for each in namespaces:
        make_namespace(client, each, rollout=namespace)
    report = ReportCommand(
        in_cluster.kubeconfig(api, tmp_path), tmp_path / "policies/policies.yaml", tmp_path
    )
    chosen = [part for each in namespaces for part in ("-n", each)]
    sources = write(tmp_path / "policies", of_its_own(STAGES[0].rollout))
    selector = {"matchLabels": {"rollout": namespace}}
    with (
        serving(api, [sources], tmp_path / "policyd.log") as server,
        registered(api, server, namespaces[0], namespaceSelector=selector),
        spread_load(api, namespaces) as load,
    ):
        for number, stage in enumerate(STAGES):
            write(sources, of_its_own(stage.rollout))
            until(partial(reloaded, server, number), "the reload")
            until(load.more(ENOUGH), "creates in this stage")
            with load.paused() as created:
                ran = report(*chosen)
                assert (ran.status, ran.stderr) == (0, "")
                violating = {
                    (each.namespace, each.name)
                    for each in created
                    if each.violates and each.admitted
                }
                assert decisions(server, NAME, "would_deny") == len(violating)
                assert_reported(client, stage, violating, namespaces)


def reloaded(server: Process, number: int) -> bool:
    return len(server.lines("reload")) > number


def assert_reported(
    client: Client, stage: Stage, violating: set[tuple[str, str]], namespaces: list[str]
) -> None:
    """Each object that was admitted although it violates the policy has a report, and no other."""
    found = {
        (each["scope"]["namespace"], each["scope"]["name"]): each["results"]
        for name in namespaces
        for each in stored(client, reports_in(name))
    }
    failed = {
        key: [each for each in results if each["policy"] == NAME] for key, results in found.items()
    }
    assert violating
    assert {key for key, results in failed.items() if results} == violating, stage
    for (name, _), results in failed.items():
        if results:
            [one] = results
            assert one["result"] == "fail"
            spared = number_of(NAME, name, "", "") >= stage.percent
            assert bool(one.get("properties", {}).get("rollout")) is spared, stage
