"""Every command asks the CustomResourceDefinitions which resource a custom kind is, whether it is
namespaced and which defaults it has, and all of them get the same request.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import policyd as api
from policyd.cli.bench.reviews import read_reviews
from policyd.json_types import JSONObject
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import definition, pod
from tests.builders.policies import json_patch, policy, rule, suite
from tests.builders.webhook_configurations import KINDS, configuration, hook
from tests.cli.folder import run, write

VALIDATING, _ = KINDS
SIZED = {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}
DEFINITIONS = [
    definition(
        "Attachment",
        "example.com",
        SIZED,
        names={"kind": "Attachment", "plural": "network-attachments"},
    ),
    definition("Issuer", "example.com", SIZED, scope="Cluster"),
    definition(
        "Gadget",
        "example.com",
        {},
        versions=[
            {"name": name, "served": served, "storage": name == "v1", "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object", "properties": {"size": {"type": "integer", "default": size}}}}}}}
            for name, served, size in (("v1", True, 1), ("v2beta1", True, 2), ("v0", False, 0))
        ],
    ),
]  # fmt: skip
# What a policy says that sees everything of the request that follows from the kind.
SEEN = (
    "request.resource.resource + ' ' + (has(request.namespace) ? request.namespace : '-') + ' ' +"
    " object.metadata.?namespace.orValue('-') + ' ' + string(object.spec.?size.orValue(-1))"
)
POLICY = policy(
    "sees",
    rule("*", group="example.com", version="*"),
    validations=[{"expression": "false", "messageExpression": SEEN}],
    mutations=[
        json_patch(
            "[JSONPatch{op: 'add', path: '/metadata/labels',"
            " value: {'seen': object.metadata.?namespace.orValue('-')}}]"
        )
    ],
)


def custom(kind: str, version: str = "v1", namespace: str = "") -> JSONObject:
    metadata = {"name": "x", **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": f"example.com/{version}",
        "kind": kind,
        "metadata": metadata,
        "spec": {},
    }


# manifest -> resource, namespace of the request, of the object, size; and whether it is assumed.
ROWS: list[tuple[JSONObject, str, bool]] = [
    (custom("Attachment"), "network-attachments default default 3", False),
    (custom("Attachment", namespace="shop"), "network-attachments shop shop 3", False),
    (custom("Issuer"), "issuers - - 3", False),
    (custom("Issuer", namespace="shop"), "issuers - - 3", False),
    (custom("Gadget"), "gadgets default default 1", False),
    (custom("Gadget", "v2beta1"), "gadgets default default 2", False),
    (custom("Gadget", "v0"), "gadgets default default -1", True),
    (custom("Unknown"), "unknowns default default -1", True),
]
OBJECTS = [obj for obj, _, _ in ROWS]
MESSAGES = [seen for _, seen, _ in ROWS]
Ask = Callable[[], list[str]]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("policy.yaml", POLICY)
    write("crds.yaml", *DEFINITIONS)


def apply(*, among: bool = False) -> list[str]:
    given = write("object.yaml", *OBJECTS)
    crds = ["crds.yaml"] if among else ["-p", "crds.yaml"]
    rows = json.loads(run("apply", "-p", "policy.yaml", "--format", "json", given, *crds).stdout)
    return [each["findings"][0]["message"] for each in rows if each["file"] == given]


def apply_among() -> list[str]:
    return apply(among=True)


def reviewed() -> list[str]:
    found = []
    for obj in OBJECTS:
        given = write("object.yaml", obj)
        done = run("review", "-p", "policy.yaml", "-p", "crds.yaml", "--object", given)
        found.append(said(json.loads(done.stdout)["response"]))
    return found


def reviewed_among() -> list[str]:
    """Of the first row only, which stands for all: the file is read as explain reads it."""
    given = write("object.yaml", OBJECTS[0], *DEFINITIONS)
    done = run("review", "-p", "policy.yaml", "--object", "--select", "Attachment/x", given)
    return [said(json.loads(done.stdout)["response"]), *MESSAGES[1:]]


def explain(*, among: bool = False) -> list[str]:
    given = write("object.yaml", *OBJECTS, *(DEFINITIONS if among else []))
    crds = [] if among else ["-p", "crds.yaml"]
    flags = ("--format", "json", "--webhook", "validate")
    done = run("explain", "-p", "policy.yaml", *crds, *flags, given)
    decoder, text, found = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        value, end = decoder.raw_decode(text)
        text = text[end:].strip()
        found.append(value["webhooks"][0]["response"])
    return [said(each) for each in found if not each["allowed"]]


def explain_among() -> list[str]:
    return explain(among=True)


def in_suite(*, among: bool = False) -> list[str]:
    """A suite reports what it does not expect."""
    cases = [
        {"name": f"{index}", "request": {"object": obj}, "expect": {"message": seen}}
        for index, (obj, seen, _) in enumerate(ROWS)
    ]
    policies = ["policy.yaml"] if among else ["policy.yaml", "crds.yaml"]
    params = DEFINITIONS if among else []
    write("suite.yaml", suite(policies=policies, cases=cases, params=params))
    done = run("test", "suite.yaml")
    assert done.exit_code == 0, done.stdout
    return MESSAGES


def in_params() -> list[str]:
    """The definitions are objects of the suite's cluster."""
    return in_suite(among=True)


