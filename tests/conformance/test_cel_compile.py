"""What a real API server said when it refused policies for their CEL: texts, places, result types.

Only the errors of expressions are compared; a policy that is refused for its form as well has these
beside them in one message.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from policyd.cel.env import Environment
from policyd.cel.types.types import BOOL, DYN, LIST_OF_JSONPATCH, NULL, OBJECT, STRING, Type
from policyd.errors import CelCompileError
from policyd.versions import KubernetesVersion
from tests.cel.variables import with_variables
from tests.conformance.apiserver_rows import VERSIONS, recorded

Row = dict[str, Any]
PROTOBUF = "makes a protobuf message, which nothing in a policy needs; policyd knows none"
NOT_APPLICABLE = {"cel-refuse-081": PROTOBUF, "cel-refuse-082": PROTOBUF}
FILES = ("vap-cel", "map", "vap-match")


class Expression(NamedTuple):
    path: str
    text: str
    expect: tuple[Type, ...]
    environment: Environment


def expressions(policy: Row, version: KubernetesVersion) -> Iterator[Expression]:
    """All expressions of a policy, each with the environment that Kubernetes compiles it in."""
    spec = policy["spec"]
    params = bool(spec.get("paramKind"))
    mutating = policy["kind"].startswith("Mutating")
    made = partial(Environment.admission, params=params, version=version)
    plain, messages = made(authorizer=True), made()
    patches = made(authorizer=True, patch_types=True)
    for index, each in enumerate(spec.get("matchConditions") or ()):
        path = f"spec.matchConditions[{index}].expression"
        yield Expression(path, each["expression"], (BOOL,), plain)
    declared: dict[str, Type] = {}
    for index, each in enumerate(spec.get("variables") or ()):
        scope = with_variables(plain, declared)
        path = f"spec.variables[{index}].expression"
        yield Expression(path, each["expression"], (), scope)
        declared[each["name"]] = type_of(scope, each["expression"])
    if declared or mutating:
        plain, messages, patches = (
            with_variables(each, declared) for each in (plain, messages, patches)
        )
    for index, each in enumerate(spec.get("validations") or ()):
        path = f"spec.validations[{index}]"
        yield Expression(f"{path}.expression", each["expression"], (BOOL,), plain)
        if each.get("messageExpression"):
            text = each["messageExpression"]
            yield Expression(f"{path}.messageExpression", text, (STRING,), messages)
    for index, each in enumerate(spec.get("auditAnnotations") or ()):
        path = f"spec.auditAnnotations[{index}].valueExpression"
        yield Expression(path, each["valueExpression"], (STRING, NULL), plain)
    for index, each in enumerate(spec.get("mutations") or ()):
        for key, expected in (("jsonPatch", LIST_OF_JSONPATCH), ("applyConfiguration", OBJECT)):
            if key in each:
                path = f"spec.mutations[{index}].{key}.expression"
                yield Expression(path, each[key].get("expression", ""), (expected,), patches)


def type_of(environment: Environment, text: str) -> Type:
    """The type of a variable; one that does not compile is dyn for those that use it."""
    try:
        return environment.check(text).result_type
    except CelCompileError:
        return DYN


def refusal(each: Expression) -> str | None:
    """What Kubernetes says of an expression, with its field."""
    try:
        each.environment.compile(each.text, expect=each.expect)
    except CelCompileError as error:
        if error.text.startswith("program instantiation failed"):
            return f"{each.path}: Internal error: {error.text}"
        quoted = json.dumps(each.text, ensure_ascii=False)
        return f"{each.path}: Invalid value: {quoted}: {error.text}"
    return None


def difference(row: Row) -> str | None:
    """How our errors of a row's policies differ from the recorded one."""
    message = (row["expect"].get("policyError") or {}).get("message", "")
    for policy in row["policies"]:
        if not policy["kind"].endswith("Policy"):
            continue
        for each in expressions(policy, KubernetesVersion.parse(row["version"])):
            if not each.text.strip():
                continue  # "Required value", which the policy's schema says
            said = refusal(each)
            if said is not None and said not in message:
                return f"{row['id']}: we refuse: {said}\n  recorded: {message}"
            if said is None and f"{each.path}: I" in message:
                return f"{row['id']}: we accept {each.text!r}\n  recorded: {message}"
    return None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", FILES)
def test_expressions_compile_or_are_refused_as_recorded(file: str, version: str) -> None:
    every = [row for row in recorded(file, version) if row["policies"]]
    rows = [row for row in every if row["id"] not in NOT_APPLICABLE]
    wrong = [found for row in rows if (found := difference(row)) is not None]
    print(f"{file} {version}: {len(rows) - len(wrong)} passed of {len(every)}")
    assert not wrong, "\n".join(wrong)
