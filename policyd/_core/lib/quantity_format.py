"""Formats quantities as Kubernetes does: ``1536Mi``, ``100m``, ``1e21``."""

from decimal import Decimal

DECIMAL, BINARY, EXPONENT = "decimal", "binary", "exponent"
_DECIMAL_SUFFIXES = {
    -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E",
}  # fmt: skip
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def canonical(number: int, scale: int, notation: str) -> str:
    """``number * 10**scale`` with the largest suffix that leaves a whole number.

    A number beyond the suffixes is printed without a suffix, as in Kubernetes.
    """
    if number == 0:
        return "0"
    if notation == BINARY and _is_whole(number, scale) and _reaches(number, scale, 1024):
        return _binary(number * 10**scale if scale > 0 else number // 10**-scale)
    digits = str(Decimal(number))  # Python rejects str() of an int with more than 4,300 digits
    zeros = len(digits) - len(digits.rstrip("0"))
    exponent = scale + zeros
    kept = digits[: len(digits) - zeros] + "0" * (exponent % 3)
    exponent -= exponent % 3
    if notation == EXPONENT:
        return f"{kept}e{exponent}" if exponent else kept
    return kept + _DECIMAL_SUFFIXES.get(exponent, "")


def _is_whole(number: int, scale: int) -> bool:
    return scale >= 0 or bool(number % 10**-scale == 0)


def _reaches(number: int, scale: int, limit: int) -> bool:
    return bool(abs(number) * 10 ** max(scale, 0) >= limit * 10 ** max(-scale, 0))


def _binary(number: int) -> str:
    power = ((number & -number).bit_length() - 1) // 10 if number else 0
    suffix = _BINARY_SUFFIXES[power] if power < len(_BINARY_SUFFIXES) else ""
    return str(Decimal(number >> 10 * power)) + suffix
