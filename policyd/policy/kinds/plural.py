"""The resource name of a kind, derived from the kind's name alone."""


def plural(kind: str) -> str:
    """Return the resource name of a kind by the rules that hold for every built-in kind."""
    lower = kind.lower()
    if lower.endswith("endpoints"):
        return lower
    if lower.endswith(("s", "x", "ch", "sh")):
        return lower + "es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return lower[:-1] + "ies"
    return lower + "s" if lower else ""
