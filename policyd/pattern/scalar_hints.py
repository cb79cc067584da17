"""Replacements for YAML scalars of the wrong type. Reads no documents."""

UNQUOTED = "YAML reads this as a boolean or number: put it in quotes"
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "y"), "true"),
    **dict.fromkeys(("false", "no", "off", "n"), "false"),
}


def unquoted_hint(value: object, *, number: bool) -> str:
    """Return a replacement for a string where a boolean or a number is expected; empty if nothing
    is close.
    """
    if not isinstance(value, str):
        return ""
    if not number:
        instead = _BOOLEANS.get(value.strip().lower(), "")
        return f"write {instead}, without quotes" if instead else "write true or false"
    unit = next((each for each in ("%", "s") if value.strip().endswith(each)), "")
    text = value.strip().removesuffix(unit).rstrip()
    if not text.lstrip("-").replace(".", "", 1).isdigit():
        return "write a number, without unit and quotes"
    return f"write {text}, without {f'{unit} and ' if unit else ''}quotes"
