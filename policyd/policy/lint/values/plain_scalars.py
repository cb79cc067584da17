"""Advice on YAML scalars without quotes that Kubernetes reads as something else than a string.

Kubernetes reads YAML 1.1: ``on``, ``y`` and ``no`` are booleans, ``0644`` is 420, ``1.20`` is 1.2.
Checked are the parts of documents that hold any value: params, patterns, overlays, and the data and
labels of ConfigMaps and other parameters; and all keys of policies, such as keys of matchLabels.
In other fields a boolean in place of a string is an error (``invalid``).
"""

import re
from collections.abc import Iterator, Sequence

from policyd._core.schema.types import Scalar, SchemaType
from policyd.errors import Fix
from policyd.json_types import FieldPath
from policyd.pattern.marks import split_if_known
from policyd.policy.lint.run import LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.places import PlainScalar

RULE = "unquoted-value"
_BOOLEANS = frozenset({"true", "false"})
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_VERSION = re.compile(r"[1-9][0-9]*\.[0-9]*0")  # loses its last digit; 0.50 is a share

_Roots = Sequence[SchemaType]


def unquoted(run: LintRun, document: Document) -> Iterator[FormProblem]:
    """Yield the advice for a document."""
    told: set[FieldPath] = set()
    for path, roots in _open_values(document, run):
        for each in document.origin.plain_scalars(path):
            if not path and not each.is_key:
                continue
            types = _types(roots, each.path[len(path) :])
            finding = _advise(each, types, of_strings=path[:1] in (("data",), ("metadata",)))
            if finding is not None and each.path not in told:
                told.add(each.path)
                yield finding


def _open_values(document: Document, run: LintRun) -> Iterator[tuple[FieldPath, _Roots]]:
    """Yield the paths of fields that hold any value, each with the types it may have; and the path
    of a whole policy, of which only the keys are checked.
    """
    if document.kind == "ConfigMap" and not document.group:
        yield ("data",), ()
    if not document.is_policy:
        yield ("metadata", "labels"), ()
        yield ("metadata", "annotations"), ()
        return
    policy = run.policy(document)
    if policy is not None and policy.own is not None:
        yield ("spec", "params"), ()
        roots = [each.root.type for each in policy.schemas.values()]
        for path, _ in (*policy.patterns, *policy.overlays):
            yield path, roots
    yield (), ()


def _types(roots: _Roots, path: FieldPath) -> list[SchemaType]:
    """Return the types of the field at a path of a pattern or overlay, one for each kind."""
    here = list(roots)
    for step in path:
        below: list[SchemaType] = []
        for each in here:
            whole = each.item.type if each.is_list and each.item and isinstance(step, int) else None
            if whole is None and isinstance(step, str):
                field = each.fields.get(split_if_known(step)[1], each.extra)
                whole = field.type if field is not None else None
            if whole is not None:
                below.append(whole)
        here = below
    return here


def _advise(each: PlainScalar, types: list[SchemaType], *, of_strings: bool) -> FormProblem | None:
    expected = set() if each.is_key else {found.scalar for found in types}
    certain = each.is_key or of_strings or expected == {Scalar.STRING}
    meaning = _meaning(each, certain=certain)
    if (
        not meaning
        and of_strings
        and not each.is_key
        and isinstance(each.value, bool | int | float)
    ):
        form = "boolean" if isinstance(each.value, bool) else "number"
        meaning = f"a {form}, but the field holds strings"
    if not meaning or expected - {Scalar.STRING}:
        return None  # the field is a boolean or a number, or may be one
    hint = f'write "{each.text}", in quotes'
    if not certain:
        hint += f" if it is a string, otherwise {meaning}"
    return FormProblem(
        each.path,
        f"YAML reads {each.text} as {meaning}",
        hint,
        at_key=each.is_key,
        rule=RULE,
        fix=Fix(each.text, each.text) if certain else None,
    )


def _meaning(each: PlainScalar, *, certain: bool) -> str:
    """Return what YAML makes of a scalar, if that is not what was meant: certainly, or likely."""
    value = each.value
    if isinstance(value, bool):
        return "" if each.text.lower() in _BOOLEANS else str(value).lower()
    if isinstance(value, int | float):
        shown = str(value) if isinstance(value, int) else format(value, "g")
        likely = any(form.fullmatch(each.text) for form in (_OCTAL, _VERSION))
        return shown if likely or (certain and shown != each.text) else ""
    return ""
