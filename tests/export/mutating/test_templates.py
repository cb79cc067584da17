"""Mutations of Pods, exported for the templates of their controllers."""

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from policyd.errors import PolicyError
from policyd.json_types import JSONObject
from tests import policy_sets
from tests.builders.objects import container, pod
from tests.builders.policies import apply_configuration, json_patch, policy
from tests.export.mutating.builders import (
    as_printed,
    expressions,
    outcome,
    outcomes,
    overlaid,
    part_of,
)
from tests.export.mutating.made_up import OVERLAYS, PODS
from tests.export.template_requests import CONTROLLERS, controller
from tests.sampling import examples


def templated(seen: JSONObject) -> list[JSONObject]:
    """A Pod as the template of each kind of controller, as the API server sends it."""
    return [
        as_printed(controller(seen, kind, group, path), (group, "v1", kind))
        for kind, _, group, path in CONTROLLERS
    ]


@settings(
    max_examples=examples(50, 10),
    deadline=None,
    # A counterexample takes minutes to shrink; the first one says enough.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(OVERLAYS, PODS)
def test_templates_become_what_they_become_in_policyd(tree: JSONObject, seen: JSONObject) -> None:
    source = overlaid(tree, podControllers=True)
    try:
        policy_sets.load(source)
    except PolicyError:
        assume(False)
    part = part_of(source)
    assume(not part.reasons)
    for sent in (as_printed(seen), *templated(seen)):
        assert outcome(part.documents, sent) == outcome([source], sent)


MUTATIONS = {
    "a path of fields": json_patch(
        "[JSONPatch{op: 'add', path: '/spec/hostname', value: object.metadata.?labels.?a.orValue('x')}]"
    ),
    "a path that goes on as an expression": json_patch(
        'object.spec.containers.transformList(i, c, JSONPatch{op: "add", '
        "path: '''/spec/containers/''' + string(i) + '/tty', value: true})"
    ),
    "a move": json_patch(
        "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}},"
        " JSONPatch{op: 'copy', from: '/metadata/annotations/a', path: '/spec/hostname'}]"
    ),
    "types": apply_configuration(
        "has(object.spec.hostname) ? Object{} : Object{metadata: Object.metadata{labels: {'a': 'b'}},"
        " spec: Object.spec{hostname: 'x', containers: object.spec.containers.map(c,"
        " Object.spec.containers{name: c.name, tty: true})}}"
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_of_kubernetes_change_the_template(name: str) -> None:
    source = policy("p", podControllers=True, mutations=[MUTATIONS[name]])
    plain = pod(container("c", "i"), labels={"a": "b"})
    for sent in (as_printed(plain), *templated(plain)):
        want, got = outcomes(source, sent)
        assert want not in (None, sent)
        assert got == want


REFUSED = {
    "/metadata/namespace": "the path /metadata/namespace, which is not inside the template",
    "/spec": "the path /spec, which is not inside the template",
    "/kind": "the path /kind, which is not inside the template",
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_a_template_does_not_have_is_refused(path: str) -> None:
    expression = f"[JSONPatch{{op: 'remove', path: '{path}'}}]"
    source = policy("p", podControllers=True, mutations=[json_patch(expression)])
    (reason,) = {each.message for each in part_of(source).reasons}
    assert reason == f"cannot be rewritten: {REFUSED[path]}"


@pytest.mark.parametrize(
    ("mutation", "why"),
    [
        (
            json_patch("[JSONPatch{op: 'remove', path: request.name}]"),
            "a path whose beginning is computed",
        ),
        (
            apply_configuration("Object{metadata: Object.metadata{namespace: 'x'}}"),
            "an ApplyConfiguration that sets metadata of the Pod",
        ),
    ],
)
def test_what_cannot_be_moved_into_a_template_is_refused(mutation: JSONObject, why: str) -> None:
    source = policy("p", podControllers=True, mutations=[mutation])
    (reason,) = {each.message for each in part_of(source).reasons}
    assert reason == f"cannot be rewritten: {why}"


OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "o", "uid": "1"}


@pytest.mark.parametrize("controls", [True, False, None])
@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
def test_settled_templates_stay_as_they_are(operation: str, controls: bool | None) -> None:
    source = overlaid("metadata: {labels: {a: b}}", podControllers=True)
    owner = OWNER if controls is None else {**OWNER, "controller": controls}
    changed = 0
    for sent in templated(pod(container("c", "i"))):
        owned = {**sent, "metadata": {**sent["metadata"], "ownerReferences": [owner]}}
        old = owned if operation == "UPDATE" else None
        want, got = outcomes(source, owned, operation=operation, oldObject=old)
        assert got == want
        changed += want != owned
    kinds = 4 if operation == "CREATE" else 3  # the template of a Job that exists is immutable
    assert changed == (0 if controls else kinds)


def test_each_place_of_templates_has_a_policy() -> None:
    part = part_of(overlaid("metadata: {labels: {a: b}}", podControllers=True))
    names = [each["metadata"]["name"] for each in part.documents]
    assert names == ["p", "p", "p-templates", "p-templates", "p-cronjobs", "p-cronjobs"]
    assert expressions(part) == ["Object{metadata: Object.metadata{labels: {'a': 'b'}}}"]
