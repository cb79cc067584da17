"""The webhook for edits of ConfigMaps with policies: the real process judges reviews of them."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.builders.config_maps import BROKEN, LABELS, NAMESPACE, forbidding, policy_map
from tests.builders.objects import config_map
from tests.builders.policies import suite
from tests.builders.reviews import body
from tests.server.config_maps import PolicyCluster, policy_cluster, reading, shown
from tests.server.process import Process, until
from tests.server.serve import serving

PATH = "/policies/validate"
TEXT = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: one}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - expression: objct.metadata.name != 'x'
    message: no SECRET-WORD
"""


def edit(
    server: Process, old: JSONObject | None, new: JSONObject | None, **fields: Any
) -> dict[str, Any]:
    """The response to the review of an edit."""
    operation = "UPDATE" if old and new else "CREATE" if new else "DELETE"
    name = ((new or old) or {})["metadata"]["name"]
    given = {"namespace": NAMESPACE, "name": name, "operation": operation, **fields}
    status, said = server.post(PATH, body(object=new, oldObject=old, **given))
    assert status == 200
    response: dict[str, Any] = said["response"]
    return response


def message(response: dict[str, Any]) -> str:
    return str(response["status"]["message"])


def refusals_of(server: Process, user: str) -> list[JSONObject]:
    return [each for each in server.lines("policy-edit") if each.get("user") == user]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolicyCluster]:
    with policy_cluster(tmp_path_factory.mktemp("cluster")) as made:
        made.put("a", p=forbidding("one"))
        made.put("b", p=forbidding("two", "worse"), q=BROKEN)
        yield made


@pytest.fixture(scope="module")
def server(cluster: PolicyCluster) -> Iterator[Process]:
    """It reads ``a``, and ``b`` with a broken policy."""
    with reading(cluster) as running:
        yield running


A = policy_map("a", p=forbidding("one"))
B = policy_map("b", p=forbidding("two", "worse"), q=BROKEN)


def test_a_broken_edit_is_denied_with_its_place_and_a_caret(server: Process) -> None:
    said = edit(server, A, policy_map("a", p=TEXT), userInfo={"username": "eve"})
    assert said["allowed"] is False and said["status"]["code"] == 403
    assert message(said) == (
        "the policies would have 1 error with this edit of ConfigMap a:\n\n"
        "configmap/a/p.yaml:9:17: spec.validations[0].expression: "
        + message(said).partition("expression: ")[2]
    )
    assert "objct" in message(said) and "^" in message(said) and "hint: " in message(said)
    (line, *_) = until(lambda: refusals_of(server, "eve"), "the line in the log")
    assert line["level"] == "warning" and line["name"] == "a"
    assert line["places"][0].startswith("configmap/a/p.yaml:9:17: spec.validations[0].expression")
    assert "SECRET-WORD" not in json.dumps(server.lines())
    assert server.metric('policyd_policy_edits_total{result="refused"}') >= 1


GOOD = config_map(data={"a": "1"})
FAILS: JSONObject = {"name": "c", "request": {"object": GOOD}, "expect": {"allowed": False}}
OTHER = BROKEN | {"metadata": {"name": "other"}}

EDITS: list[tuple[JSONObject | None, JSONObject | None, str]] = [
    # old, new, a part of the denial
    (A, policy_map("a", p=forbidding("three")), ""),
    (None, policy_map("c", p=forbidding("three")), ""),
    (A, None, ""),
    (A, policy_map("a", p="kind: ["), "configmap/a/p.yaml:2:1: "),
    (A, policy_map("a", p=""), "configmap/a/p.yaml: no longer holds policies"),
    (A, policy_map("a", p=forbidding("two")), "Policy two is defined twice"),
    (None, policy_map("c", p=forbidding("one")), "first in configmap/a/p.yaml"),
    (A, policy_map("a", p=forbidding("one"), s=suite(cases=[FAILS])), "case 'c' failed"),
    # What was broken before: repaired, left as it is, on another line, made worse.
    (B, policy_map("b", p=forbidding("two", "worse")), ""),
    (B, policy_map("b", p=forbidding("two", "other"), q=BROKEN), ""),
    (B, policy_map("b", p=forbidding("two"), q="#\n#\n" + json.dumps(BROKEN)), ""),
    (B, policy_map("b", p=forbidding("two"), q=BROKEN, r=OTHER), "configmap/b/r.yaml:1:"),
    (None, policy_map("c", p=OTHER), "configmap/c/p.yaml:1:"),
]


