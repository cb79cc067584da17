"""Every CEL library that expressions may use, in one visible table. A new library
is one line here.
"""

from policyd._core.eval.functions import Library
from policyd._core.lib import (
    arithmetic,
    authz,
    cidr,
    conversions,
    format,
    ip,
    jsonpatch,
    list_extensions,
    lists,
    optionals,
    quantity,
    regex,
    relations,
    semver,
    sets,
    special_forms,
    string_format,
    string_tests,
    strings,
    time_arithmetic,
    timestamps,
    url,
)

KNOWN_LIBRARIES: tuple[Library, ...] = (
    special_forms.LIBRARY,
    arithmetic.LIBRARY,
    relations.LIBRARY,
    conversions.LIBRARY,
    string_tests.LIBRARY,
    regex.LIBRARY,
    strings.LIBRARY,
    string_format.LIBRARY,
    timestamps.LIBRARY,
    time_arithmetic.LIBRARY,
    optionals.LIBRARY,
    lists.LIBRARY,
    list_extensions.LIBRARY,
    sets.LIBRARY,
    quantity.LIBRARY,
    cidr.LIBRARY,
    ip.LIBRARY,
    semver.LIBRARY,
    url.LIBRARY,
    format.LIBRARY,
    authz.LIBRARY,
    jsonpatch.LIBRARY,
)