def python() -> list[str]:
    policies = api.PolicySet.load(["policy.yaml", "crds.yaml"])
    results = [policies.evaluate(api.build_review(obj, policies=policies)) for obj in OBJECTS]
    return [each.violations[0].message for each in results]


def measured() -> list[str]:
    """What bench sends."""
    policies = api.PolicySet.load(["policy.yaml"])
    given = read_reviews([Path(write("object.yaml", *OBJECTS, *DEFINITIONS))], BUILT_IN)
    compiled = policies._evaluator.policies.with_definitions(given.definitions)
    reviews = [compiled.defaults.review(each.review) for each in given.reviews]
    results = [api.PolicySet(compiled).evaluate(each) for each in reviews[: len(OBJECTS)]]
    return [each.violations[0].message for each in results]


def said(response: JSONObject) -> str:
    return str(response["status"]["message"]).removeprefix("policy 'sees' denied request: ")


ASKS: list[Ask] = [
    apply, apply_among, reviewed, reviewed_among, explain, explain_among, in_suite, in_params, python,
    measured,
]  # fmt: skip


@pytest.mark.parametrize("ask", ASKS, ids=[each.__name__ for each in ASKS])
def test_every_command_sees_the_same(ask: Ask) -> None:
    assert ask() == MESSAGES


def test_mutations_see_the_same() -> None:
    write("object.yaml", *OBJECTS)
    done = run("apply", "-p", "policy.yaml", "-p", "crds.yaml", "--format", "json", "object.yaml")
    found = [row["patch"][0]["value"] for row in json.loads(done.stdout)]
    assert found == [{"seen": seen.split()[2]} for seen in MESSAGES]


def test_the_command_that_explains_has_the_definition() -> None:
    write("object.yaml", custom("Issuer"))
    hint = run("apply", "-p", "policy.yaml", "object.yaml", "crds.yaml").stderr
    assert "policyd explain -p policy.yaml -p crds.yaml object.yaml" in hint


@pytest.mark.parametrize("among", [False, True])
def test_webhooks_match_sees_the_same(among: bool) -> None:
    rules: list[JSONObject] = [
        {
            "apiGroups": ["example.com"],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["issuers", "network-attachments"],
            "scope": scope,
        }
        for scope in ("Cluster", "Namespaced")
    ]
    hooks = [hook(name=f"{each['scope'].lower()}.example.com", rules=[each]) for each in rules]
    write("hooks.yaml", configuration(VALIDATING, *hooks))
    objects = [custom("Issuer"), custom("Attachment")]
    given = write("object.yaml", *objects, *(DEFINITIONS if among else []))
    crds = [] if among else ["-f", "crds.yaml"]
    called = []
    for obj in objects:
        chosen = ("--format", "json", "--select", f"{obj['kind']}/x")
        done = run("webhooks", "match", "-f", "hooks.yaml", *crds, *chosen, given)
        called += [each["webhook"] for each in json.loads(done.stdout)["validating"]]
    assert called == ["cluster.example.com", "namespaced.example.com"]