@pytest.mark.parametrize(("old", "new", "denial"), EDITS)
@pytest.mark.parametrize("dry_run", [False, True])
def test_an_edit_is_denied_for_the_errors_that_it_adds(
    server: Process,
    old: JSONObject | None,
    new: JSONObject | None,
    denial: str,
    *,
    dry_run: bool,
) -> None:
    said = edit(server, old, new, dryRun=dry_run)
    assert said["allowed"] is not bool(denial), said
    if denial:
        assert denial in message(said)
        assert "1 error with" in message(said)


def unlabelled(made: JSONObject) -> JSONObject:
    return {**made, "metadata": {**made["metadata"], "labels": {}}}


OTHERS: list[tuple[JSONObject | None, JSONObject, dict[str, Any]]] = [
    (None, unlabelled(policy_map("c", p="kind: [")), {}),
    (None, policy_map("c", p="kind: ["), {"namespace": "shop"}),
    (None, policy_map("c", p="kind: ["), {"subResource": "status"}),
    (
        None,
        policy_map("c", p="kind: ["),
        {"resource": {"group": "", "version": "v1", "resource": "secrets"}},
    ),
]


@pytest.mark.parametrize(("old", "new", "fields"), OTHERS)
def test_what_policyd_does_not_read_is_not_judged(
    server: Process, old: JSONObject | None, new: JSONObject, fields: dict[str, Any]
) -> None:
    said = edit(server, old, new, **fields)
    assert said["allowed"] is True and "warnings" not in said


def test_a_removed_label_is_a_removal_and_an_added_one_an_addition(server: Process) -> None:
    assert edit(server, A, unlabelled(A))["allowed"] is True
    broken = policy_map("c", p="kind: [")
    assert edit(server, unlabelled(broken), broken)["allowed"] is False


def many(name: str, count: int, **keys: JSONObject | str) -> JSONObject:
    texts = {f"p{n}.yaml": json.dumps(forbidding(f"{name}-{n}")) for n in range(count)}
    return policy_map("c", texts, version=1, **keys)


def test_a_review_that_takes_too_long_is_allowed_with_a_warning(server: Process) -> None:
    made = many("more", 400, z="kind: [")
    given = {"namespace": NAMESPACE, "name": "c", "oldObject": None}
    status, said = server.post(f"{PATH}?timeout=100ms", body(object=made, **given))
    assert status == 200 and said["response"]["allowed"] is True
    (warning,) = said["response"]["warnings"]
    assert "the edit of ConfigMap c was not checked: there was not enough time" in warning
    assert server.metric('policyd_policy_edits_total{result="error"}') >= 1
    assert edit(server, None, made)["allowed"] is False


def test_many_errors_are_counted_beyond_what_a_terminal_shows(server: Process) -> None:
    broken = [BROKEN | {"metadata": {"name": f"broken-{n}"}} for n in range(60)]
    text = "\n---\n".join(json.dumps(each, indent=1) for each in broken)
    said = message(edit(server, None, policy_map("c", p=text)))
    assert said.startswith("the policies would have 60 errors with this edit of ConfigMap c:")
    assert said.endswith(" more") and 4_000 < len(said) < 8_000


