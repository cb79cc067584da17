"""Decode a webhook configuration as the API server does with fieldValidation Strict: fields of a
wrong type and unknown fields are its errors; then its defaults are added. Checks no values.
"""

from base64 import b64decode, b64encode
from copy import deepcopy
from typing import NamedTuple

from policyd.errors import ConfigError
from policyd.json_types import JSON, JSONObject
from policyd.mutation.schemas.go_times import seconds_text
from policyd.webhooks.configuration_paths import API_VERSION
from policyd.webhooks.validation.field_problems import FieldProblem
from policyd.webhooks.validation.go_types import (
    CONFIGURATIONS,
    MUTATING,
    GoType,
    Items,
    Scalar,
    Struct,
)

_INTEGERS = {"int32": 2**31, "int64": 2**63}
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BYTES = range(256)
_ABSENT = object()


class Decoded(NamedTuple):
    """The configuration without nulls, empty lists and unknown fields, and why it is refused.

    ``readable``: only for unknown fields, if at all.
    """

    configuration: JSONObject
    problem: FieldProblem | None
    readable: bool = True


def decode(configuration: JSONObject) -> Decoded:
    """Decode a configuration. Raises ConfigError for an object of another kind."""
    kind, version = configuration.get("kind"), configuration.get("apiVersion")
    struct = CONFIGURATIONS.get(kind) if isinstance(kind, str) else None
    if struct is None or version != API_VERSION:
        raise ConfigError(
            f"expected a {' or '.join(CONFIGURATIONS)} of {API_VERSION}, got {kind} of {version}"
        )
    decoder = _Decoder()
    found = decoder.struct(struct, configuration, _Place(struct.name, "", ""))
    if decoder.wrong:
        return Decoded(found, _unreadable(kind, decoder.wrong), readable=False)
    if decoder.unknown:
        listed = ", ".join(f'unknown field "{each}"' for each in decoder.unknown)
        return Decoded(found, _unreadable(kind, f"strict decoding error: {listed}"))
    return Decoded(found, None)


def _unreadable(kind: JSON, text: str) -> FieldProblem:
    message = f'{kind} in version "v1" cannot be handled as a {kind}: {text}'
    return FieldProblem("", "BadRequest", message)


class _Place(NamedTuple):
    """Where a value is: the struct that has the field, the path of Go's names, the path in JSON."""

    struct: str
    names: str
    path: str

    def field(self, struct: Struct, name: str) -> "_Place":
        outer = struct.embedded.get(name)
        names = ".".join(filter(None, (self.names, outer, name)))
        return _Place(struct.name, names, f"{self.path}.{name}" if self.path else name)


