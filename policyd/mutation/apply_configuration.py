"""The mutation kind ApplyConfiguration: ``Object{...}`` merged like server-side apply."""

from policyd._core.json.sizes import MAX_PATCH_BYTES, TOO_LARGE, value_bytes
from policyd._core.plan.mutators import DirectConfiguration
from policyd._core.schema.list_items import MergeError
from policyd._core.schema.merge import merge
from policyd._core.schema.problems import atomics, flawless, live_problems, problems
from policyd._core.schema.types import SchemaType
from policyd._core.values.mutation_json import ConversionError, object_value
from policyd._core.values.read_trees import ReadTrees
from policyd._core.values.types import StructValue
from policyd.cel.types.types import OBJECT
from policyd.errors import MutationError, StatusError
from policyd.json_types import JSONObject
from policyd.mutation.decoding import converted
from policyd.mutation.kind import MutationKind
from policyd.mutation.schemas.schemas import KindSchema, Target

NOT_TYPED = "error applying patch: failed to convert patch object to typed object: "
ATOMIC = (
    "error applying patch: invalid ApplyConfiguration: "
    "may not mutate atomic arrays, maps or structs: "
)
UNFIT = "error applying patch: failed to convert original object to typed object: "
NOT_MERGED = "error applying patch: failed to merge patch: "


class ApplyConfiguration:
    """See ``policyd.mutation.kind.Mutator``."""

    direct = DirectConfiguration()

    def apply(
        self,
        value: object,
        obj: JSONObject,
        target: Target,
        sources: ReadTrees | None = None,
    ) -> JSONObject:
        if not isinstance(value, StructValue):
            raise MutationError(
                "type mismatch: ApplyConfiguration expression should evaluate to Object"
            )
        size = value_bytes(value, MAX_PATCH_BYTES)
        if size > MAX_PATCH_BYTES:
            raise MutationError(f"the expression makes {TOO_LARGE}")
        try:
            patch = object_value(value, sources, size)
        except ConversionError as error:
            raise MutationError(str(error)) from None
        # The patch always has the object's kind, whatever it says.
        patch.pop("apiVersion", None)
        patch.pop("kind", None)
        merged = merged_object(obj, patch, mergeable(target))
        return obj if merged is obj else converted(merged, obj, target)


def mergeable(target: Target) -> KindSchema:
    """Return the schema, or raise the API server's error: subresource kinds have no schema."""
    schema, gvk = target.schema, target.gvk
    if schema is not None and schema.mergeable:
        return schema
    if target.schemas.serves(gvk.group, gvk.version):
        raise MutationError(f"{NOT_TYPED}no corresponding type for {gvk}")
    raise StatusError(
        503,
        "ServiceUnavailable",
        f"Resource kind {gvk} not found. There can be a delay between when "
        "CustomResourceDefinitions are created and when they are available.",
    )


def merged_object(obj: JSONObject, patch: JSONObject, schema: KindSchema) -> JSONObject:
    """Merge the patch; return ``obj`` itself if nothing changes."""
    kind = schema.root.type
    if not flawless(patch, kind):
        check(patch, kind)
    if not schema.native:
        # Built-in kinds were decoded into their Go type; custom resources are validated later.
        wrong = live_problems(obj, kind)
        if wrong:
            raise MutationError(UNFIT + listed(wrong))
    try:
        merged: JSONObject = merge(obj, patch, kind)  # type: ignore[assignment]
    except MergeError as error:
        raise MutationError(NOT_MERGED + str(error)) from None
    return merged


def check(patch: JSONObject, kind: SchemaType) -> None:
    """Raise MutationError if the patch does not fit the kind, or contains an atomic value."""
    wrong = problems(patch, kind)
    if wrong:
        raise MutationError(NOT_TYPED + listed(wrong))
    untouchable = atomics(patch, kind)
    if untouchable:
        raise MutationError(ATOMIC + ", ".join(untouchable))


def listed(found: list[tuple[str, str]]) -> str:
    lines = [f"{path}: {message}" if path else message for path, message in found]
    return lines[0] if len(lines) == 1 else "errors:\n  " + "\n  ".join(lines)


KIND = MutationKind(
    "ApplyConfiguration",
    field="applyConfiguration",
    about="CEL that returns an Object{…}, merged as in server-side apply.",
    results=(OBJECT,),
    mutator=ApplyConfiguration(),
    kubernetes=True,
    merges=True,
)
