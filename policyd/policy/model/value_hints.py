"""What to write in place of a value of a wrong type in a document. Finds no faults."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import date
from typing import Any

from policyd.json_types import FieldPath
from policyd.pattern.scalar_hints import UNQUOTED, unquoted_hint
from policyd.policy.model import shapes
from policyd.policy.model.base import Model, aliases, model_in

# The objects that contain nothing but an expression.
EXPRESSIONS = {
    "applyConfiguration": "write expression: 'Object{…}', or in a Policy an Overlay",
    "jsonPatch": "write expression: '[JSONPatch{op: \"add\", path: …, value: …}]'",
}
_FILES = (".yaml", ".yml", ".json")
_SERVICE_ACCOUNT = "system:serviceaccount:"


def type_hint(
    kind: str,
    value: object,
    path: FieldPath,
    expected: type[Model] | None,
    siblings: Iterable[str] = (),
) -> str:
    """Return the remedy; ``expected``: the model of the object, or of the items of the list;
    ``siblings``: the fields beside it. Empty if nothing is close.
    """
    file = f"{path[-1]}File" if path else ""
    if isinstance(value, str) and value.endswith(_FILES) and file in siblings:
        return f"write {file}: {_plain(value)}"
    if kind == shapes.STRING and path[-2:-1] == ("validations",):
        return "write the name of a validation; only a PolicyException takes indexes"
    if kind == shapes.STRING and isinstance(value, bool | int | float):
        return UNQUOTED
    if kind == shapes.STRING and isinstance(value, list) and len(value) == 1:
        return f"write {_plain(str(value[0]))}, without [ ] and '- '"
    if kind == shapes.STRING and isinstance(value, dict | list):
        signs = "{ … } as an object" if isinstance(value, dict) else "[ … ] as a list"
        return f"YAML reads {signs}: put the value in quotes, or on its own lines after '|'"
    fields = aliases(expected) if expected else frozenset()
    if kind == shapes.LIST:
        return _list_hint(value, path, fields)
    if kind == shapes.MODEL and path and path[-1] in EXPRESSIONS:
        return EXPRESSIONS[str(path[-1])]
    if kind == shapes.MODEL and isinstance(value, list | tuple):
        return _owner_hint(value, expected)
    if kind == shapes.MODEL:
        return _object_hint(value, path, fields)
    if kind == shapes.MAP:
        return _map_hint(value)
    if kind == shapes.BOOLEAN:
        return unquoted_hint(value, number=False)
    return unquoted_hint(value, number=True) if kind in (shapes.INTEGER, shapes.NUMBER) else ""


def _list_hint(value: object, path: FieldPath, fields: frozenset[str]) -> str:
    if isinstance(value, dict) and value:
        first, inner = next(iter(value.items()))
        if glued := next((key for key in value if key.startswith("-")), ""):
            return f"write a blank after the '-': - {glued[1:]}: …"
        if first in fields or (not fields and isinstance(inner, dict | list)):
            return f"write '- ' before its first field: - {first}: …"
        if name := next((each for each in ("name", "key") if each in fields), ""):
            other = next((each for each in ("expression", "valueExpression") if each in fields), "")
            rest = f"{other}: …" if other else "…"
            return f"write a list of {path[-1]}: - {{{name}: {_plain(first)}, {rest}}}"
    if isinstance(value, str) and value:
        item = _object_hint(value, path, fields) if fields else ""
        if "{" in item:
            return f"write [{item.removeprefix('write ')}]"
        return f"write [{', '.join(_plain(each.strip()) for each in value.split(','))}]"
    if isinstance(value, bool):
        return "write a list of strings, such as [TEXT]"
    if isinstance(value, int | float):
        return f"write [{json.dumps(value)}]"
    return "write [a, b], or one item per line after '- '"


def _owner_hint(value: list[Any] | tuple[Any, ...], expected: type[Model] | None) -> str:
    """Return the remedy for a list where an object is expected: one of its fields may be meant."""
    item: object = value[0] if value else None
    names = frozenset(item) if isinstance(item, dict) else frozenset[str]()
    for field in expected.fields.values() if expected and names else ():
        inner = model_in(field.annotation)
        if inner and aliases(inner).issuperset(names):
            return f"write {field.alias}: before the list"
    return "write its fields without '- '"


def _object_hint(value: object, path: FieldPath, fields: frozenset[str]) -> str:
    if "expression" in fields:
        named = {"matchConditions", "variables"}.intersection(map(str, path[-2:]))
        name = "name: NAME, " if named else ""
        return f"write {{{name}expression: …}}"
    if isinstance(value, str) and value:
        if fields == {"matchLabels", "matchExpressions"}:
            return _selector_hint(value)
        if fields == {"apiVersion", "kind"}:
            version, _, kind = value.rpartition("/")
            return f"write {{apiVersion: {version or 'v1'}, kind: {kind}}}"
        if fields == {"group", "version", "resource"}:
            return f'write {{group: "", version: v1, resource: {_plain(value)}}}, with its group'
        if {"kind", "name", "apiGroup"} <= fields:
            return f"write {{{_subject(value)}}}"
        if name := next((each for each in ("name", "username") if each in fields), ""):
            return f"write {{{name}: {json.dumps(value, ensure_ascii=False)}}}"
    return f"write an object with these fields: {', '.join(sorted(fields))}" if fields else ""


def _selector_hint(text: str) -> str:
    """Return the selector of a text as of ``kubectl -l``: ``app=web,tier!=db``."""
    labels, others = [], []
    for part in text.split(","):
        key, _, value = part.replace("==", "=").partition("=")
        if key.endswith("!"):
            wanted = f"operator: NotIn, values: [{_plain(value.strip())}]"
            others.append(f"{{key: {_plain(key[:-1].strip())}, {wanted}}}")
        elif value.strip() and key.strip():
            labels.append(f"{_plain(key.strip())}: {_plain(value.strip())}")
    if not labels and not others:
        return "write matchLabels: {NAME: VALUE}"
    found = [f"matchLabels: {{{', '.join(labels)}}}"] if labels else []
    found += [f"matchExpressions: [{', '.join(others)}]"] if others else []
    return f"write {{{', '.join(found)}}}"


def _subject(name: str) -> str:
    """Return the fields of a subject with this username, or name of a group."""
    namespace, _, account = name.removeprefix(_SERVICE_ACCOUNT).partition(":")
    if name.startswith(_SERVICE_ACCOUNT) and account:
        return f"kind: ServiceAccount, namespace: {namespace}, name: {account}"
    return f"kind: User, name: {json.dumps(name, ensure_ascii=False)}"


def _map_hint(value: object) -> str:
    if isinstance(value, list | tuple):
        return "write NAME: VALUE, one per line, without '- '"
    if not isinstance(value, str):
        return "write NAME: VALUE, one per line"
    if "\n" in value.strip() or value.rstrip().endswith("}"):
        return "write its fields without '|' and quotes"
    path, colon, text = value.strip().partition(": ")
    if colon and path.replace(".", "").isalnum():
        parts = path.split(".")
        return "write " + "".join(f"{{{part}: " for part in parts) + text + "}" * len(parts)
    pairs = [each.partition("=") for each in value.split(",")]
    if all(key.strip() and sign for key, sign, _ in pairs):
        written = ", ".join(f"{_plain(k.strip())}: {_plain(v.strip())}" for k, _, v in pairs)
        return f"write {{{written}}}"
    return "write NAME: VALUE, one per line"


def _plain(text: str) -> str:
    """Return a string as YAML may have it, in quotes if it has unusual characters."""
    usual = text.replace("-", "").replace(".", "").replace("/", "").isalnum()
    return text if usual and text[0].isalpha() else json.dumps(text, ensure_ascii=False)


# A date with the year first, and with the day first.
_DATES = (
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?:T.*)?"),
    re.compile(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})"),
)


def date_hint(value: object) -> str:
    """Return the date that is meant by another notation; empty if it is not certain."""
    for form in _DATES:
        if isinstance(value, str) and (found := form.fullmatch(value.strip())):
            with suppress(ValueError):  # no day of that month
                meant = date(int(found["y"]), int(found["m"]), int(found["d"]))
                return f"write {meant.isoformat()}"
    return ""
