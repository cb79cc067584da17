"""Overlays: any tree is refused with a place, or merged into any object; a merge repeats without effect.

An input is a list of an overlay and an object, [overlay, object], or of two overlays and an object. A Policy with the
overlays is loaded; what the mutating webhook answers is compared with the merge itself, with ``policyd apply``
and with an explanation.
"""

import json
from functools import cache
from random import Random
from time import perf_counter_ns
from typing import Any

import orjson

from policyd._core.json.equality import equal
from policyd._core.json.tree import normal
from policyd._core.patch.apply import apply, diff
from policyd._core.plan.overlay_run import OverlayError
from policyd._core.schema.list_items import MergeError
from policyd.admission import engine
from policyd.admission.review import AdmissionResponse, decode, encode
from policyd.errors import MutationError, ReviewError, UnreadableReview
from policyd.json_types import JSONObject
from policyd.mutation import overlay
from policyd.mutation.decoding import converted
from policyd.mutation.schemas.schemas import Gvk
from policyd.offline.admitting import Admitter
from policyd.offline.explaining import Explainer
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.suite.reviews import build_review
from tests.builders.policies import overlay as overlay_mutation
from tests.builders.policies import policy, rule
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget
from tests.fuzz.guided.targets import patterns, policies, reviews
from tests.mutation.builders import CRD, SCHEMAS
from tests.mutation.overlays.builders import Patterns

DEPTH = 150
SECOND = 1_000_000_000
KINDS = {
    "Pod": Gvk("", "v1", "Pod"),
    "Service": Gvk("", "v1", "Service"),
    "Deployment": Gvk("apps", "v1", "Deployment"),
    "Widget": Gvk("example.com", "v1", "Widget"),
}
RULES = (
    rule("pods", "services"),
    rule("deployments", group="apps"),
    rule("widgets", group="example.com"),
)
MARKS = ("(", "=(", "X(", "^(", "<(")
WORDS = (
    "metadata",
    "labels",
    "annotations",
    "spec",
    "containers",
    "name",
    "image",
    "env",
    "value",
    "ports",
    "containerPort",
    "protocol",
    "tolerations",
    "args",
    "finalizers",
    "hostNetwork",
    "securityContext",
    "runAsUser",
    "nodeSelector",
    "resources",
    "limits",
    "cpu",
    "template",
    "tags",
    "plain",
    "endpoints",
    "port",
    "free",
    "nullable",
    "count",
    "initContainers",
    "(name)",
    "=(image)",
    "X(env)",
    "^(ports)",
    "<(image)",
    "+(value)",
    "+(labels)",
    "$patch",
    "delete",
    "append",
    "prepend",
    "replace",
    "*",
    "?*",
    ">1",
    "a|b",
    "500m",
    "0.5",
    "1",
    "${object.metadata.name}",
    "x-${object.kind}",
    "${null}",
    "$${a}",
    "${optional.none()}",
    "${object.?spec.?x}",
    "${object.metadata}",
    "${[1, 'a']}",
    "${{'a': null}}",
    "${",
    "${1/0}",
    "${object.spec.containers}",
    "${1}",
    "${true}",
    "${quantity('1')}",
    "{{request.object}}",
)


def check(data: bytes) -> None:
    try:
        found = orjson.loads(data)
        *trees, obj = found
        normal(found, DEPTH)
    except (ValueError, TypeError, UnreadableReview):
        return
    if not trees or len(trees) > 2 or not isinstance(obj, dict):
        return
    held = orjson.dumps(found)
    loaded, compiled = policies_of(trees)
    reviewed(loaded, compiled, trees, obj)
    if all(isinstance(each, dict) for each in trees):
        merged(trees[0], obj)
    assert orjson.dumps(found) == held, "an argument was changed"


def policies_of(trees: list[Any]) -> tuple[Sources, CompiledPolicySet]:
    """The Policy with these overlays, and its problems, which have places."""
    mutations = [overlay_mutation(each) for each in trees]
    document = policy("p", *RULES, mutations=mutations, failurePolicy="Ignore")
    text = "\n".join(json.dumps(each, indent=1) + "\n---" for each in (document, *definitions()))
    loaded = loader.load_text(text, policies.NAME)
    compiled = compiler.compile_sources(loaded)
    for problem in compiled.problems:
        assert problem.line, problem
        policies.located(problem, text.encode())
    return loaded, compiled


@cache
def definitions() -> tuple[JSONObject, ...]:
    import yaml

    return tuple(yaml.safe_load_all(CRD))


def reviewed(
    loaded: Sources, compiled: CompiledPolicySet, trees: list[Any], obj: JSONObject
) -> None:
    """The webhook's answer to the object: a patch that makes what the others make, too."""
    try:
        review = build_review(obj)
        body = orjson.dumps(review)
        request = decode(body)
    except (ReviewError, TypeError, ValueError, AttributeError):
        return  # patterns of kinds, and the like, are those of the target reviews
    deadline = perf_counter_ns() + 10 * SECOND
    response = engine.review(compiled, request, webhook="mutate", deadline=deadline)
    assert encode(response) == encode(engine.review(compiled, request, webhook="mutate"))
    reviews.valid(encode(response), request)
    if compiled.problems or request.unreadable:
        return
    after = patched(response, request.object)
    offline = Admitter(compiled).admit(body, ("mutate",))
    assert offline.allowed == response.allowed
    assert equal(offline.after, after), "offline it becomes another object"
    explained = Explainer.of_sources(loaded).explain(body, ("mutate",))
    assert equal(explained[0].after, after), "explained it becomes another object"
    if plain(trees):
        again = decode(orjson.dumps(build_review(after)))
        second = engine.review(compiled, again, webhook="mutate", deadline=deadline)
        assert equal(patched(second, after), after), "a second review changes the object"


