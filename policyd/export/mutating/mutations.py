"""The mutations of one exported policy."""

from collections.abc import Callable, Sequence
from functools import partial

from policyd.export.expressions.occurrences import Untranslatable
from policyd.export.model import Reason, shown_path
from policyd.export.mutating.overlays.apply_configuration import apply_configuration
from policyd.export.mutating.overlays.empty_lists import empty_lists
from policyd.export.mutating.overlays.json_patch import json_patch
from policyd.export.mutating.overlays.reading import ReadOverlay, Unsayable, read
from policyd.export.mutating.templates import with_template_paths, with_template_types
from policyd.export.policy_views import ExportSource, View
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import KindSchema
from policyd.policy.compile.expressions import Expressions
from policyd.policy.compile.overlays import KnownKinds, named_resources
from policyd.policy.model.expressions import HeldMutation, mutations_of

_FIELDS = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}
_IN_TEMPLATES = {"JSONPatch": with_template_paths, "ApplyConfiguration": with_template_types}


class MutationTranslator:
    """Translates the mutations of one Policy, for each of its views.

    ``schemas`` are of the kinds that its rules name; with ``podControllers``, controllers count as
    Pods.
    """

    def __init__(self, source: ExportSource, kinds: KnownKinds) -> None:
        spec, version = source.spec, source.version
        self._lenient = spec.failure_policy == "Ignore"
        self._version = version
        self._unknown: list[Reason] = []
        found: dict[object, KindSchema] = {}
        for path, _, resource, schemas in named_resources(source.policy, kinds):
            if schemas is None:
                text = "the kinds that the overlay has to fit are known only in requests"
                self._unknown.append(Reason(shown_path(path), text))
            elif not schemas:
                text = f"no schema of {resource} is known"
                self._unknown.append(Reason(shown_path(path), text))
            found |= {each.gvk: each for each in schemas or ()}
        self.schemas = tuple(found.values())
        self.mutations = list(mutations_of(source.document.raw))
        self.overlays: dict[int, ReadOverlay] = {}
        overlays = [each for each in self.mutations if each.kind.mutator is None]
        if overlays:
            given = spec.params is not None or spec.param_kind is not None
            expressions = Expressions(source.document, has_params=given, version=version)
            empty = empty_lists([each.expression for each in spec.match_conditions], version)
            for each in overlays:
                # Conditions hold until the first mutation.
                known = frozenset[tuple[str, ...]]() if each.index else empty
                self.overlays[each.index] = read(each.held, each.path, expressions, known)
            expressions.close()

    def translated(self, view: View, reasons: list[Reason]) -> list[JSONObject]:
        """Return the mutations for a view; what cannot be translated is added to ``reasons``."""
        found = []
        for each in self.mutations:
            if each.kind.mutator is None and self._unknown:
                reasons += self._unknown
                continue
            try:
                found.append(self._translated(each, view))
            except Unsayable as error:
                reasons.append(Reason(shown_path(error.path), f"has no exact form in CEL: {error}"))
            except Untranslatable as error:
                reasons.append(Reason(shown_path(each.path), f"cannot be rewritten: {error}"))
        return found

    def _translated(self, each: HeldMutation, view: View) -> JSONObject:
        if each.kind.mutator is None:
            overlay = self.overlays[each.index]
            patch_type, text = _translated_overlay(overlay, self.schemas, self._lenient)
        else:
            patch_type, text = each.kind.patch_type, each.held["expression"]
        if view.template is not None:
            text = _IN_TEMPLATES[patch_type](text, view.template, self._version)
        return {
            "patchType": patch_type,
            _FIELDS[patch_type]: {"expression": view.expression(text)},
        }


def _translated_overlay(
    overlay: ReadOverlay, schemas: Sequence[KindSchema], lenient: bool
) -> tuple[str, str]:
    """Return the patchType and the expression that is exact for objects of all these kinds, the
    more readable of two. Raises Unsayable.
    """
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
