"""Attacks every recursive function with values of all depths, in a thread with a small C stack.

``python -m tests.core.recursion.attacks values|documents|policies`` prints one JSON line for each
attack: an answer or an exception is as expected, the end of the process is not. The deepest values
are passed to some functions only, those of one shape, chosen by a seed; all of them to all
functions with POLICYD_EVERY_DEPTH=1.
"""

import gc
import json
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from policyd._core.eval.layout import Layout
from policyd._core.json.equality import equal
from policyd._core.json.sendable import unsendable
from policyd._core.json.sizes import operation_bytes, value_bytes
from policyd._core.json.tree import normal
from policyd._core.patch import apply as rfc6902
from policyd._core.patch import json_patch
from policyd._core.patch.diff import diff
from policyd._core.schema.decode import decode as decoded
from policyd._core.schema.go_json import go_json
from policyd._core.schema.merge import merge
from policyd._core.schema.problems import live_problems, problems
from policyd._core.schema.types import Field
from policyd._core.values.mutation_json import json_value, object_value
from policyd._core.values.overlay_json import without_nulls
from policyd._core.values.read_trees import ReadTrees
from policyd._core.values.types import Optional, StructValue
from policyd.admission.confidential import is_confidential, redacted
from policyd.admission.review import decode
from policyd.api.build_review import build_review
from policyd.api.policy_set import PolicySet
from policyd.cel.env import Environment
from policyd.errors import PolicydError
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.compile import compiler
from policyd.policy.source.loader import load_text
from policyd.versions import NEWEST, KubernetesVersion

STACK = 1 << 20
# 30,000 levels take more than the stack, however small the frames are.
DEPTHS = (1, 1_000, 30_000, 1_000_000)
DEEPEST = DEPTHS[-1]
SAMPLE = 5  # functions that get the deepest values
# Depths at which an answer, not an exception, is required.
ALLOWED = 1_000
SHAPES: dict[str, Callable[[Any], Any]] = {
    "lists": lambda inner: [inner],
    "maps": lambda inner: {"properties": {"a": inner}} if isinstance(inner, dict) else {"a": inner},
    "items": lambda inner: {"kind": "List", "items": [inner]},
    "optionals": Optional,
    "structs": lambda inner: StructValue("Object", {"a": inner}),
}
JSON_SHAPES = ("lists", "maps", "items")


class Attack(NamedTuple):
    """A call with a nested value."""

    name: str
    call: Callable[[Any], object]
    shapes: tuple[str, ...] = JSON_SHAPES


def nested(shape: str, depth: int) -> Any:
    wrap = SHAPES[shape]
    value: Any = {} if shape in ("maps", "structs") else 1
    for _ in range(depth):
        value = wrap(value)
    return value


def expression(text: str, version: KubernetesVersion = NEWEST) -> Attack:
    """An expression about ``object``, and ``params``, an equal value that is another object."""
    program = Environment.kubernetes(version).compile(text)
    return Attack(
        text, lambda value: program.evaluate({"object": value, "params": other(value)}), (*SHAPES,)
    )


OTHERS: dict[int, Any] = {}


def other(value: Any) -> Any:
    return OTHERS[id(value)]


