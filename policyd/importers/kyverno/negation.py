"""The opposite of an expression, as a person would write it."""

from collections.abc import Iterator

_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_QUOTES = "'\""


def negation(expression: str) -> str:
    """Return an expression that is true exactly if this one is false; both have the same errors.

    >>> negation("a == b || !c")
    'a != b && c'
    >>> negation("a in b || c.exists(d, d == 1)")
    '!(a in b) && !c.exists(d, d == 1)'
    """
    text = expression.strip()
    if text in ("true", "false"):
        return "false" if text == "true" else "true"
    if len(_split(text, "?")) > 1:
        return f"!({text})"
    for operator, opposite in (("||", " && "), ("&&", " || ")):
        parts = _split(text, operator)
        if len(parts) > 1:
            return opposite.join(_bracketed(negation(part), opposite) for part in parts)
    return _simple(text)


def bracketed(expression: str) -> str:
    """Return an expression that can stand beside ``||``."""
    alone = len(_split(expression, "?")) == 1
    return expression if alone else f"({expression})"


def tidied(expression: str) -> str:
    """Return the same expression with negations as far inside as they go.

    >>> tidied("!(a == 'b')")
    "a != 'b'"
    """
    return negation(negation(expression))


def is_operand(text: str) -> bool:
    """Return whether an expression has no operators outside of brackets and strings.

    >>> is_operand("object.?rules.orValue([])"), is_operand("a + b")
    (True, False)
    """
    outside = "".join(char for char, depth in _scan(text) if depth == 0)
    return not any(char in outside for char in " !<>=|&+-/%")


def _simple(text: str) -> str:
    bare = _unwrapped(text)
    if bare is not None:
        return negation(bare)
    if text.startswith("!") and is_operand(text[1:]):
        return _unwrapped(text[1:]) or text[1:]
    for operator, opposite in _OPPOSITES.items():
        parts = _split(text, f" {operator} ")
        if len(parts) == 2:
            return f"{parts[0].strip()} {opposite} {parts[1].strip()}"
    return f"!{text}" if is_operand(text) else f"!({text})"


def _bracketed(text: str, operator: str) -> str:
    other = "||" if "&&" in operator else "&&"
    return f"({text})" if len(_split(text, other)) > 1 or len(_split(text, "?")) > 1 else text


def _unwrapped(text: str) -> str | None:
    """Return what a pair of brackets around the whole expression contains."""
    if not text.startswith("(") or not text.endswith(")"):
        return None
    depths = [depth for _, depth in _scan(text)]
    return text[1:-1] if min(depths) > 0 else None


def _split(text: str, operator: str) -> list[str]:
    """Split at an operator that is not in brackets or strings."""
    depths = [depth for _, depth in _scan(text)]
    parts, start, at = [], 0, 0
    while at < len(text):
        if depths[at] == 0 and text.startswith(operator, at):
            # a.?b and [?b] select: only a question mark between blanks chooses
            if operator == "?" and text[at - 1 : at + 2] != " ? ":
                at += 1
                continue
            parts.append(text[start:at])
            start = at = at + len(operator)
        else:
            at += 1
    return [each.strip() for each in (*parts, text[start:])]


def _scan(text: str) -> Iterator[tuple[str, int]]:
    """Yield each character with the number of brackets around it, a string counting as one."""
    depth, quote, escaped = 0, "", False
    for char in text:
        if quote:
            yield char, depth + 1
            if not escaped and char == quote:
                quote = ""
            escaped = char == "\\" and not escaped
        elif char in _QUOTES:
            quote = char
            yield char, depth + 1
        elif char in "([{":
            depth += 1
            yield char, depth
        elif char in ")]}":
            yield char, depth
            depth -= 1
        else:
            yield char, depth
