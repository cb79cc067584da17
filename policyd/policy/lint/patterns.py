"""Advice on patterns that do not match the schema of their kinds: unknown fields, lists written as
maps, booleans in place of strings.

``type_check`` chooses the kinds. A pattern with conditions, or one of several, may distinguish
kinds: a mismatch with only some of them is then no mistake.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from policyd._core.pattern.strings import Wildcard
from policyd._core.schema.types import Scalar, SchemaType
from policyd.cel.types.structs import ADMISSION, Structs
from policyd.cel.types.types import BOOL, Kind, Type
from policyd.errors import Fix, Problem
from policyd.json_types import FieldPath
from policyd.mutation.schemas.leaves import quantity
from policyd.mutation.schemas.schemas import ANY_KIND, Gvk
from policyd.near_names import did_you_mean
from policyd.pattern.compiler import compile_pattern
from policyd.pattern.faults import PatternError
from policyd.pattern.leaves import is_text, joined
from policyd.pattern.marks import Mark, UnknownMark, split
from policyd.policy.kinds.object_types import ObjectTypes
from policyd.policy.lint.guards.cases import matches_any
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.types.kinds import by_kinds, kinds_of
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import Policy
from policyd.policy.source.loaded_documents import Document

RULE = "pattern-type"
_NAMES = {Scalar.NUMERIC: "a number", Scalar.STRING: "a string", Scalar.BOOLEAN: "a boolean"}
_ANY = ("*", "?*", None)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A mismatch at a place; ``at_key``: of the key, not the value. ``unquoted``: a string is
    meant.
    """

    what: str
    hint: str = ""
    at_key: bool = False
    fix: Fix | None = None
    unquoted: bool = False


PlacedMisfit = tuple[FieldPath, Misfit]


def misfitting(run: LintRun) -> Iterator[Problem]:
    """Yield the advice for all policies, in file order."""
    for document in run.sources.documents:
        if isinstance(document.model, Policy):
            yield from _advise(document, document.model, run)


def _advise(document: Document, policy: Policy, run: LintRun) -> Iterator[Problem]:
    resources, schemas = run.typed.schemas, run.schemas
    kinds = kinds_of(policy, resources)
    if not kinds and matches_any(policy, resources):
        kinds = [ANY_KIND]
    types = ObjectTypes(resources, Structs(ADMISSION))
    known = {gvk: schemas.of_any_kind if gvk == ANY_KIND else schemas.lookup(*gvk) for gvk in kinds}
    roots = {gvk: schema.root.type for gvk, schema in known.items() if schema is not None}
    for path, tree, telling_apart in _patterns(policy):
        each_kind = (
            (gvk, each)
            for gvk, root in roots.items()
            for each in misfits(tree, root, types, types.of_kind(gvk), path)
        )
        for where, by_kind in by_place(each_kind, len(roots), telling_apart=telling_apart):
            message = by_kinds((gvk, misfit.what) for gvk, misfit in by_kind.items())
            first = next(iter(by_kind.values()))
            fix = document.quoting(where) if first.unquoted else None
            hint = f'write "{fix.old}", in quotes' if fix is not None else first.hint
            finding = FormProblem(where, message, hint, first.at_key, RULE, fix)
            yield document.problem(finding, "advice")


def by_place(
    found: Iterable[tuple[Gvk, PlacedMisfit]], kinds: int, *, telling_apart: bool
) -> Iterator[tuple[FieldPath, dict[Gvk, Misfit]]]:
    """Yield each place with its mismatches, of all kinds or of those that are no mistake of the
    others: ``telling_apart`` is whether the tree may be meant for some kinds only.
    """
    reported: dict[FieldPath, dict[Gvk, Misfit]] = {}
    for gvk, (where, misfit) in found:
        reported.setdefault(where, {})[gvk] = misfit
    for where, by_kind in reported.items():
        if len(by_kind) == kinds or not telling_apart:
            yield where, by_kind


def _patterns(policy: Policy) -> Iterator[tuple[FieldPath, Any, bool]]:
    """Yield each pattern with its path, and whether it may be intended for some kinds only."""
    for index, validation in enumerate(policy.spec.validations):
        path: FieldPath = ("spec", "validations", index)
        if validation.pattern is not None:
            yield (*path, "pattern"), validation.pattern, has_condition(validation.pattern)
        for number, tree in enumerate(validation.any_pattern or ()):
            yield (*path, "anyPattern", number), tree, True


def has_condition(tree: Any) -> bool:
    """Whether a condition of a tree may restrict it to some kinds."""
    if isinstance(tree, list):
        return any(map(has_condition, tree))
    return isinstance(tree, dict) and any(
        _is_condition(key) or has_condition(value) for key, value in tree.items()
    )


def _is_condition(key: str) -> bool:
    try:
        return split(key)[0] in (Mark.CONDITION, Mark.GLOBAL)
    except UnknownMark:
        return False  # an error of the overlay


def misfits(
    tree: Any, schema: SchemaType, types: ObjectTypes, of: Type | None, path: FieldPath
) -> Iterator[PlacedMisfit]:
    """Yield the mismatches of a pattern with the type at its path: ``schema`` and ``of``."""
    yield from _misfits(tree, schema, path)
    yield from _unfit_strings(tree, types, of, path)


