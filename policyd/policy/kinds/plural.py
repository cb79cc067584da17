"""The resource of a kind, where nothing but its name is known."""


def plural(kind: str) -> str:
    """The resource of a kind by the rules that hold for every built-in kind."""
    lower = kind.lower()
    if lower.endswith("endpoints"):
        return lower
    if lower.endswith(("s", "x", "ch", "sh")):
        return lower + "es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return lower[:-1] + "ies"
    return lower + "s" if lower else ""
