"""Advice on patterns that do not match the schema of their kinds: unknown fields, lists written as
maps, booleans in place of strings.

``type_check`` chooses the kinds. A pattern with conditions, or one of several, may distinguish
kinds: a mismatch with only some of them is then no mistake.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from policyd._core.pattern.strings import Wildcard
from policyd._core.schema.types import Scalar, SchemaType
from policyd.cel.types.structs import ADMISSION, Structs
from policyd.cel.types.types import BOOL, Kind, Type
from policyd.errors import Fix
from policyd.json_types import FieldPath
from policyd.mutation.schemas.leaves import quantity
from policyd.mutation.schemas.schemas import ANY_KIND, Gvk
from policyd.near_names import did_you_mean
from policyd.pattern.compiler import compile_pattern
from policyd.pattern.faults import PatternError
from policyd.pattern.leaves import is_text, joined
from policyd.pattern.marks import Mark, split, split_if_known
from policyd.policy.kinds.object_types import ObjectTypes
from policyd.policy.lint.guards.cases import matches_any
from policyd.policy.lint.run import LintedPolicy
from policyd.policy.lint.types.kinds import by_kinds
from policyd.policy.model.findings import FormProblem

RULE = "pattern-type"
_NAMES = {Scalar.NUMERIC: "a number", Scalar.STRING: "a string", Scalar.BOOLEAN: "a boolean"}
_ANY = ("*", "?*", None)


# In place of the correction of a boolean for which a string is meant: its quotes are added later.
_QUOTES = Fix("", "")


def misfitting(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for the patterns of a policy."""
    published, schemas = policy.run.published, dict(policy.schemas)
    if not policy.kinds and matches_any(policy):
        schemas = {ANY_KIND: policy.run.schemas.of_any_kind}
    types = ObjectTypes(published, Structs(ADMISSION))
    for path, tree in policy.patterns:
        each_kind = (
            (gvk, each)
            for gvk, schema in schemas.items()
            for each in misfits(tree, schema.root.type, types, types.of_kind(gvk), path)
        )
        telling_apart = "anyPattern" in path or has_condition(tree)
        for by_kind in by_place(each_kind, len(schemas), telling_apart=telling_apart):
            message = by_kinds((gvk, each.message) for gvk, each in by_kind.items())
            first = next(iter(by_kind.values()))
            fix = policy.document.quoting(first.path) if first.fix is _QUOTES else None
            hint = f'write "{fix.old}", in quotes' if fix is not None else first.hint
            yield replace(first, message=message, hint=hint, fix=fix)


def by_place(
    found: Iterable[tuple[Gvk, FormProblem]], kinds: int, *, telling_apart: bool
) -> Iterator[dict[Gvk, FormProblem]]:
    """Yield the mismatches of each place, of all kinds or of those that are no mistake of the
    others: ``telling_apart`` is whether the tree may be meant for some kinds only.
    """
    reported: dict[FieldPath, dict[Gvk, FormProblem]] = {}
    for gvk, each in found:
        reported.setdefault(each.path, {})[gvk] = each
    for by_kind in reported.values():
        if len(by_kind) == kinds or not telling_apart:
            yield by_kind


def has_condition(tree: Any) -> bool:
    """Whether a condition of a tree may restrict it to some kinds."""
    if isinstance(tree, list):
        return any(map(has_condition, tree))
    return isinstance(tree, dict) and any(
        split_if_known(key)[0] in (Mark.CONDITION, Mark.GLOBAL) or has_condition(value)
        for key, value in tree.items()
    )


def misfits(
    tree: Any, schema: SchemaType, types: ObjectTypes, of: Type | None, path: FieldPath
) -> Iterator[FormProblem]:
    """Yield the mismatches of a pattern with the type at its path: ``schema``, and ``of`` for
    enumerations, None if that is unknown.
    """
    if schema.scalar == Scalar.UNTYPED:  # a quantity, or a value that the schema does not restrict
        if schema.leaf is quantity and isinstance(tree, str):
            yield from _unfit_amount(tree, "a quantity", path)
    elif isinstance(tree, dict):
        if schema.is_map:
            yield from _misfits_of_keys(tree, schema, types, of, path)
        elif schema.is_list:
            yield _misfit(path, "the field is a list, but the pattern is a map", "write [{...}]")
        elif schema.scalar:
            yield _misfit(path, f"the field is {_NAMES[schema.scalar]}, but the pattern is a map")
    elif isinstance(tree, list):
        if schema.is_list and schema.item is not None:
            inner = of.params[0] if of is not None and of.kind is Kind.LIST else None
            for index, item in enumerate(tree):
                yield from misfits(item, schema.item.type, types, inner, (*path, index))
        elif not schema.is_list:
            form = "a map" if schema.is_map else _NAMES.get(schema.scalar, "not a list")
            yield _misfit(path, f"the field is {form}, but the pattern is a list")
    else:
        yield from _misfit_of_leaf(tree, schema, path)


def _misfit(path: FieldPath, message: str, hint: str = "") -> FormProblem:
    return FormProblem(path, message, hint, rule=RULE)