def patched(response: AdmissionResponse, obj: Any) -> Any:
    """The object with the patch, which another library applies in the same way."""
    if response.patch is None:
        return obj
    operations = orjson.loads(response.patch)
    assert operations, "an empty patch"
    reviews.patched(obj, operations)
    return apply(operations, obj)


def merged(tree: JSONObject, obj: JSONObject) -> None:
    """The merge without a policy around it, if there are no expressions."""
    gvk = KINDS.get(str(obj.get("kind")))
    if gvk is None or not plain([tree], conditions=True):
        return
    target = SCHEMAS.target(gvk)
    assert target.schema is not None
    compiler = Patterns()
    found, faults = overlay.read(tree, (), compiler)
    for fault in (*faults, *(() if faults else found.bind(target.schema))):
        assert fault.message
        placed(tree, fault.path)
    if faults or compiler.refused or found.bind(target.schema):
        return
    once = attempted(found, obj, target)
    if once is None:
        return
    assert equal(apply(diff(obj, once, SCHEMAS.list_keys(gvk)), obj), once)
    if plain([tree]):
        again = attempted(found, once, target)
        assert again is not None and equal(again, once), "a second merge changes the object"


def attempted(found: overlay.Overlay, obj: JSONObject, target: Any) -> JSONObject | None:
    try:
        after = found.bound(target).apply(obj)
        return after if after is obj else converted(after, obj, target)
    except (MutationError, MergeError, OverlayError) as error:
        assert str(error)
        return None


def placed(tree: Any, path: Any) -> None:
    """A fault's path leads to something in the overlay."""
    for key in path:
        assert key in tree if isinstance(tree, dict) else 0 <= key < len(tree), path
        tree = tree[key]


def plain(tree: Any, *, conditions: bool = False) -> bool:
    """Whether a tree has no expressions, and unless ``conditions`` no conditions: these may hold only
    after another change of the same overlay.
    """
    if isinstance(tree, dict):
        marked = any(key.startswith(MARKS) for key in tree)
        return (conditions or not marked) and all(
            plain(each, conditions=conditions) for each in tree.values()
        )
    if isinstance(tree, list):
        return all(plain(each, conditions=conditions) for each in tree)
    return not isinstance(tree, str) or "${" not in tree


def seeds() -> list[bytes]:
    pod = orjson.loads(reviews.seeds()[0])["request"]["object"]
    small = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"x": "y"}, "finalizers": ["a/b"]},
        "spec": {
            "containers": [
                {"name": "a", "image": "a:1", "ports": [{"containerPort": 80, "protocol": "TCP"}]},
                {"name": "b", "image": "b:1", "env": [{"name": "A", "value": "1"}], "args": ["x"]},
            ],
            "tolerations": [{"key": "a", "operator": "Exists"}],
        },
    }
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {
            "text": "a",
            "count": 1,
            "port": "http",
            "tags": ["a"],
            "plain": ["b"],
            "endpoints": [{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}],
            "free": {"a": [1, {"b": None}]},
        },
    }
    given: list[list[Any]] = [[each, small] for each in TREES]
    given += [[each, pod] for each in TREES[:2]]
    given += [[{"spec": each}, widget] for each in WIDGETS]
    given.append([TREES[0], TREES[1], small])
    return [json.dumps(each).encode() for each in given]


TREES: tuple[JSONObject, ...] = (
    {
        "metadata": {"labels": {"a": "b", "x": None}, "+(annotations)": {"c": "d"}},
        "spec": {"containers": [{"(name)": "*", "resources": {"limits": {"+(memory)": "1Gi"}}}]},
    },
    {
        "spec": {
            "X(hostNetwork)": None,
            "containers": [
                {"name": "a", "^(ports)": [{"containerPort": ">1"}], "stdin": True},
                {"name": "c", "image": "c:${object.metadata.name}", "args": ["--a"]},
                {"(image)": "b:*", "$patch": "delete"},
            ],
        }
    },
    {"spec": {"tolerations": [{"$patch": "append"}, {"key": "b", "operator": "Exists"}]}},
    {"spec": {"containers": [{"$patch": "prepend"}, {"name": "z", "image": "z"}]}},
    {"spec": {"tolerations": [{"(key)": "a", "effect": "NoExecute"}], "nodeSelector": {"a": "b"}}},
    {"metadata": {"finalizers": ["c/d"], "labels": "${object.metadata.?annotations}"}},
    {"spec": {"containers": [{"<(image)": "a:*"}], "priority": 3}},
)
WIDGETS: tuple[JSONObject, ...] = (
    {"endpoints": [{"port": 1, "protocol": "UDP", "comment": "c"}], "tags": ["b"]},
    {"plain": [{"$patch": "prepend"}, "c"], "free": {"a": [1], "n": 2}, "text": None},
    {"labels": {"a": "b"}, "port": 80, "template": {"x": {"y": []}}, "nullable": None},
)

ALL_WORDS = (*WORDS, *patterns.WORDS)


def mutate(data: bytes, chance: Random) -> bytes:
    """Change one part of an input: mostly an overlay, which is mostly still a map."""
    try:
        parts = json.loads(data)
    except (ValueError, RecursionError):
        return mutating.octets(data, chance)
    if not isinstance(parts, list) or not parts or chance.random() < 0.1:
        return mutating.octets(data, chance)
    at = chance.choice((*range(len(parts)), 0, 0))
    for _ in range(3):
        changed = mutating.tree(parts[at], chance, ALL_WORDS)
        if isinstance(changed, dict):
            break
    parts[at] = changed
    return json.dumps(parts).encode()


TARGET = FuzzTarget(check, seeds, mutate)