def test_the_tests_of_an_import_see_the_same() -> None:
    deny = {"message": "no", "deny": {}}
    match = {"any": [{"resources": {"kinds": ["Attachment", "Issuer"]}}]}
    source = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "none"},
        "spec": {
            "validationFailureAction": "Enforce",
            "rules": [{"name": "none", "match": match, "validate": deny}],
        },
    }
    test = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "t"},
        "policies": ["none.yaml"],
        "resources": ["objects.yaml"],
        "results": [
            {"policy": "none", "rule": "none", "kind": kind, "resources": ["x"], "result": "fail"}
            for kind in ("Attachment", "Issuer")
        ],
    }
    write("none.yaml", source)
    write("objects.yaml", custom("Attachment"), custom("Issuer"))
    write("kyverno-test.yaml", test)
    Path("policy.yaml").unlink()
    done = run("import", ".", "--verify", "--format", "json")
    (found,) = json.loads(done.stdout)
    assert [each["state"] for each in found["tests"]] == ["agrees", "agrees"]
    # The suite that is written says what only the definitions say.
    assert run("import", ".", "-o", "out").exit_code == 0
    assert run("test", "out").exit_code == 0


COMMANDS = [
    ("apply", "-p", "policy.yaml", "object.yaml"),
    ("explain", "-p", "policy.yaml", "object.yaml"),
    ("review", "-p", "policy.yaml", "--object", "--select", "Unknown/x", "object.yaml"),
    ("webhooks", "match", "-f", "hooks.yaml", "object.yaml"),
    ("test", "suite.yaml"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=[each[0] for each in COMMANDS])
def test_an_unknown_kind_gets_one_remark(command: tuple[str, ...]) -> None:
    other = {**custom("Unknown"), "metadata": {"name": "y"}}
    write("object.yaml", pod(), custom("Unknown"), other)
    write("hooks.yaml", configuration(VALIDATING, hook()))
    cases = [
        {"name": name, "request": {"object": custom("Unknown")}, "expect": {"allowed": False}}
        for name in "ab"
    ]
    write("suite.yaml", suite(policies=["policy.yaml"], cases=cases))
    found = " ".join(run(*command).stderr.split())
    wanted = (
        "warning: Unknown of example.com/v1: no CustomResourceDefinition of it is known; assumed: "
        "resource unknowns, namespaced, no defaults hint: add its CustomResourceDefinition"
    )
    assert found.count(wanted) == found.count("warning") == 1


REMARKS = [
    (custom("Gadget", "v0"), "its CustomResourceDefinition serves v1, v2beta1; assumed: resource gadgets"),
    ({**custom("Deploymnt"), "apiVersion": "apps/v1"}, "Kubernetes has no such kind; assumed: resource deploymnts"),
    (custom("Attachment"), ""),
    ({**pod(), "apiVersion": "v1"}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("obj", "remark"), REMARKS)
def test_the_reason_is_named(obj: JSONObject, remark: str) -> None:
    write("object.yaml", obj)
    found = " ".join(
        run("apply", "-p", "policy.yaml", "-p", "crds.yaml", "object.yaml").stderr.split()
    )
    assert remark in found
    assert ("warning" in found) is bool(remark)


def test_a_definition_that_cannot_be_used_is_named() -> None:
    broken = definition("Broken", "example.com", SIZED, scope="namespaced")
    write("object.yaml", broken, custom("Broken"))
    found = run("apply", "-p", "policy.yaml", "object.yaml").stderr
    assert (
        "object.yaml:11:10: warning: spec.scope: this CustomResourceDefinition is not used" in found
    )
    assert "Broken of example.com/v1: no CustomResourceDefinition of it is known" in " ".join(
        found.split()
    )


def test_a_review_is_built_alike_without_definitions() -> None:
    request = build_review(custom("Issuer"))["request"]
    assert (request["resource"]["resource"], request["namespace"]) == ("issuers", "default")
