"""What the API server refuses, or kubectl warns of, in an object that somebody wrote: fields that
its kind does not have, and values of another type. Reads no files.
"""

from collections.abc import Iterator

from policyd._core.schema.problems import live_problems
from policyd._core.schema.types import Field, SchemaType
from policyd.json_types import FieldPath
from policyd.mutation.overlays.types import expectation, fits, in_words, misfit_hint
from policyd.mutation.schemas.schemas import Gvk, Schemas
from policyd.mutation.schemas.unknown_fields import field_hint
from policyd.policy.model.findings import FormProblem

RULE = "invalid-object"


def misfits(obj: object, schemas: Schemas, at: FieldPath = ()) -> Iterator[FormProblem]:
    """Yield what does not fit the kind of an object, if that is known; ``at`` is its place."""
    root = root_of(obj, schemas)
    if root is not None:
        yield from misfits_of(obj, root, at)


def root_of(obj: object, schemas: Schemas) -> Field | None:
    """Return the schema of an object; None if its kind is unknown."""
    found = schemas.lookup(*Gvk.of_object(obj))
    return None if found is None else found.root


def misfits_of(value: object, field: Field, at: FieldPath) -> Iterator[FormProblem]:
    """Yield what does not fit a field. Most values fit: that is found out without Python."""
    if live_problems(value, field.type) is None:
        return
    waiting = [(value, field.type, at)]
    while waiting:
        each, kind, path = waiting.pop()
        below: list[tuple[object, SchemaType, FieldPath]] = []
        if isinstance(each, dict) and kind.is_map:
            for name, inner in each.items():
                known = kind.fields.get(name, kind.extra)
                if known is not None:
                    below.append((inner, known.type, (*path, name)))
                elif kind.fields:
                    message, hint = f'unknown field "{name}"', field_hint(name, kind, field.type)
                    yield FormProblem((*path, name), message, hint, at_key=True, rule=RULE)
        elif isinstance(each, list) and kind.is_list and kind.item is not None:
            item = kind.item.type
            below += [(inner, item, (*path, index)) for index, inner in enumerate(each)]
        elif each is not None and not fits(each, kind):
            found = "a map" if isinstance(each, dict) else in_words(each)
            found = "a list" if isinstance(each, list) else found
            message = f"expected {expectation(kind)}, got {found}"
            yield FormProblem(path, message, misfit_hint(each, kind), rule=RULE)
        waiting += reversed(below)