class _Decoder:
    """Collects the unknown fields, and the first value of a wrong type."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.wrong = ""

    def struct(self, struct: Struct, value: JSONObject, at: _Place) -> JSONObject:
        """Decode an object. The order of its fields is the order of the problems."""
        found: JSONObject = {}
        for name, inner in value.items():
            here = at.field(struct, name)
            go = struct.fields.get(name)
            if go is None:
                self.unknown.append(here.path)
                continue
            decoded = self._value(go, inner, here)
            empty = isinstance(decoded, list | dict) and not decoded
            if decoded is not _ABSENT and not (empty and name not in struct.kept):
                found[name] = decoded
        return found

    def _value(self, go: GoType, value: JSON, at: _Place) -> JSON:
        if value is None:
            return _ABSENT
        if isinstance(go, Scalar):
            return self._scalar(go, value, at)
        if isinstance(go, Struct):
            if isinstance(value, dict):
                return self.struct(go, value, at)
        elif isinstance(value, list):
            return [self._item(go, each, at, index) for index, each in enumerate(value)]
        return self._mismatch(go.go, value, at)

    def _item(self, go: Items, value: JSON, at: _Place, index: int) -> JSON:
        found = self._value(go.item, value, at._replace(path=f"{at.path}[{index}]"))
        zero: JSON = {} if isinstance(go.item, Struct) else ""
        return zero if found is _ABSENT else found

    def _scalar(self, go: Scalar, value: JSON, at: _Place) -> JSON:
        if go.json == "anything":
            return value
        if go.json == "labels":
            return self._labels(go, value, at)
        if go.json == "bytes":
            return self._bytes(go, value, at)
        if go.json == "bool":
            fits = isinstance(value, bool)
        elif go.json in _INTEGERS:
            return self._integer(go, value, at)
        else:
            fits = isinstance(value, str)
        if not fits:
            if go.json == "time":
                self._fail(f"json: cannot unmarshal {_named(value)} into Go value of type {go.go}")
                return _ABSENT
            return self._mismatch(go.go, value, at)
        if go.json == "time":
            self._time(value)
        return value

    def _labels(self, go: Scalar, value: JSON, at: _Place) -> JSON:
        if not isinstance(value, dict):
            return self._mismatch(go.go, value, at)
        found = {}
        for name, text in value.items():
            if text is None or isinstance(text, str):
                found[name] = text or ""
            else:
                self._mismatch("string", text, at)
        return found

    def _integer(self, go: Scalar, value: JSON, at: _Place) -> JSON:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self._mismatch(go.go, value, at)
        limit = _INTEGERS[go.json]
        if isinstance(value, float) or not -limit <= value < limit:
            return self._mismatch(go.go, value, at, f"number {value}")
        return value

    def _bytes(self, go: Scalar, value: JSON, at: _Place) -> JSON:
        """Decode base64, or a list of bytes, and return it as Go prints it."""
        if isinstance(value, list):
            wrong = [each for each in value if each not in _BYTES or isinstance(each, bool | float)]
            if wrong:
                number = f"number {wrong[0]}" if type(wrong[0]) in (int, float) else ""
                return self._mismatch("uint8", wrong[0], at, number)
            data = bytes(value)
        elif isinstance(value, str):
            offset = base64_error(value.encode())
            if offset is not None:
                self._fail(f"illegal base64 data at input byte {offset}")
                return _ABSENT
            data = b64decode(value)
        else:
            return self._mismatch(go.go, value, at)
        return b64encode(data).decode() if data else _ABSENT

    def _time(self, value: str) -> None:
        try:
            seconds_text(value)
        except ValueError as error:
            self._fail(str(error))

    def _mismatch(self, go: str, value: JSON, at: _Place, named: str = "") -> JSON:
        self._fail(
            f"json: cannot unmarshal {named or _named(value)} into Go struct field "
            f"{at.struct}.{at.names} of type {go}"
        )
        return _ABSENT

    def _fail(self, text: str) -> None:
        self.wrong = self.wrong or text


def _named(value: JSON) -> str:
    """Return what Go calls a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def base64_error(data: bytes) -> int | None:
    """Return the offset at which Go's base64.StdEncoding reports corrupt input, or None."""
    count = 0  # characters of the present four
    for index, char in enumerate(data):
        if char in _BASE64:
            count = (count + 1) % 4
        elif char == ord("="):
            return _padding_error(data, index, count)
        elif char not in b"\r\n":
            return index
    return len(data) - count if count else None


def _padding_error(data: bytes, index: int, count: int) -> int | None:
    """Return the offset of what is wrong with the first "=" or after it."""
    if count < 2:
        return index
    after = _past_newlines(data, index + 1)
    if count == 2:
        if after == len(data):
            return after
        if data[after] != ord("="):
            return after - 1
        after = _past_newlines(data, after + 1)
    return None if after == len(data) else after


def _past_newlines(data: bytes, index: int) -> int:
    while index < len(data) and data[index] in b"\r\n":
        index += 1
    return index


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
    result = deepcopy(configuration)
    for webhook in result.get("webhooks", ()):
        webhook.setdefault("clientConfig", {})
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        if result["kind"] == MUTATING:
            webhook.setdefault("reinvocationPolicy", "Never")
        for rule in webhook.get("rules", ()):
            rule.setdefault("scope", "*")
        if "service" in webhook["clientConfig"]:
            webhook["clientConfig"]["service"].setdefault("port", 443)
    return result
