"""Decode a mutated object into its Go type and print it again, as the API server does.

Custom resources have no Go type and stay unchanged. Independent of the kind of mutation.
"""

from typing import Any

from policyd._core.schema.decode import DecodeError, decode
from policyd._core.schema.go_json import go_json
from policyd.errors import MutationError, StatusError
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Gvk, Target

KIND = ("apiVersion", "kind")
WORDS = {bool: "bool", int: "number", float: "number", list: "array"}
NO_KIND = "couldn't get version/kind; json parse error: json: cannot unmarshal "
NOT_A_STRUCT = (
    r'array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)


def decoded(
    patched: Any, before: JSONObject, target: Target, given: list[Any] | None = None
) -> JSONObject:
    """Return the patched object; StatusError 500 if it does not decode (conformance fact 53).

    Takes a missing apiVersion or kind from ``before``. A changed one is always an error, but errors
    of decoding the object as the new kind come first. ``given`` has the patch's values.
    """
    if not isinstance(patched, dict):
        raise undecodable(NO_KIND + NOT_A_STRUCT)
    after: JSONObject = patched
    if after.get("kind") != before.get("kind") or after.get("apiVersion") != before.get(
        "apiVersion"
    ):
        after = renamed(after, before, target)
    schema = target.native
    if schema is None:
        return after
    if "metadata" not in after and "metadata" in before:
        after = {**after, "metadata": {}}  # a struct is never absent
    try:
        result: JSONObject = decode(after, before, schema.root, given=given)  # type: ignore[assignment]
    except DecodeError as error:
        raise undecodable(str(error)) from None
    return result


def renamed(after: JSONObject, before: JSONObject, target: Target) -> JSONObject:
    """Restore the apiVersion and kind that a patch removed, if the Go type determines them;
    another kind is an error.
    """
    for word in KIND:
        if not isinstance(after.get(word), str | None):
            found = WORDS.get(type(after[word]), "object")
            raise undecodable(f"{NO_KIND}{found} into Go struct field .{word} of type string")
    if target.native is None and not after.get("kind"):
        raise undecodable(f"Object 'Kind' is missing in '{go_json(after)}'")
    version = after.get("apiVersion") or ""
    if version.count("/") > 1:
        raise undecodable(f"unexpected GroupVersion string: {version}")
    if target.native is None:
        refuse_conversion(version.rpartition("/"), after, before, target)
    named = {word: after.get(word) or before.get(word) for word in KIND}
    after = {**after, **{word: name for word, name in named.items() if name is not None}}
    if all(after.get(word) == before.get(word) for word in KIND):
        return after
    if target.native is not None:
        other = target.schemas.lookup(*Gvk.of_object(after))
        if other is None:
            raise undecodable(
                f'no kind "{after["kind"]}" is registered for version "{after["apiVersion"]}" '
                'in scheme "pkg/runtime/scheme.go:111"'
            )
        try:
            decode(after, {}, other.root, kept=before)
        except DecodeError as error:
            raise undecodable(str(error)) from None
    raise undecodable(f"the patch makes {claim(after)} of {claim(before)}")


def refuse_conversion(
    version: tuple[str, str, str], after: JSONObject, before: JSONObject, target: Target
) -> None:
    """Raise Kubernetes' error for a custom resource that cannot be converted back."""
    group, _, name = version
    claimed = Gvk(group, name, after["kind"])
    if group != target.gvk.group:
        raise undecodable(
            f"failed to convert object: {claimed} is unstructured and is not suitable for "
            f'converting to "{before.get("apiVersion")}"'
        )
    if target.schema is not None and not target.schemas.serves(group, name):
        raise undecodable(
            "failed to convert object: request to convert CR from an invalid group/version: "
            f"{after['apiVersion']}"
        )


def converted(after: JSONObject, before: JSONObject, target: Target) -> JSONObject:
    """Return the merged object; MutationError if a value does not fit its Go type (fact 62)."""
    schema = target.native
    if schema is None:
        return after
    try:
        result: JSONObject = decode(after, before, schema.root, convert=True)  # type: ignore[assignment]
    except DecodeError as error:
        raise MutationError(
            f"unable to convert unstructured object to {target.gvk}: {error}"
        ) from None
    return result


def undecodable(message: str) -> StatusError:
    return StatusError(500, "InternalError", message)


def claim(obj: JSONObject) -> str:
    return f"{obj.get('apiVersion')} {obj.get('kind')}"
