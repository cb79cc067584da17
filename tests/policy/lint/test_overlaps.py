"""Policies whose texts alone tell that they write different values to one place."""

from typing import Any

import pytest
import yaml

from policyd.json_types import JSONObject
from policyd.mutation import KINDS
from policyd.policy.lint import overlaps
from policyd.policy.lint.overlaps import overlapping
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.writes import writes
from tests.builders.policies import overlay, policy, rule
from tests.policy_sets import loaded


def patch(*operations: str) -> JSONObject:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{', '.join(operations)}]"}}


def add(path: str, value: str) -> str:
    return f"JSONPatch{{op: 'add', path: {path}, value: {value}}}"


def apply(text: str) -> JSONObject:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}


def container(name: str, image: str) -> JSONObject:
    item = f"Object.spec.containers{{name: '{name}', image: '{image}'}}"
    return apply(f"Object{{spec: Object.spec{{containers: [{item}]}}}}")


def told(
    first: JSONObject,
    second: JSONObject,
    one: JSONObject | None = None,
    other: JSONObject | None = None,
) -> list[str]:
    """The advice on policies ``a`` and ``b`` with these mutations and further fields."""
    documents = [
        policy("b", mutations=[second], **(other or {})),
        policy("a", mutations=[first], **(one or {})),
    ]
    return [f"{each.path}: {each.message}" for each in overlapping(LintRun(loaded(*documents)))]


PRIORITY = [patch(add("'/spec/priority'", "1")), patch(add("'/spec/priority'", "2"))]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (*PRIORITY, "sets spec.priority to 2, but policy 'a' sets it to 1"),
        (
            patch(add("'/metadata/labels/' + jsonpatch.escapeKey('x.y/z')", "'1'")),
            apply("Object{metadata: Object.metadata{labels: {'x.y/z': '2'}}}"),
            'sets metadata.labels[x.y/z] to "2", but policy \'a\' sets it to "1"',
        ),
        (
            patch(add("'/metadata/labels'", "{'a': '1', 'b': '2'}")),
            patch(add("'/metadata/labels/b'", "'3'")),
            'sets metadata.labels.b to "3", but policy \'a\' sets it to "2"',
        ),
        (
            patch(add("'/metadata/labels'", "{'a': '1'}")),
            patch(add("'/metadata/labels'", "{'a': '2'}")),
            'sets metadata.labels to {"a":"2"}, but policy \'a\' sets it to {"a":"1"}',
        ),
        (
            container("web", "1"),
            container("web", "2"),
            'sets spec.containers[name=web].image to "2", but policy \'a\' sets it to "1"',
        ),
        (
            patch("JSONPatch{op: 'remove', path: '/spec/priority'}"),
            PRIORITY[1],
            "sets spec.priority to 2, but policy 'a' removes it",
        ),
    ],
)
def test_different_values_for_one_place(
    first: JSONObject, second: JSONObject, message: str
) -> None:
    assert told(first, second) == [f"spec.mutations[0]: {message}"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (PRIORITY[0], PRIORITY[0]),
        (container("a", "1"), container("b", "2")),
        (patch(add("'/metadata/labels/a'", "'1'")), patch(add("'/metadata/labels/b'", "'2'"))),
        (PRIORITY[0], patch(add("'/spec/priority'", "object.spec.priority + 1"))),
        (
            PRIORITY[0],
            patch("JSONPatch{op: 'test', path: '/spec/x', value: 1}", add("'/spec/priority'", "2")),
        ),
        (
            patch(add("'/spec/containers/0'", "{'name': 'a'}")),
            patch(add("'/spec/containers/0'", "{'name': 'b'}")),
        ),
    ],
)
def test_what_is_no_conflict_or_not_known(first: JSONObject, second: JSONObject) -> None:
    assert told(first, second) == []


def containers(text: str) -> JSONObject:
    return overlay(yaml.safe_load(f"spec: {{containers: [{text}]}}"))