def _misfits(tree: Any, schema: SchemaType, path: FieldPath) -> Iterator[PlacedMisfit]:
    if schema.scalar == Scalar.UNTYPED:  # a quantity, or a value that the schema does not restrict
        if schema.leaf is quantity and isinstance(tree, str):
            yield from _unfit_amount(tree, "a quantity", path)
        return
    if isinstance(tree, dict):
        if schema.is_map:
            yield from _misfits_of_keys(tree, schema, path)
        elif schema.is_list:
            yield path, Misfit("the field is a list, but the pattern is a map", "write [{...}]")
        elif schema.scalar:
            yield path, Misfit(f"the field is {_NAMES[schema.scalar]}, but the pattern is a map")
    elif isinstance(tree, list):
        if schema.is_list and schema.item is not None:
            for index, item in enumerate(tree):
                yield from _misfits(item, schema.item.type, (*path, index))
        elif not schema.is_list:
            form = "a map" if schema.is_map else _NAMES.get(schema.scalar, "not a list")
            yield path, Misfit(f"the field is {form}, but the pattern is a list")
    else:
        yield from _misfit_of_leaf(tree, schema, path)


def _misfits_of_keys(
    tree: dict[str, Any], schema: SchemaType, path: FieldPath
) -> Iterator[PlacedMisfit]:
    for key, value in tree.items():
        name = split(key)[1]
        field = schema.fields.get(name, schema.extra)
        if field is not None:
            if split(key)[0] is not Mark.ABSENT:
                yield from _misfits(value, field.type, (*path, key))
        elif not ("*" in name or "?" in name) or not any(
            map(Wildcard(name).matches, schema.fields)
        ):
            hint = did_you_mean(name, schema.fields)
            what = f'{schema.name or "the object"} has no field "{name}"'
            yield (*path, key), Misfit(what, hint, at_key=True)


def _misfit_of_leaf(value: Any, schema: SchemaType, path: FieldPath) -> Iterator[PlacedMisfit]:
    while schema.is_list and schema.item is not None:
        schema = schema.item.type  # a leaf is checked against each item
    if schema.scalar == Scalar.UNTYPED or value in _ANY:
        return
    if isinstance(value, bool):
        if schema.scalar != Scalar.BOOLEAN:
            form = _NAMES.get(schema.scalar, "not a scalar")
            hint = f'write "{str(value).lower()}", in quotes' if schema.scalar else ""
            what = f"the field is {form}, but the pattern is a boolean"
            yield path, Misfit(what, hint, unquoted=schema.scalar == Scalar.STRING)
    elif isinstance(value, str) and _is_regex(value):
        glob = value.removeprefix("^").removesuffix("$").replace(".*", "*").replace("\\", "")
        what = f'"{value}" is no regular expression in a pattern'
        hint = f'write "{glob}", or expression with matches()'
        if any(sign in glob for sign in "+[](){}"):
            hint = "write expression with matches(): a pattern has * and ? only"
        yield path, Misfit(what, hint)
    elif isinstance(value, str) and (instead := _of_words(value)):
        what = f'"{value}" is one text: only | and & join patterns'
        yield path, Misfit(what, f'write "{instead}"')
    elif isinstance(value, str) and schema.scalar == Scalar.NUMERIC:
        yield from _unfit_amount(value, "a number", path)
    elif isinstance(value, int | float) and schema.scalar == Scalar.BOOLEAN:
        what = "the field is a boolean, but the pattern is a number"
        yield path, Misfit(what, "write true or false")
    elif schema.is_map:
        hint = 'only "*" and "?*" match maps'
        yield path, Misfit("the field is a map, but the pattern is a scalar", hint)


def _unfit_amount(value: str, form: str, path: FieldPath) -> Iterator[PlacedMisfit]:
    if is_text(value):
        what = f'the field is {form}, and "{value}" fits none'
        ends = value.split("..")
        hint = "write >=1, <=5, 1-5 or 1 | 5, with units for quantities"
        if len(ends) == 2 and not any(map(is_text, ends)):
            hint = f"write {'-'.join(ends)}"
        yield path, Misfit(what, hint)


def _unfit_strings(
    tree: Any, types: ObjectTypes, of: Type | None, path: FieldPath
) -> Iterator[PlacedMisfit]:
    """Check the strings of fields that have few values: of enumerations and booleans. ``of`` is the
    type at the path; None: unknown.
    """
    if isinstance(tree, list):
        item = of.params[0] if of is not None and of.kind is Kind.LIST else None
        for index, each in enumerate(tree):
            yield from _unfit_strings(each, types, item, (*path, index))
    elif isinstance(tree, dict) and of is not None:
        for key, value in tree.items():
            mark, name = split(key)
            if mark is Mark.ABSENT:
                continue
            field = types.field(of, name)
            if field == BOOL and isinstance(value, str):
                yield from _unfit_string(value, [True, False], (*path, key))
                continue
            known = enumeration(types, of, name)
            for where, each in strings(value, (*path, key)) if known else ():
                yield from _unfit_string(each, known, where)
            if not isinstance(value, str):
                yield from _unfit_strings(value, types, field, (*path, key))


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


def _unfit_string(value: str, known: Sequence[Any], path: FieldPath) -> Iterator[PlacedMisfit]:
    try:
        fits = list(map(compile_pattern(value).holds, known))
    except PatternError:
        return  # an error of the policy
    words = [str(each).lower() if isinstance(each, bool) else str(each) for each in known]
    if known and not any(fits):
        yield path, Misfit(f'no value of the field fits "{value}"', nearest(value, words))
    elif known and all(fits) and "!" in value:
        hint = f"the values are {' or '.join(words)}"
        yield path, Misfit(f'every value of the field fits "{value}"', hint)


def nearest(value: str, words: Sequence[str]) -> str:
    """Return the hint for a string that is none of a field's values."""
    return did_you_mean(value, words, f"write {' or '.join(words)}", ratio=0.5)