def _misfits_of_keys(
    tree: dict[str, Any], schema: SchemaType, types: ObjectTypes, of: Type | None, path: FieldPath
) -> Iterator[FormProblem]:
    for key, value in tree.items():
        mark, name = split(key)
        at, field = (*path, key), schema.fields.get(name, schema.extra)
        if field is None:
            wild = "*" in name or "?" in name
            if not wild or not any(map(Wildcard(name).matches, schema.fields)):
                what = f'{schema.name or "the object"} has no field "{name}"'
                hint = did_you_mean(name, schema.fields)
                yield FormProblem(at, what, hint, at_key=True, rule=RULE)
        elif mark is not Mark.ABSENT:
            below = types.field(of, name) if of is not None else None
            yield from misfits(value, field.type, types, below, at)
            known: Sequence[Any] = [True, False] if below == BOOL and isinstance(value, str) else ()
            if of is not None and not known:
                known = enumeration(types, of, name)
            for where, each in strings(value, at) if known else ():
                yield from _unfit_string(each, known, where)


def _misfit_of_leaf(value: Any, schema: SchemaType, path: FieldPath) -> Iterator[FormProblem]:
    while schema.is_list and schema.item is not None:
        schema = schema.item.type  # a leaf is checked against each item
    if schema.scalar == Scalar.UNTYPED or value in _ANY:
        return
    if isinstance(value, bool):
        if schema.scalar != Scalar.BOOLEAN:
            form = _NAMES.get(schema.scalar, "not a scalar")
            hint = f'write "{str(value).lower()}", in quotes' if schema.scalar else ""
            what = f"the field is {form}, but the pattern is a boolean"
            fix = _QUOTES if schema.scalar == Scalar.STRING else None
            yield FormProblem(path, what, hint, rule=RULE, fix=fix)
    elif isinstance(value, str) and _is_regex(value):
        glob = value.removeprefix("^").removesuffix("$").replace(".*", "*").replace("\\", "")
        what = f'"{value}" is no regular expression in a pattern'
        hint = f'write "{glob}", or expression with matches()'
        if any(sign in glob for sign in "+[](){}"):
            hint = "write expression with matches(): a pattern has * and ? only"
        yield _misfit(path, what, hint)
    elif isinstance(value, str) and (instead := _of_words(value)):
        what = f'"{value}" is one text: only | and & join patterns'
        yield _misfit(path, what, f'write "{instead}"')
    elif isinstance(value, str) and schema.scalar == Scalar.NUMERIC:
        yield from _unfit_amount(value, "a number", path)
    elif isinstance(value, int | float) and schema.scalar == Scalar.BOOLEAN:
        what = "the field is a boolean, but the pattern is a number"
        yield _misfit(path, what, "write true or false")
    elif schema.is_map:
        hint = 'only "*" and "?*" match maps'
        yield _misfit(path, "the field is a map, but the pattern is a scalar", hint)


def _unfit_amount(value: str, form: str, path: FieldPath) -> Iterator[FormProblem]:
    if is_text(value):
        what = f'the field is {form}, and "{value}" fits none'
        ends = value.split("..")
        hint = "write >=1, <=5, 1-5 or 1 | 5, with units for quantities"
        if len(ends) == 2 and not any(map(is_text, ends)):
            hint = f"write {'-'.join(ends)}"
        yield _misfit(path, what, hint)


def enumeration(types: ObjectTypes, of: Type, name: str) -> Sequence[Any]:
    """Return the values of a field, or of the items of its list; empty if it is no enumeration."""
    schema = types.schema_of(of, name) or {}
    known: Sequence[Any] = schema.get("enum") or (schema.get("items") or {}).get("enum") or ()
    return known


def strings(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """Yield a string, or the strings of a list, each with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, str):
                yield (*path, index), each


def _is_regex(value: str) -> bool:
    """Whether a string is a regular expression, as of JavaScript too, and no pattern."""
    slashes = value[:1] == value[-1:] == "/" and any(sign in value for sign in "+[*^$")
    return slashes or value.startswith(("^", ".*")) or value.endswith("$")


def _of_words(value: str) -> str:
    """Return the pattern that is meant by one with words or commas between its terms; empty if
    it may be a text.
    """
    instead = joined(value)
    terms = [each.strip() for term in instead.split("|") for each in term.split("&")]
    plain = any(" " in each for each in terms) or not set("*?").intersection(value)
    return "" if plain else instead


def _unfit_string(value: str, known: Sequence[Any], path: FieldPath) -> Iterator[FormProblem]:
    try:
        fits = list(map(compile_pattern(value).holds, known))
    except PatternError:
        return  # an error of the policy
    words = [str(each).lower() if isinstance(each, bool) else str(each) for each in known]
    if known and not any(fits):
        yield _misfit(path, f'no value of the field fits "{value}"', nearest(value, words))
    elif known and all(fits) and "!" in value:
        hint = f"the values are {' or '.join(words)}"
        yield _misfit(path, f'every value of the field fits "{value}"', hint)


def nearest(value: str, words: Sequence[str]) -> str:
    """Return the hint for a string that is none of a field's values."""
    return did_you_mean(value, words, f"write {' or '.join(words)}", ratio=0.5)
