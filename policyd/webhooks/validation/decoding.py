"""Decodes a webhook configuration like the API server with fieldValidation Strict: fields of a
wrong type and unknown fields are errors; then adds defaults. Checks no values.
"""

from typing import Any, NamedTuple

from policyd._core.schema.decode import DecodeError
from policyd._core.schema.decode import decode as go_decode
from policyd._core.schema.types import Field
from policyd.defaulting.defaults import Defaults
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.webhooks.configuration_paths import API_VERSION, MUTATING, VALIDATING
from policyd.webhooks.validation.field_problems import FieldProblem

_STRICT = "strict decoding error: "


class Decoded(NamedTuple):
    """The configuration as Go prints it, without unknown fields, and why it is refused.

    ``readable``: the only errors, if any, are unknown fields.
    """

    configuration: JSONObject
    problem: FieldProblem | None
    readable: bool = True


def decode(configuration: JSONObject) -> Decoded:
    """Decode a configuration. Raises ConfigError for an object of another kind."""
    kind, version = configuration.get("kind"), configuration.get("apiVersion")
    if kind not in (VALIDATING, MUTATING) or version != API_VERSION:
        raise ConfigError(
            f"expected a {VALIDATING} or {MUTATING} of {API_VERSION}, got {kind} of {version}"
        )
    group, _, name = API_VERSION.partition("/")
    schema = Schemas.builtin().lookup(group, name, str(kind))
    assert schema is not None
    try:
        return Decoded(_decoded(configuration, schema.root), None)
    except DecodeError as error:
        text = f'{kind} in version "v1" cannot be handled as a {kind}: {error}'
        problem = FieldProblem("", "BadRequest", text)
        if not str(error).startswith(_STRICT):
            return Decoded({}, problem, readable=False)
    return Decoded(_decoded(_known(configuration, schema.root), schema.root), problem)


def _decoded(configuration: JSONObject, root: Field) -> JSONObject:
    found: JSONObject = go_decode(configuration, {}, root, sent=True)  # type: ignore[assignment]
    return found


def _known(value: Any, field: Field) -> Any:
    """Return a value without unknown fields."""
    fields, item = field.type.fields, field.type.item
    if isinstance(value, dict) and fields:
        return {name: _known(each, fields[name]) for name, each in value.items() if name in fields}
    if isinstance(value, list) and item is not None:
        return [_known(each, item) for each in value]
    return value


def with_defaults(configuration: JSONObject) -> JSONObject:
    """Return a configuration as the API server stores it: with defaults, without nulls, empty lists
    and unknown fields. Raises ConfigError if a field has a wrong type.
    """
    decoded = decode(configuration)
    if decoded.problem is not None and not decoded.readable:
        raise ConfigError(str(decoded.problem))
    return defaulted(decoded.configuration)


def defaulted(configuration: JSONObject) -> JSONObject:
    """Add the defaults to a decoded configuration."""
    found: JSONObject = Defaults(Schemas.builtin()).applied(configuration)
    return found