EXPRESSIONS = (
    "object == params",
    "object in [params]",
    "[object].distinct().size()",
    "size(object)",
    "sets.contains([object], [params])",
    "string(object)",
    "'%s'.format([object])",
    "object.flatten(1000000).size()",
    "[object].indexOf(params)",
    "object + 1",
    "type(object)",
    "optional.of(object)",
    "object.a",
    "has(object.a.b)",
    "object.?a.b",
    "{'a': 1}[object]",
    "'a'.matches(object)",
    "object.matches('a')",
    "object.find('a')",
    "[object].isSorted()",
    "object.orValue(1)",
    "google.protobuf.Value{list_value: object}",
    "[object][params]",
    "google.protobuf.Struct{fields: object}",
    "object.first()",
    "JSONPatch{op: object}",
    "Object{a: object}.a",
    "dyn(object).exists(x, x == params)",
    "[object, params].sort()",
)
REREADING = ("object.value()", "[object].map(x, x)", "[object][0] == params", "object.hasValue()")
# A kind whose type contains itself: the schema of a CustomResourceDefinition.
DEFINITION = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def value_attacks() -> Iterator[Attack]:
    yield from map(expression, EXPRESSIONS)
    for text in REREADING:
        yield expression(text, KubernetesVersion(1, 36))
    for kind in recursive_types():
        yield from typed_attacks(kind)
    yield Attack("normal", lambda value: normal(value, 1_002))
    yield Attack("value_bytes", lambda value: value_bytes(value, 1 << 30), (*SHAPES,))
    yield Attack("operation_bytes", lambda value: operation_bytes(added(value), 1 << 30))
    yield Attack("unsendable", lambda value: unsendable(added(value)))
    yield Attack("equal", lambda value: equal(value, other(value)))
    yield Attack("diff", lambda value: diff(value, other(value)))
    yield Attack("diff of all", lambda value: diff({"a": value}, {"b": value, "a": other(value)}))
    yield Attack("apply", lambda value: rfc6902.apply(added(value), {}))
    yield Attack("test", lambda value: rfc6902.apply(tested(value), {"a": other(value)}))
    for op in ("add", "replace", "test"):
        yield Attack(f"json patch {op}", partial(patched, op))
    yield Attack("json_value", json_value, (*SHAPES,))
    yield Attack(
        "sources", lambda value: json_value(made([value]), ReadTrees((other(value),))), (*SHAPES,)
    )
    yield Attack("object_value", lambda value: object_value(made(value)), (*SHAPES,))
    yield Attack("without_nulls", without_nulls)
    yield Attack("go_json", go_json)
    yield Attack("hash", hash, ("optionals",))


def recursive_types() -> tuple[Field, Field]:
    """The type of a CustomResourceDefinition, and that of schemas in it."""
    schema: Any = Schemas.builtin().target(DEFINITION).schema
    version = schema.root.type.fields["spec"].type.fields["versions"].type.item
    return schema.root, version.type.fields["schema"].type.fields["openAPIV3Schema"]


def typed_attacks(kind: Field) -> Iterator[Attack]:
    yield Attack("decode", lambda value: decoded(value, {}, kind))
    yield Attack("decode a change", lambda value: decoded(value, other(value), kind))
    yield Attack("problems", lambda value: problems(value, kind.type))
    yield Attack("live", lambda value: live_problems(value, kind.type))
    yield Attack("merge", lambda value: merged(value, kind))


def patched(op: str, value: Any) -> object:
    operation = json_patch.PatchOperation(op, "/a", value=value)
    return json_patch.apply([operation], {"a": other(value)})


def merged(value: Any, kind: Field) -> object:
    """Merge what fits its type, as callers of ``merge`` do."""
    return problems(value, kind.type) or merge(value, other(value), kind.type)


def added(value: Any) -> list[dict[str, Any]]:
    return [{"op": "add", "path": "/a", "value": value}]


def tested(value: Any) -> list[dict[str, Any]]:
    return [{"op": "test", "path": "/a", "value": value}]


def made(value: Any) -> StructValue:
    return StructValue("Object", {"a": value})


def nested_review(value: str) -> bytes:
    request = (
        '"uid": "u", "operation": "CREATE", "name": "x",'
        '"kind": {"group": "", "version": "v1", "kind": "Secret"},'
        '"resource": {"group": "", "version": "v1", "resource": "secrets"},'
    )
    head = '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {'
    return f'{head}{request} "object": {{"kind": "List", "items": [{value}]}}}}}}'.encode()


def attack_values() -> Iterator[tuple[str, int, bool]]:
    attacks = [*value_attacks()]
    seed = random.randrange(1 << 32)
    print(f"seed {seed}", file=sys.stderr)
    chosen, deepest = attacks, {*SHAPES}
    if os.environ.get("POLICYD_EVERY_DEPTH") != "1":
        chosen = random.Random(seed).sample(attacks, SAMPLE)
        deepest = {random.Random(seed).choice([*SHAPES])}
    for shape in SHAPES:
        for depth in DEPTHS:
            if depth == DEEPEST and shape not in deepest:
                continue
            value = nested(shape, depth)
            OTHERS[id(value)] = nested(shape, depth)
            for attack in chosen if depth == DEEPEST else attacks:
                if shape in attack.shapes:
                    print_name(f"{attack.name} of {shape}", depth)
                    try:
                        attack.call(value)
                    except Exception as error:
                        known = not isinstance(error, RecursionError) or depth > ALLOWED
                        yield f"{attack.name} of {shape}: {error!r:.90}", depth, known
                    else:
                        yield f"{attack.name} of {shape}", depth, True
            OTHERS.clear()
            print_name(f"free {shape}", depth)
            del value


