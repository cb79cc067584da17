"""The order in which cel-go tries the overloads of a function. It is visible if the type of an
operand is unknown: ``{}['a'] + x`` takes the first that fits.

Functions that are not listed are tried in the order of their library's table.
"""

from collections.abc import Iterable

from policyd.cel.types.declarations import OverloadDecl

_ORDERED = (
    "bool", "int64", "int64_double", "int64_uint64", "uint64", "uint64_double", "uint64_int64",
    "double", "double_int64", "double_uint64", "string", "bytes", "timestamp", "duration",
)  # fmt: skip
_NUMBERS = ("double", "int64", "uint64")
_IDS = (
    *(f"{name}_{kind}" for name in ("negate", "multiply", "divide") for kind in _NUMBERS),
    "add_bytes", "add_double", "add_duration_duration", "add_duration_timestamp",
    "add_timestamp_duration", "add_int64", "add_list", "add_string", "add_uint64",
    "subtract_double", "subtract_duration_duration", "subtract_int64",
    "subtract_timestamp_duration", "subtract_timestamp_timestamp", "subtract_uint64",
    *(
        f"{name}_{kind}"
        for name in ("less", "less_equals", "greater", "greater_equals")
        for kind in _ORDERED
    ),
    "list_a_index_of_int", "string_index_of_string", "string_index_of_string_int",
    "list_a_last_index_of_int", "string_last_index_of_string", "string_last_index_of_string_int",
    "int64_to_int64", "double_to_int64", "duration_to_int64", "string_to_int64",
    "timestamp_to_int64", "uint64_to_int64", "string_to_ip", "cidr_ip",
    "string_to_string", "bool_to_string", "bytes_to_string", "double_to_string",
    "duration_to_string", "int64_to_string", "timestamp_to_string", "uint64_to_string",
    "ip_to_string", "cidr_to_string",
)  # fmt: skip
_RANK = {overload: rank for rank, overload in enumerate(_IDS)}


def in_order(overloads: Iterable[OverloadDecl]) -> list[OverloadDecl]:
    """Return the overloads, those of one function in the order in which they are tried."""
    return sorted(overloads, key=lambda overload: _RANK.get(overload.id, len(_RANK)))
