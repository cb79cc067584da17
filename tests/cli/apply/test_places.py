"""``policyd apply``: which field each result is about, and where it is in the manifest."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import EVERYTHING, policy
from tests.cli.apply.placed import (
    AFTER,
    ALIASES,
    BY_PATTERN,
    CONFIG_MAP,
    CRON_JOB,
    DEPLOYMENT,
    IMAGES,
    LIST,
    POD,
    PODS,
    cel,
    findings,
    rest,
    run,
)

pytestmark = pytest.mark.usefixtures("folder")
LIMITS = {"pattern": {"spec": {"containers": [{"resources": {"limits": {"memory": "?*"}}}]}}}
ALL = {"name": "all", "expression": "object.spec.containers + object.spec.initContainers"}
BAD = {"name": "bad", "expression": "variables.all.filter(c, !c.image.startsWith('x/'))"}
BY_KEY = {"name": "team", "expression": "object.metadata.?labels[?params.label].orValue('')"}
TEAM = {"name": "team", "expression": "object.metadata.?labels[?'team'].orValue('')"}


# The manifest, a validation, the rest of the spec, the field, and the text at its place.
Row = tuple[str, JSONObject, dict[str, Any], str, str]
ROWS: list[Row] = [
    # Patterns: the field that does not fit, the missing one, or what several have in common.
    (POD, BY_PATTERN, {}, "spec.containers[1].image", "y/log:latest"),
    (POD, LIMITS, {}, "spec.containers[1].resources.limits.memory", "name: log"),
    (POD, {"pattern": {"spec": {"hostNetwork": False}}}, {}, "spec.hostNetwork", "true"),
    (POD, {"pattern": {"spec": {"hostPID": True, "hostNetwork": False}}}, {}, "spec", "spec:"),
    (POD, {"pattern": {"metadata": {"labels": {"a.io/team": "?*"}}}}, {},
     "metadata.labels[a.io/team]", "labels: {app"),
    (POD, {"anyPattern": [{"spec": {"hostNetwork": False}}, {"spec": {"hostIPC": True}}]}, {},
     "spec", "spec:"),
    # Expressions: what was read, the deciding term, the first item for which it failed.
    (POD, cel("object.spec.hostNetwork == false"), {}, "spec.hostNetwork", "true"),
    (POD, cel("!object.spec.?hostNetwork.orValue(false)"), {}, "spec.hostNetwork", "true"),
    (POD, cel("has(object.spec.nodeName)"), {}, "spec.nodeName", "spec:"),
    (POD, cel("has(object.metadata.labels) && 'team' in object.metadata.labels"), {},
     "metadata.labels.team", "labels: {app"),
    (POD, cel("object.metadata.labels['tier'] == 'back'"), {}, "metadata.labels.tier", 'front"}'),
    (POD, cel("object.metadata.finalizers.all(f, f.startsWith('a'))"), {},
     "metadata.finalizers[1]", "b.io/y]"),
    (POD, IMAGES, {}, "spec.containers[1].image", "y/log:latest"),
    (POD, cel("object.spec.containers.all(c, has(c.resources) && has(c.resources.limits))"), {},
     "spec.containers[1].resources.limits", "name: log"),
    (POD, cel("object.spec.containers.all(c, c.?ports.orValue([]).all(p, p.hostPort < 90))"), {},
     "spec.containers[1].ports[1].hostPort", "99"),
    (POD, cel("!object.spec.containers.exists(c, c.image.endsWith(':latest'))"), {},
     "spec.containers[1].image", "y/log:latest"),
    (POD, cel("object.spec.containers.exists(c, c.name == 'proxy')"), {},
     "spec.containers", "containers:"),
    (POD, cel("object.spec.containers.map(c, c.name).size() > 5"), {},
     "spec.containers", "containers:"),
    (POD, cel("!has(object.spec.securityContext) || object.spec.securityContext.runAsUser > 0"),
     {}, "spec.securityContext.runAsUser", "0"),
    (POD, cel("object.kind != 'Pod' ? true : object.spec.securityContext.runAsUser > 0"), {},
     "spec.securityContext.runAsUser", "0"),
    (POD, cel("object.spec.hostNetwork == false || object.spec.containers.size() > 9"), {},
     "spec", "spec:"),
    (POD, cel("object.metadata.name == object.spec.hostname"), {}, "spec.hostname", "spec:"),
    (POD, cel("object.metadata.name != object.spec.containers[0].name"), {}, "", "apiVersion"),
    (POD, cel("request.operation == 'UPDATE'"), {}, "", "apiVersion: v1"),
    (POD, cel("false"), {}, "", "apiVersion: v1"),
    # Variables, lists that are joined and filtered, params.
    (POD, cel("variables.all.all(c, c.image.contains(':'))"), {"variables": [ALL]},
     "spec.initContainers[0].image", "z/init"),
    (POD, cel("variables.bad.all(c, c.image == 'q')"), {"variables": [ALL, BAD]},
     "spec.containers[1].image", "y/log:latest"),
    (POD, cel("variables.team != ''"), {"variables": [TEAM]}, "metadata.labels.team",
     "labels: {app"),
    (POD, cel("variables.team != ''"), {"variables": [BY_KEY], "params": {"label": "a.io/team"}},
     "metadata.labels[a.io/team]", "labels: {app"),
    (POD, cel("variables.bad.size() == 0"), {"variables": [ALL, BAD]},
     "spec.containers[1].image", "y/log:latest"),
    (POD, cel("params.images.all(i, object.spec.containers.exists(c, c.image == i))"),
     {"params": {"images": ["x/web:1", "q"]}}, "spec.containers", "containers:"),
    (POD, cel("object.spec.containers.all(c, params.keys.all(k, k in c))"),
     {"params": {"keys": ["name", "ports"]}}, "spec.containers[0]", "name: web"),
    # Errors.
    (POD, cel("object.spec.absent.deep == 1"), {}, "spec.absent.deep", "spec:"),
    (POD, cel("object.spec.containers.all(c, c.ports.size() > 0)"), {}, "spec.containers[0].ports",
     "name: web"),
    (POD, cel("int(object.metadata.labels.app) > 0"), {}, "metadata.labels.app", "web, tier"),
    (POD, cel("true"),
     {"matchConditions": [{"name": "c", "expression": "object.spec.absent == 1"}]},
     "spec.absent", "spec:"),
    (POD, cel("true"),
     {"auditAnnotations": [{"key": "k", "valueExpression": "string(object.spec.absent)"}]},
     "spec.absent", "spec:"),
    # Templates of controllers: the path in the controller.
    (DEPLOYMENT, IMAGES, {"podControllers": True}, "spec.template.spec.containers[1].image",
     "y/log"),
    (DEPLOYMENT, BY_PATTERN, {"podControllers": True}, "spec.template.spec.containers[1].image",
     "y/log"),
    (DEPLOYMENT, cel("has(object.spec.nodeName)"), {"podControllers": True},
     "spec.template.spec.nodeName", "spec:\n      containers:"),
    (DEPLOYMENT, cel("'team' in object.metadata.labels"), {"podControllers": True},
     "spec.template.metadata.labels.team", "labels: {app"),
    (DEPLOYMENT, cel("object.metadata.namespace == 'x'"), {"podControllers": True},
     "spec.template.metadata.namespace", "metadata:\n      labels"),
    (CRON_JOB, IMAGES, {"podControllers": True},
     "spec.jobTemplate.spec.template.spec.containers[0].image", "y/a}"),
    (DEPLOYMENT, cel("object.spec.replicas > 2"), {}, "spec.replicas", "2\n"),
    # Lists, several documents, aliases and merges.
    (LIST, IMAGES, {}, "spec.containers[1].image", "y/log:latest"),
    (LIST, cel("has(object.spec.nodeName)"), {}, "spec.nodeName", "spec:"),
    (LIST, cel("1 == 2"), {}, "", "apiVersion: v1\n  kind: Pod"),
    (AFTER, IMAGES, {"podControllers": True}, "spec.containers[1].image", "y/log:latest"),
    (ALIASES, IMAGES, {}, "spec.containers[1].image", "y/two"),
    (ALIASES, cel("object.spec.containers.all(c, c.name == 'one' || c.name != 'two')"), {},
     "spec.containers[1].name", "two"),
    (ALIASES, cel("object.spec.containers[1].securityContext.privileged == true"), {},
     "spec.containers[1].securityContext.privileged", "false}"),
    (ALIASES, cel("has(object.spec.containers[2].securityContext.user)"), {},
     "spec.containers[2].securityContext.user", "securityContext: *secure"),
    (ALIASES, cel("object.spec.containers[3].image == 'x'"), {}, "spec.containers[3].image",
     "image: *bad"),
    # Other objects.
    (CONFIG_MAP, cel("int(object.data.max) < 5"), {}, "data.max", '9"'),
    (CONFIG_MAP, cel("object.data['a.json'].contains('b')"), {}, "data[a.json]", '{"a": 1}'),
    (CONFIG_MAP, cel("object.data.all(k, v, v.size() < 5)"), {}, "data[a.json]", '{"a": 1}'),
]  # fmt: skip


@pytest.mark.parametrize(("manifest", "validation", "spec", "field", "text"), ROWS)
def test_a_result_has_its_field_and_place(
    manifest: str, validation: JSONObject, spec: dict[str, Any], field: str, text: str
) -> None:
    rules = [PODS] if "podControllers" in spec else [EVERYTHING]
    # The first validation computes the variables.
    used = cel(" && ".join(f"[variables.{e['name']}] != []" for e in spec.get("variables", [])))
    validations = [used, validation] if "variables" in spec else [validation]
    done = run(
        manifest, policy("p", *rules, validations=validations, **spec), flags=("--format", "json")
    )
    (finding,) = findings(done)
    assert finding["field"] == field
    assert rest(manifest, finding).startswith(text), rest(manifest, finding)[:60]