def attack_documents() -> Iterator[tuple[str, int, bool]]:
    levels = {"list": ("[", "]"), "map": ('{"a":', "}"), "items": ('{"items":[', "]}")}
    levels["kinds"] = ('{"kind":', "}")
    for name, (first, last) in levels.items():
        for depth in DEPTHS:
            print_name(f"a review of {name}", depth)
            request = decode(nested_review(f"{first * depth}1{last * depth}"))
            is_confidential(request)
            if not request.unreadable:
                redacted(request)
            yield (
                f"a review of {name}",
                depth,
                bool(request.unreadable) == (depth > 500) or (depth <= ALLOWED),
            )


POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: deep}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}
"""
WRAPPED = {
    "lists": ("[", "]"),
    "maps": ("{'a': ", "}"),
    "optionals": ("optional.of(", ")"),
    "folds": ("[1].map(x, ", ")"),
    "structs": ("google.protobuf.Value{list_value: [", "]}"),
    "selections": ("dyn({'a': ", "}).?a"),
    "parentheses": ("(", ")"),
    "negations": ("!", ""),
    "conditions": ("(true ? ", " : false)"),
    "regex": ("'a'.matches('", "')"),
}


def attack_policies() -> Iterator[tuple[str, int, bool]]:
    """Values nested in one expression, and through a chain of variables that are used in turn, so
    that each is known before the next is computed.
    """
    for name, (first, last) in WRAPPED.items():
        for depth in (1, 100, 1_000, 10_000):
            print_name(name, depth)
            text = f"{first * depth}object{last * depth}"
            try:
                Environment.kubernetes().compile(text, layout=Layout(("object",)))
            except PolicydError:
                yield name, depth, depth > 1
            else:
                yield name, depth, True
    for name, (first, last) in WRAPPED.items():
        for count in (2, 20, 300) if name == "optionals" else (2, 20):
            print_name(f"variables of {name}", count)
            yield f"variables of {name}", count, chained(first * 40, last * 40, count)
    for text in ("(" * 100 + "a" + ")" * 100, "(" * 900 + "a" + ")" * 900, "(?:" * 900 + ")" * 900):
        print_name("regex", len(text))
        Environment.kubernetes().compile("'a'.matches(object)").evaluate({"object": text})
        yield "regex", len(text), True


def chained(first: str, last: str, count: int) -> bool:
    variables = ["{name: v0, expression: dyn(object)}"]
    for number in range(1, count):
        value = f"{first}dyn(variables.v{number - 1}){last}"
        variables.append(json.dumps({"name": f"v{number}", "expression": value}))
    uses = [{"expression": f"dyn(variables.v{number}) != 0"} for number in range(count)]
    uses.append({"expression": f"size(dyn(variables.v{count - 1})) == dyn(variables.v{count - 1})"})
    lines = "".join(f"  - {each}\n" for each in variables)
    text = f"{POLICY}  variables:\n{lines}  validations: {json.dumps(uses)}\n"
    policies = compiler.compile_sources(load_text(text))
    answer = PolicySet(policies).review(
        build_review({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    )
    return "internal error" not in json.dumps(answer)


ATTACKS = {"values": attack_values, "documents": attack_documents, "policies": attack_policies}


def print_name(name: str, depth: int) -> None:
    """Print what is tried; written at once, because the process may end."""
    print(f"{name} at {depth}", file=sys.stderr, flush=True)


def run(finished: list[bool]) -> None:
    for name, depth, as_expected in ATTACKS[sys.argv[1]]():
        row = {"attack": name, "depth": depth, "as_expected": as_expected}
        print(json.dumps(row), flush=True)
    finished.append(True)


if __name__ == "__main__":
    gc.disable()  # no value contains itself, and a collection goes through all of each
    threading.stack_size(STACK)
    ended: list[bool] = []
    thread = threading.Thread(target=run, args=(ended,))
    thread.start()
    thread.join()
    sys.exit(not ended)