def of_pods(text: str) -> JSONObject:
    return overlay(yaml.safe_load(f"spec: {{{text}}}"))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            containers("{(name): '*', imagePullPolicy: Always}"),
            containers("{(name): '?*', imagePullPolicy: IfNotPresent}"),
            'sets spec.containers[*].imagePullPolicy to "IfNotPresent", but policy \'a\' sets it to "Always"',
        ),
        (
            containers("{name: web, tty: true}"),
            containers("{(name): '*', tty: false}"),
            "sets spec.containers[name=web].tty to false, but policy 'a' sets it to true",
        ),
        (
            containers("{(name): '*', image: x}"),
            container("web", "1"),
            'sets spec.containers[name=web].image to "1", but policy \'a\' sets it to "x"',
        ),
        (
            containers("{(name): '*', securityContext: {capabilities: {drop: [ALL]}}}"),
            containers("{(name): '*', securityContext: {capabilities: {drop: [NET_RAW]}}}"),
            "sets spec.containers[*].securityContext.capabilities.drop to [\"NET_RAW\"], "
            "but policy 'a' sets it to [\"ALL\"]",
        ),
        (
            of_pods("tolerations: [{key: a, operator: Exists}]"),
            of_pods("tolerations: [{$patch: replace}, {key: b, operator: Exists}]"),
            'sets spec.tolerations to [{"key":"b","operator":"Exists"}], '
            'but policy \'a\' sets it to [{"key":"a","operator":"Exists"}]',
        ),
        (
            of_pods("tolerations: [{key: a, operator: Exists}]"),
            patch(add("'/spec/tolerations'", "[]")),
            "sets spec.tolerations to [], but policy 'a' sets it to "
            '[{"key":"a","operator":"Exists"}]',
        ),
        (
            of_pods("imagePullSecrets: [{$patch: replace}, {name: a}]"),
            of_pods("imagePullSecrets: [{$patch: replace}, {name: b}]"),
            'sets spec.imagePullSecrets to [{"name":"b"}], but policy \'a\' sets it to [{"name":"a"}]',
        ),
    ],
)  # fmt: skip
def test_lists_that_overlays_replace_and_items_that_they_change(
    first: JSONObject, second: JSONObject, message: str
) -> None:
    assert told(first, second) == [f"spec.mutations[0]: {message}"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (containers("{(name): '*', tty: true}"), containers("{name: web, tty: true}")),
        (containers("{(name): '*', tty: true}"), containers("{name: web, stdin: false}")),
        (containers("{(name): 'a*', tty: true}"), containers("{name: web, tty: false}")),
        (containers("{(name): '*', (image): 'x', tty: true}"), containers("{name: web, tty: false}")),
        (containers("{(name): '*', +(tty): true}"), containers("{name: web, tty: false}")),
        (
            containers("{(name): '*', tty: true}, {name: web, tty: false}"),
            containers("{name: web, tty: false}"),
        ),
        (of_pods("tolerations: [{key: a}]"), of_pods("tolerations: [{key: a}]")),
        (of_pods("tolerations: [{key: a}]"), of_pods("tolerations: [{$patch: append}, {key: b}]")),
        (of_pods("tolerations: [{key: a}]"), of_pods("tolerations: [{(key): a, effect: NoExecute}]")),
        (of_pods("tolerations: [{key: a}]"), of_pods("tolerations: [{key: '${object.kind}'}]")),
        (of_pods("imagePullSecrets: [{name: a}]"), of_pods("imagePullSecrets: [{name: b}]")),
        (
            overlay({"metadata": {"finalizers": ["a/b"]}}),
            overlay({"metadata": {"finalizers": ["c/d"]}}),
        ),
    ],
)  # fmt: skip
def test_overlays_that_add_or_depend_on_the_object(first: JSONObject, second: JSONObject) -> None:
    assert told(first, second) == []


CONDITION: JSONObject = {
    "matchConditions": [{"name": "c", "expression": "request.namespace == 'x'"}]
}
SELECTOR: JSONObject = {"namespaceSelector": {"matchLabels": {"a": "b"}}}
OTHER: JSONObject = {"matchConditions": [{"name": "d", "expression": "request.namespace == 'y'"}]}


def rules(**changes: Any) -> JSONObject:
    return {"matchConstraints": {"resourceRules": [rule(**changes)]}}


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (CONDITION, {}, True),
        (CONDITION, CONDITION, True),
        (CONDITION, OTHER, False),
        (CONDITION, {"matchConstraints": {"resourceRules": [rule()], **SELECTOR}}, False),
        (rules(resources=["pods", "services"]), rules(resources=["*"]), True),
        (rules(resources=["pods/*"]), {}, True),
        (rules(resources=["pods/status"]), {}, False),
        (rules(resources=["services"]), {}, False),
        (rules(apiGroups=["*"]), {}, True),
        (rules(apiVersions=["v2"]), {}, False),
        (rules(operations=["CREATE"]), rules(operations=["UPDATE"]), False),
        (rules(resourceNames=["a"]), rules(resourceNames=["b"]), False),
        (rules(resourceNames=["a"]), {}, True),
        (rules(scope="Cluster"), rules(scope="Namespaced"), False),
    ],
)
def test_which_policies_apply_together(one: JSONObject, other: JSONObject, together: bool) -> None:
    first, second = PRIORITY
    assert bool(told(first, second, one, other)) is together
    assert bool(told(first, second, other, one)) is together


def test_the_last_mutation_of_a_policy_counts() -> None:
    documents = [policy("a", mutations=PRIORITY), policy("b", mutations=PRIORITY[1:])]
    assert list(overlapping(LintRun(loaded(*documents)))) == []


