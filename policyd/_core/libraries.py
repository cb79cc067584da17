"""Every CEL library that expressions may use, in one visible table. A new library is one line here."""

from policyd._core.lib import (
    arithmetic,
    conversions,
    optionals,
    regex,
    relations,
    special_forms,
    string_format,
    strings,
    text,
    time_arithmetic,
    timestamps,
)
from policyd._core.library import Library

KNOWN_LIBRARIES: tuple[Library, ...] = (
    special_forms.LIBRARY,
    arithmetic.LIBRARY,
    relations.LIBRARY,
    conversions.LIBRARY,
    text.LIBRARY,
    regex.LIBRARY,
    strings.LIBRARY,
    string_format.LIBRARY,
    timestamps.LIBRARY,
    time_arithmetic.LIBRARY,
    optionals.LIBRARY,
)