def test_more_edits_than_can_wait_are_told_to_try_again(server: Process) -> None:
    made = many("many", 300)
    sent = body(object=made, namespace=NAMESPACE, name="c")
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda _: server.post(PATH, sent), range(24)))
    refused = [said for status, said in answers if status == 503]
    assert refused and "too many edits of policies at once" in refused[0]["error"]
    assert all(said["response"]["allowed"] for status, said in answers if status == 200)


def test_it_is_served_over_tls_only_and_takes_reviews_only(server: Process) -> None:
    assert server.get(PATH)[0] == 404
    assert server.post(PATH, b"{}")[0] == 400


def test_the_last_policies_cannot_be_removed(tmp_path: Path) -> None:
    with policy_cluster(tmp_path) as alone:
        alone.put("a", p=forbidding("one"))
        with reading(alone) as server:
            for new in (None, unlabelled(A)):
                said = edit(server, A, new)
                assert "the sources no longer hold policies" in message(said)
        with reading(alone, "--allow-empty", log="second.log") as server:
            assert edit(server, A, None)["allowed"] is True


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Process]:
    """A server without a cluster; one folder of its policies is a mounted ConfigMap."""
    folder = tmp_path / "policies" / "team"
    data = folder / "..2026"
    data.mkdir(parents=True)
    (folder / "..data").symlink_to("..2026")
    for key, text in policy_map("team", p=forbidding("one"), q=forbidding("two"))["data"].items():
        (data / key).write_text(text)
        (folder / key).symlink_to(f"..data/{key}")
    (folder.parent / "other.yaml").write_text(json.dumps(forbidding("three")))
    with serving(tmp_path, folder.parent, "--namespace", NAMESPACE) as server:
        yield server


TEAM = policy_map("team", p=forbidding("one"), q=forbidding("two"))
MOUNTED: list[tuple[JSONObject, str]] = [
    (policy_map("team", p=forbidding("one"), q=forbidding("four")), ""),
    (policy_map("team", p=forbidding("one")), ""),
    (policy_map("team", p=forbidding("one"), q=""), "configmap/team/q.yaml: no longer holds"),
    (policy_map("team", p=TEXT), "configmap/team/p.yaml:9:17: spec.validations[0].expression"),
    (policy_map("team", p=forbidding("three")), "Policy three is defined twice"),
]


@pytest.mark.parametrize(("new", "denial"), MOUNTED)
def test_an_edit_of_a_mounted_config_map_is_judged(
    mounted: Process, new: JSONObject, denial: str
) -> None:
    said = edit(mounted, TEAM, new)
    assert said["allowed"] is not bool(denial), said
    assert not denial or denial in message(said)
    assert "warnings" not in said


@pytest.mark.parametrize(
    "old", [None, policy_map("team", p=forbidding("one")), policy_map("team", p="x", q="y")]
)
def test_a_config_map_that_is_not_mounted_is_allowed_with_a_warning(
    mounted: Process, old: JSONObject | None
) -> None:
    said = edit(mounted, old, policy_map("team", p="kind: ["))
    assert said["allowed"] is True
    assert "ConfigMap team is not mounted as policies of -p" in said["warnings"][0]
    assert edit(mounted, unlabelled(TEAM), unlabelled(TEAM))["allowed"] is True


def test_edits_of_a_running_server_follow_what_it_reads(cluster: PolicyCluster) -> None:
    with reading(cluster, log="third.log") as server:
        cluster.put("d", p=forbidding("four"))
        until(lambda: len(shown(server)["configMaps"]) == 3, "the ConfigMap")
        said = edit(server, None, policy_map("e", p=forbidding("four")))
        assert "first in configmap/d/p.yaml" in message(said)
        cluster.remove("d")
        until(lambda: len(shown(server)["configMaps"]) == 2, "its removal")
        assert edit(server, None, policy_map("e", p=forbidding("four")))["allowed"] is True


def test_labels_are_those_that_the_selector_names() -> None:
    assert LABELS == {"policyd.dev/policies": "true"}
