"""The mutation kind JSONPatch: a list of ``JSONPatch{op, path, from, value}``, applied in order."""

from policyd._core.json.encoded_size import MAX_PATCH_BYTES, TOO_LARGE, json_bytes
from policyd._core.patch.json_patch import ABSENT, PatchOperation, apply
from policyd._core.values.mutation_json import ConversionError, json_value
from policyd._core.values.types import StructValue
from policyd.cel.types.types import JSON_PATCH, list_of
from policyd.errors import MutationError
from policyd.json_types import JSONObject
from policyd.mutation.decoding import decoded
from policyd.mutation.kind import MutationKind
from policyd.mutation.schemas.schemas import Target


class JSONPatch:
    """See ``mutation.kind.Mutator``. All values are converted before the first is applied."""

    def apply(
        self,
        value: object,
        obj: JSONObject,
        target: Target,
        sources: tuple[object, ...] | None = None,
    ) -> JSONObject:
        if not isinstance(value, list):
            raise MutationError("type mismatch: JSONPatchType.expression should evaluate to array")
        if json_bytes(value, MAX_PATCH_BYTES) > MAX_PATCH_BYTES:
            raise MutationError(f"JSON Patch: the expression makes {TOO_LARGE}")
        operations = [operation(item, sources) for item in value]
        after = apply(operations, obj)
        return (
            obj
            if after is obj
            else decoded(after, obj, target, [each.value for each in operations])
        )


def operation(item: object, sources: tuple[object, ...] | None) -> PatchOperation:
    if not isinstance(item, StructValue):
        raise MutationError(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch"
        )
    fields = item.fields
    value = fields.get("value", ABSENT)
    if value is not ABSENT:
        try:
            value = json_value(value, sources)
        except ConversionError as error:
            raise MutationError(str(error)) from None
    op, path, source = fields.get("op", ""), fields.get("path", ""), fields.get("from", "")
    return PatchOperation(op, path, source, value)


KIND = MutationKind(
    "JSONPatch",
    field="jsonPatch",
    about="CEL that returns a list of JSONPatch{…}.",
    results=(list_of(JSON_PATCH),),
    mutator=JSONPatch(),
    kubernetes=True,
)
