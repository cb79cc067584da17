"""FormProblem: a problem of one field of a document; and the messages of what models refuse.

It has no file. ``policy/source/loaded_documents.py`` adds the place and converts it to a
``Problem``.
``other_fields.json`` has fields and values that authors know from other kinds and tools, and what
to write instead; the nearest of misspelt names is found here.
"""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyd.errors import Fix
from policyd.json_types import FieldPath
from policyd.mutation import KINDS
from policyd.near_names import did_you_mean, nearest
from policyd.policy.model import shapes
from policyd.policy.model.base import Model, aliases, model_in
from policyd.policy.model.value_hints import EXPRESSIONS, date_hint, type_hint


@dataclass(frozen=True, slots=True)
class FormProblem:
    """``path`` leads to the field; ``at_key``: the name of the field is at fault, not its value.
    ``meant``: the fields that an unknown one probably stands for, of that object or of the one in
    its field ``within``. ``pos`` is an offset in the string at the path, for a part of it.
    """

    path: FieldPath
    message: str
    hint: str = ""
    at_key: bool = False
    rule: str = "invalid"
    fix: Fix | None = None
    meant: frozenset[str] = frozenset()
    within: str = ""
    pos: int | None = None


def path_text(path: Iterable[str | int]) -> str:
    """Format ``("spec", "validations", 0)`` as ``spec.validations[0]``; odd keys in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("_", "").isalnum():
            text += f".{part}" if text else part
        else:
            text += f"[{part}]"
    return text


def quoted(value: object) -> str:
    """Format a value for a message, truncated if long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


# Fields of a Policy that are missed in Kubernetes' own kinds: the field that holds them, by name.
_OWN_KINDS = {name: kind.field for name, kind in KINDS.items() if not kind.kubernetes}
_POLICY_ONLY = {
    **dict.fromkeys(_OWN_KINDS.values(), "mutations"),
    "pattern": "validations",
    "anyPattern": "validations",
}
# How alike a misspelt value is at least: READ is not meant as CREATE.
_CLOSE_VALUE = 0.7
# From here on a name that an object knows is meant, and not the same name in another object.
_CLOSER_NAME = 0.8
_WRITE_POLICY = "write a policyd.dev/v1 Policy: only that kind has {}"

_WITHIN = ("spec", "metadata")
_INDENT = "indent it: it belongs below {}"
# Their fields have names that are rather meant elsewhere.
_UNLIKELY = frozenset({"authorizer", "exceptions", "excludeResourceRules"})
# Fields whose objects are taken for the same as objects of other fields.
_SAME_HABITS = {"table": "cases", "matchResources": "matchConstraints"}
# Too many objects have them.
_TYPE = ("apiVersion", "kind")

_EXPECTED = {
    shapes.STRING: "a string",
    shapes.BOOLEAN: "true or false",
    shapes.INTEGER: "an integer",
    shapes.NUMBER: "a number",
    shapes.LIST: "a list",
    shapes.MAP: "an object",
    shapes.MODEL: "an object",
}


def schema_findings(faults: Iterable[shapes.ShapeFault], model: type[Model]) -> list[FormProblem]:
    """Return the problems for the faults that were found in a document of ``model``."""
    return [_translate(each, model) for each in faults]


def _translate(fault: shapes.ShapeFault, model: type[Model]) -> FormProblem:
    path, kind, value = fault.path, fault.kind, fault.value
    if kind == shapes.UNKNOWN:
        return _unknown_field(path, model)
    if kind == shapes.CHOICE:
        return _unsupported_value(path, value, fault.detail)
    if kind == shapes.MISSING:
        return FormProblem(path, "Required value")
    if kind in _EXPECTED:
        message = f"expected {_EXPECTED[kind]}, got {_named(value)}"
        known = value_instead(path, value) if isinstance(value, str) else ""
        if instead := _table("types").get(_field(path), {}).get(_named(value), ""):
            return FormProblem(path, message, instead)
        if kind == shapes.LIST and isinstance(value, str):
            items = (each.strip() for each in value.split(","))
            known, value = "", ",".join(value_instead(path, each) or each for each in items)
        siblings = _fields_at(model, path[:-1])
        hint = type_hint(kind, value, path, _model_at(model, path), siblings)
        return FormProblem(path, message, f"write {known}" if known else hint)
    message = f"Invalid value: {quoted(value)}: {fault.detail}"
    return FormProblem(path, message, date_hint(value) if "date" in fault.detail else "")


def _unknown_field(path: FieldPath, model: type[Model]) -> FormProblem:
    written = str(path[-1])
    name = "".join(filter(str.isprintable, written)).strip()
    known = sorted(_fields_at(model, path[:-1]))
    hint = _instead(name, path, model, known)
    within = next((each for each in _WITHIN if hint == _INDENT.format(each)), "")
    meant = frozenset((name,)) if within or name in known else frozenset[str]()
    if hint.startswith(("did you mean ", "write ")):
        meant = frozenset(known).intersection(words(hint))
    if not written.isprintable():
        sign = next(each for each in written if not each.isprintable())
        hint = f"write blanks for the invisible character U+{ord(sign):04X}"
    message = f'unknown field "{written}"'
    return FormProblem(path, message, hint, True, "unknown-field", None, meant, within)


