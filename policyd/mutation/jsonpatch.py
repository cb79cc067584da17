"""The mutation kind JSONPatch: a list of ``JSONPatch{op, path, from, value}``, applied in order."""

from policyd._core.patch.json_patch import apply, operations_of
from policyd._core.plan.mutators import DirectPatch
from policyd._core.values.read_trees import ReadTrees
from policyd.cel.types.types import JSON_PATCH, list_of
from policyd.errors import MutationError
from policyd.json_types import JSONObject
from policyd.mutation.decoding import decoded
from policyd.mutation.empty_lists import printed
from policyd.mutation.kind import MutationKind
from policyd.mutation.schemas.schemas import Target


class JSONPatch:
    """See ``mutation.kind.Mutator``. All values are converted before the first is applied."""

    direct = DirectPatch()

    def apply(
        self,
        value: object,
        obj: JSONObject,
        target: Target,
        sources: ReadTrees | None = None,
    ) -> JSONObject:
        if not isinstance(value, list):
            raise MutationError("type mismatch: JSONPatchType.expression should evaluate to array")
        operations, given = operations_of(value, sources)
        before = obj if target.native is not None else printed(obj)
        after = apply(operations, before)
        return obj if after is before else decoded(after, before, target, given)


KIND = MutationKind(
    "JSONPatch",
    field="jsonPatch",
    about="CEL that returns a list of JSONPatch{…}.",
    results=(list_of(JSON_PATCH),),
    mutator=JSONPatch(),
    kubernetes=True,
)