def test_what_an_overlay_writes() -> None:
    tree = {
        "metadata": {"labels": {"a": "b", "+(c)": "d", "e": "${request.namespace}"}},
        "spec": {
            "hostname": None,
            "containers": [
                {"name": "web", "image": "x"},
                {"(name)": "*", "image": "y"},
                {"(name)": "*", "(image)": "y", "tty": True},
                {"(name)": "a*", "stdin": True},
                {"name": "log", "resources": {"(limits)": {"cpu": "*"}}, "image": "z"},
                {"name": "old", "$patch": "delete"},
            ],
        },
    }
    found = {write.place: write.value for write in writes(KINDS["Overlay"], tree)}
    assert found == {
        ("metadata", "labels", "a"): "b",
        ("spec", "hostname"): None,
        ("spec", "containers[name=web]", "name"): "web",
        ("spec", "containers[name=web]", "image"): "x",
        ("spec", "containers[*]", "image"): "y",
        ("spec", "containers[name=old]"): None,
    }


@pytest.mark.parametrize(
    "condition",
    [{"metadata": {"X(labels)": None}}, {"spec": {"containers": [{"<(image)": "x"}]}}],
)
def test_an_overlay_with_conditions_hangs_on_the_object(condition: JSONObject) -> None:
    tree = {**condition, "data": {"a": "b"}}
    assert list(writes(KINDS["Overlay"], tree)) == []


def setting(name: str, value: str, place: str = "'/spec/priority'", **spec: Any) -> JSONObject:
    return policy(name, mutations=[patch(add(place, value))], **spec)


@pytest.mark.parametrize(
    ("documents", "messages"),
    [
        (
            [setting(name, value) for name, value in zip("abcd", "1221", strict=True)],
            [
                "d: sets spec.priority to 1, but 2 policies before it do not: "
                "'b' sets it to 2, 'c' sets it to 2"
            ],
        ),
        (
            [setting(f"p{number}", str(number)) for number in range(6)],
            [
                "p5: sets spec.priority to 5, but 5 policies before it do not: 'p0' sets it to 0, "
                "'p1' sets it to 1, 'p2' sets it to 2 and 2 more"
            ],
        ),
        (
            [setting("a", "1", **CONDITION), setting("b", "2"), setting("c", "3", **CONDITION)],
            [
                "b: sets spec.priority to 2, but policy 'a' sets it to 1",
                "c: sets spec.priority to 3, but 2 policies before it do not: "
                "'a' sets it to 1, 'b' sets it to 2",
            ],
        ),
        (
            [setting("a", "1", **CONDITION), setting("b", "2"), setting("c", "3", **OTHER)],
            [
                "b: sets spec.priority to 2, but policy 'a' sets it to 1",
                "c: sets spec.priority to 3, but policy 'b' sets it to 2",
            ],
        ),
        (
            [
                setting("a", "{'x': '1'}", "'/metadata/labels'"),
                setting("b", "'2'", "'/metadata/labels/x'"),
                setting("c", "{'x': '3'}", "'/metadata/labels'"),
            ],
            [
                'c: sets metadata.labels to {"x":"3"}, but policy \'a\' sets it to {"x":"1"}',
                'c: sets metadata.labels.x to "3", but policy \'b\' sets it to "2"',
            ],
        ),
        (
            [
                policy("a", mutations=[containers("{name: web, tty: true}")]),
                policy("b", mutations=[containers("{(name): '*', tty: false}")]),
                policy("c", mutations=[containers("{(name): '*', tty: true}")]),
            ],
            [
                "c: sets spec.containers[*].tty to true, but policy 'b' sets it to false",
            ],
        ),
    ],
)
def test_what_is_lost_is_told_once_at_the_last_policy_of_a_scope(
    documents: list[JSONObject], messages: list[str]
) -> None:
    found = overlapping(LintRun(loaded(*documents)))
    told = [f"{each.document.split()[-1]}: {each.message}" for each in found]
    assert sorted(told) == sorted(messages)


def test_programs_find_the_places_of_the_other_policies() -> None:
    documents = [setting(f"p{number:03d}", str(number)) for number in range(150)]
    (found,) = overlapping(LintRun(loaded(*documents)))
    assert len(found.related) == 100
    first = found.related[0]
    assert (first.message, bool(first.file), first.line > 0) == (
        "policy 'p000' sets it to 0",
        True,
        True,
    )


def places(number: int) -> JSONObject:
    """A policy of one of three scopes that sets an item of its own, and a field that all set."""
    condition = [{"name": "c", "expression": f"request.namespace == '{number % 4}'"}]
    items = containers(f"{{(name): '*', env: [{{name: 'e{number}', value: '{number}'}}]}}")
    mutations = [items, patch(add("'/spec/priority'", str(number)))]
    return policy(f"p{number:04d}", mutations=mutations, matchConditions=condition[: number % 2])


def test_the_work_grows_with_the_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(count: int) -> int:
        calls = 0

        def counted(function: Any) -> Any:
            def call(*given: Any) -> Any:
                nonlocal calls
                calls += 1
                return function(*given)

            return call

        with monkeypatch.context() as patched:
            for name in ("equal", "_apply_together", "_met"):
                patched.setattr(overlaps, name, counted(getattr(overlaps, name)))
            found = list(overlapping(LintRun(loaded(*map(places, range(count))))))
        assert 0 < len(found) <= count
        return calls

    assert work(200) < 2.5 * work(100)
