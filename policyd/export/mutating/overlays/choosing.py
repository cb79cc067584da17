"""Choose the form of an overlay: the one that is exact, and the more readable of two."""

from collections.abc import Callable, Sequence
from functools import partial

from policyd.export.mutating.overlays.apply_configuration import apply_configuration
from policyd.export.mutating.overlays.json_patch import json_patch
from policyd.export.mutating.overlays.reading import ReadOverlay, Unsayable
from policyd.mutation.schemas.schemas import KindSchema


def translated_overlay(
    overlay: ReadOverlay, schemas: Sequence[KindSchema], lenient: bool
) -> tuple[str, str]:
    """Return the patchType and the expression for objects of all these kinds. Raises Unsayable."""
    forms: dict[str, Callable[[ReadOverlay, KindSchema], str]] = {
        "ApplyConfiguration": apply_configuration,
        "JSONPatch": partial(json_patch, lenient=lenient),
    }
    error: Unsayable | None = None
    for patch_type, form in forms.items():
        try:
            found = {form(overlay, schema): schema for schema in schemas}
        except Unsayable as unsayable:
            error = unsayable
            continue
        if len(found) == 1:
            return patch_type, next(iter(found))
        names = ", ".join(schema.gvk.kind for schema in found.values())
        error = Unsayable(overlay.tree.path, f"the schemas of {names} differ in what it changes")
    raise error or Unsayable(overlay.tree.path, "no kind that it changes is known")
