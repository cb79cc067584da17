"""Values with their own decoder in Go: quantities, times, int-or-string, bytes.

Each function takes a JSON value (or null) and returns it as Go would print it again. It raises
``ValueError`` with the message of Go's decoder, or ``TypeError`` where Go's generic message for a
wrong type applies; its argument is the expected Go type, if that is not the field's.
"""

import base64
from collections.abc import Callable
from string import ascii_letters, digits

from policyd._core.lib.quantity import canonical_quantity
from policyd._core.schema.decode import Base64Error
from policyd.mutation.schemas import go_times

LeafConverter = Callable[[object], object]

BASE64 = f"{ascii_letters}{digits}+/\r\n"


def quantity(value: object) -> object:
    """``resource.Quantity``: the canonical string of the API server (``1024Mi``: ``1Gi``)."""
    if value is None:
        return "0"
    text = value if isinstance(value, str) else json_text(value)
    return canonical_quantity(text.strip())


def json_text(value: object) -> str:
    """Return a non-string value as JSON; later steps accept only numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "?"
    return repr(value)


def int_or_string(value: object) -> object:
    """``intstr.IntOrString``: a string, or a 32-bit integer."""
    if value is None:
        return 0
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31:
        return value
    raise TypeError("int32")


def octets(value: object) -> object:
    """``[]byte``: base64; line breaks are ignored."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError
    plain = value.replace("\n", "").replace("\r", "")
    if len(plain) % 4 == 0 and not plain.endswith("==="):
        try:
            return base64.b64encode(base64.b64decode(plain, validate=True)).decode()
        except ValueError:
            pass  # the offset is found below
    raise Base64Error(f"illegal base64 data at input byte {corrupt_at(value)}")


def corrupt_at(text: str) -> int:
    """Return the byte offset that Go reports for invalid base64."""
    at = len(text) - len(text.lstrip(BASE64))
    breaks = text.count("\n", 0, at) + text.count("\r", 0, at)
    group = (at - breaks) % 4  # characters of the incomplete group
    if at == len(text):
        return at - group
    if text[at] != "=" or group < 2:
        return at
    after = after_breaks(text, at + 1)
    if group == 2:
        if after == len(text):
            return after
        if text[after] != "=":
            return after - 1
        after = after_breaks(text, after + 1)
    return after


def after_breaks(text: str, at: int) -> int:
    """Return the offset of the first character from ``at`` on that is not a line break."""
    return len(text) - len(text[at:].lstrip("\r\n"))


def time(value: object) -> object:
    """``metav1.Time``: RFC 3339, printed in UTC without fractions of a second."""
    return None if value is None else go_times.seconds_text(text_of(value))


def micro_time(value: object) -> object:
    """``metav1.MicroTime``: RFC 3339 in UTC with six fractional digits of the second."""
    return None if value is None else go_times.micros_text(text_of(value))


def text_of(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("string")
    return value


# By Go type. Types with their own decoder that are not listed accept any JSON.
LEAVES: dict[str, LeafConverter] = {
    "resource.Quantity": quantity,
    "intstr.IntOrString": int_or_string,
    "[]uint8": octets,
    "v1.Time": time,
    "v1.MicroTime": micro_time,
}
