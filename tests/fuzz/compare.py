"""Two answers to one question: what may differ, in one visible table, and what differs."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from policyd.cli.eval import command as evaluation
from policyd.json_types import JSONObject
from policyd.mutation.schemas.typed_variables import typed_variables
from policyd.versions import KubernetesVersion
from tests import kubernetes
from tests.fuzz import oracle

COMPARED = ("value", "type", "error", "stage", "cost")
RETRIES = 20
# What two right answers may differ in. Everything else is a mistake.
ALLOWED = {
    "stage program": "policyd refuses what cel-go's constant folding refuses when it compiles, and says so in the text",
    "order of maps": f"Go walks maps at random: any of {RETRIES} answers of the oracle is right",
    "order of structs": "the error or false of the member that Go comes to first",
    "numbers of type variables": "_var7: Go gives them out in the order of a map",
    "cost beyond the limit": "cel-go counts on to the end of what it is doing; policyd stops",
    "died": "cel-go makes lists such as lists.range(1000000000000) before it counts what they cost",
    "parts of Object": "the oracle prints what Go's JSON makes of them: null and whole doubles are integers, bytes base64",
    "go types in JSONPatch": "of a list or map where a text is wanted; not asked often enough to matter",
    "long quantities": "add and sub change those of over 18 digits themselves there; not asked often enough to matter",
    "lists made by +": "a key that is one is named *types.concatList; not asked often enough to matter",
    "panic": "cel-go panics: no answer to compare with",
}
# The same for versions that are not released (docs/reference/kubernetes-versions.md).
ALLOWED_AHEAD = {
    "go types": "cel-go 0.33 has other Go types of lists and maps, which errors of keys and panics name",
}
_GO_TYPE = re.compile(
    r"(invalid qualifier type|unsupported (?:map key|index) type|interface conversion): .+"
)
_REFUSED = "program instantiation failed: "


@dataclass(frozen=True, slots=True)
class Difference:
    question: JSONObject
    got: JSONObject
    want: JSONObject

    def __str__(self) -> str:
        fields = [name for name in COMPARED if self.got.get(name) != self.want.get(name)]
        pairs = "\n".join(
            f"  {name}: {self.got.get(name)!r}\n  not {self.want.get(name)!r}" for name in fields
        )
        return f"{self.question['expression']!r}\n{pairs}"


def answer(question: JSONObject) -> JSONObject:
    """policyd's own answer, that of ``policyd eval --jsonl``."""
    text, variables, mode = question["expression"], question["variables"], question.get("mode", "")
    version = KubernetesVersion.parse(question["version"])
    typing = typed_variables(variables, version) if "kinds" in question else None
    found = evaluation.evaluate(text, variables, mode=mode, version=version, typing=typing)
    error = found.get("error", "")
    if found.get("stage") == "compile" and error.startswith(_REFUSED):
        return {"error": error.removeprefix(_REFUSED), "stage": "program"}
    return dict(json.loads(json.dumps(found)))


def differences(questions: Sequence[JSONObject]) -> Iterator[Difference]:
    """Every question that policyd answers otherwise than the oracle of this run's version."""
    version = {"version": kubernetes.chosen()}
    questions = [question | version for question in questions]
    for question, want in zip(questions, oracle.ask(questions), strict=True):
        if want.get("stage") in ("panic", "died"):
            continue
        got = answer(question)
        if not same(question, got, want) and not any(
            same(question, got, other) for other in oracle.ask([question] * RETRIES)
        ):
            yield Difference(question, got, want)


def same(question: JSONObject, got: JSONObject, want: JSONObject) -> bool:
    if question["version"] in kubernetes.AHEAD:
        got, want = _ahead(got), _ahead(want)
    if "Object" in question["expression"] and "value" in got and "value" in want:
        got, want = got | {"value": None}, want | {"value": None}  # see "parts of Object"
    return _text(got) == _text(want)


def _ahead(found: JSONObject) -> JSONObject:
    """An answer without what ALLOWED_AHEAD lists."""
    error = str(found.get("error", ""))
    return {**found, "error": _GO_TYPE.sub(r"\1", error)} if error else found


def _shown(value: Any) -> Any:
    """A value without the fields of a JSONPatch that were not set: the oracle shows them, empty."""
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if isinstance(value, dict):
        return {
            name: _shown(item)
            for name, item in value.items()
            if not (item == "" and name in ("op", "path", "from"))
        }
    return value


def _text(found: JSONObject) -> str:
    """JSON's text tells 1 from 1.0 and true."""
    fields = {name: found.get(name) for name in COMPARED}
    fields["value"] = _shown(fields["value"])
    if fields["error"] == "operation cancelled: actual cost limit exceeded":
        del fields["cost"]
    return re.sub(r"_var\d+", "_var", json.dumps(fields, sort_keys=True))