def _instead(name: str, path: FieldPath, model: type[Model], known: Sequence[str]) -> str:
    """Return the remedy for an unknown field of an object that has the ``known`` ones."""
    closer = nearest(name, known, _CLOSER_NAME)
    if path[:2] == ("spec", _POLICY_ONLY.get(name)):
        return _WRITE_POLICY.format(name)
    if instead := field_instead(model.__name__, path):
        return instead
    if any(sign in name for sign in "()[]{}"):  # the rest of an expression
        return "YAML ends the value before it at ',' between { and }: put that value in quotes"
    if len(path) == 1:
        inner = (each for each in _WITHIN if name in _fields_at(model, (each,)))
        if field := next(inner, ""):
            return _INDENT.format(field)
    if closer:
        return f"did you mean {closer}?"
    if "." in name and "set" in known:
        return f"write set: {{{name}: …}}"
    if known == ["expression"]:
        return EXPRESSIONS.get(str(path[-2]), "write expression: …")
    if known == ["matchExpressions", "matchLabels"]:
        return f"write matchLabels: {{{name}: …}}"
    listed = "known fields: " + ", ".join(known) if known else ""
    if "set" in known:
        listed = f"write set: {{PATH: VALUE}} for what differs in the object; {listed}"
    home = "" if name in _TYPE else _home(model, path)
    return home or did_you_mean(name, known, listed)


def _home(model: type[Model], path: FieldPath) -> str:
    """Return where a field belongs that only other objects of the document have; empty if
    unknown. The uppermost of these is meant.
    """
    level: list[tuple[str, type[Model]]] = [("", model)]
    seen: set[type[Model]] = set()
    while level:
        for where, each in level:
            if path[-1] in aliases(each):
                short = where.removeprefix(f"{path[0]}.") if len(path) > 1 else where
                return f"move it to {short}" if where else "move it beside metadata"
        seen.update(each for _, each in level)
        level = [
            (f"{where}.{alias}".removeprefix("."), inner)
            for where, each in level
            for alias in sorted(aliases(each) - _UNLIKELY)
            if (inner := _field_model(each, alias)) and inner not in seen
        ]
    return ""


def _unsupported_value(path: FieldPath, value: object, supported: str) -> FormProblem:
    message = f"Unsupported value: {quoted(value)}: supported values: {supported}"
    if path[-1] == "operator":
        message = f"Invalid value: {quoted(value)}: not a valid selector operator"
    words = [word.strip('" ') for word in supported.split(",")]
    if not isinstance(value, str):
        return FormProblem(path, message)
    if path[-1] == "patchType" and value in _OWN_KINDS:
        return FormProblem(path, message, _WRITE_POLICY.format(_OWN_KINDS[value]))
    folded = {word.lower(): word for word in words}
    same = folded.get(value.lower())
    write = same or value_instead(path, value)
    if " " in write:
        return FormProblem(path, message, write)
    if write in words:
        return FormProblem(
            path, message, f"write {write}", fix=Fix(value, write) if write == same else None
        )
    parts = [folded.get(each.strip().lower(), "") for each in value.split(",")]
    if all(parts):
        return FormProblem(path, message, f"write {', '.join(parts)}, each as an item of the list")
    near = nearest(value.lower(), folded, _CLOSE_VALUE)
    return FormProblem(path, message, f"did you mean {folded[near]}?" if near else "")


def words(text: str) -> list[str]:
    """Return the words of a message, such as the fields that it names."""
    return "".join(char if char.isalnum() else " " for char in text).split()


def _named(value: object) -> str:
    """Describe a wrong value."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return quoted(value)


def _fields_at(model: type[Model], path: FieldPath) -> frozenset[str]:
    """Return the field names of the model at ``path`` below ``model``; empty if unknown."""
    here = _model_at(model, path)
    return aliases(here) if here else frozenset()


def _model_at(model: type[Model], path: FieldPath) -> type[Model] | None:
    """Return the model at ``path`` below ``model``, or of the items of a list there."""
    here: type[Model] | None = model
    for part in path:
        if isinstance(part, int):
            continue
        here = _field_model(here, part) if here else None
    return here


def _field_model(model: type[Model], alias: str) -> type[Model] | None:
    """Return the model in the type of a field."""
    found = (each for each in model.fields.values() if each.alias == alias)
    return next((model_in(each.annotation) for each in found), None)


@functools.cache
def _table(section: str) -> Mapping[str, Mapping[str, str]]:
    """Return what to write instead: of fields of ``spec``, and of the document, by kind
    (``elsewhere``), of other fields by the field around them (``habits``), of values in lower case
    by their field (``values``), and of values of a type by their field (``types``).

    The file has the words by what replaces them, types the other way round.
    """
    rows = json.loads(Path(__file__).with_name("other_fields.json").read_bytes())[section]
    if section == "types":
        found: Mapping[str, Mapping[str, str]] = rows
        return found
    return {
        around: {word: instead for instead, words in each.items() for word in words.split()}
        for around, each in rows.items()
    }


def field_instead(kind: str, path: FieldPath) -> str:
    """Return the remedy for a field of another kind or tool in a document; empty if unknown."""
    name, around = str(path[-1]), _field(path[:-1])
    top = len(path) == 1 or (len(path) == 2 and around == "spec")
    if top and name in _table("elsewhere").get(kind, {}):
        return _table("elsewhere")[kind][name]
    return _table("habits").get(_SAME_HABITS.get(around, around), {}).get(name, "")


def value_instead(path: FieldPath, value: str) -> str:
    """Return the value to write for one of another tool; empty if unknown."""
    return _table("values").get(_field(path), {}).get(value.lower(), "")


def _field(path: FieldPath) -> str:
    """Return the last field of a path that ends in items of lists."""
    return next((str(part) for part in reversed(path) if isinstance(part, str)), "")
