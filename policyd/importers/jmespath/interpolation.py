"""Strings with `{{ }}` as CEL (kyverno/kyverno pkg/engine/variables/vars.go)."""

import jmespath.exceptions
import jmespath.parser

from policyd.importers.jmespath.functions.scalars import joined
from policyd.importers.jmespath.reading import constant, read
from policyd.importers.jmespath.terms import CelTerm
from policyd.importers.jmespath.vocabulary import Vocabulary, mark, name_of, value_of
from policyd.json_types import JSON, keys_in, strings_in


def has_variables(value: JSON) -> bool:
    """Return whether any string of a JSON value, keys of maps included, has a `{{ }}`."""
    texts = (*strings_in(value), *keys_in(value))
    return any(not isinstance(each, str) for text in texts for each in pieces(text))


def term_of(text: str, scope: Vocabulary) -> CelTerm:
    """Return the value of a string: of any kind if the whole of it is one `{{ }}`, else a string.

    Raises NotTranslatable.
    """
    parts = [each if isinstance(each, str) else queried(each[0], scope) for each in pieces(text)]
    if len(parts) == 1 and not isinstance(parts[0], str):
        return parts[0]
    if all(isinstance(each, str) for each in parts):
        return constant("".join(each for each in parts if isinstance(each, str)))
    return joined(parts)


def interpolated(text: str, scope: Vocabulary) -> str:
    """Return CEL of a string that may hold `{{ }}`: the value itself if the whole of it is one. A
    value that is missing is an error of CEL.

    Raises NotTranslatable.
    """
    return term_of(text, scope).text()


def queried(expression: str, scope: Vocabulary, current: CelTerm | None = None) -> CelTerm:
    """Return the value of an expression that may hold `{{ }}`, evaluated on ``current`` if there is
    one.

    Raises NotTranslatable.
    """
    inner: dict[str, CelTerm] = {}
    text = ""
    for piece in pieces(expression):
        if isinstance(piece, str):
            text += piece
        else:
            number = len(inner)
            inner[name_of(number)] = queried(piece[0], scope)
            text += mark(number) if _quote_of(text) else name_of(number)
    for number, value in enumerate([*inner.values()]):
        # Between ` ` it is JSON: the value itself.
        text = text.replace(f"`{mark(number)}`", value_of(number))
        inner[value_of(number)] = value
    return read(text.strip(), scope, inner, current)


def is_lenient(expression: str) -> bool:
    """Return whether an expression is null, rather than an error, where a field that it reads is
    missing.
    """
    text = "".join(each if isinstance(each, str) else "0" for each in pieces(expression))
    try:
        tree = jmespath.parser.Parser().parse(text).parsed
    except (jmespath.exceptions.JMESPathError, ValueError, TypeError):
        return False  # whatever stands for a variable is none
    return tree["type"] in ("pipe", "or_expression")


def _quote_of(text: str) -> str:
    # The quote that is open at the end of a text: ' " or `.
    quote, at = "", 0
    while at < len(text):
        if text[at] == "\\" and quote:
            at += 1
        elif quote and text[at] == quote:
            quote = ""
        elif not quote and text[at] in "'\"`":
            quote = text[at]
        at += 1
    return quote


def pieces(text: str) -> list[str | tuple[str]]:
    """Return what is written, and in a tuple what is between `{{` and `}}`; a backslash before `{{`
    makes it plain text.
    """
    parts: list[str | tuple[str]] = []
    plain, at = "", 0
    while (found := text.find("{{", at)) >= 0:
        end = _end_of(text, found)
        if end < 0:
            break
        if found and text[found - 1] == "\\":
            plain += text[at : found - 1] + text[found:end]
        else:
            plain += text[at:found]
            parts += [plain] if plain else []
            parts.append((text[found + 2 : end - 2],))
            plain = ""
        at = end
    plain += text[at:]
    return [*parts, plain] if plain else parts


def split_outside(text: str, separator: str) -> list[str]:
    """Split a text where the separator is not in a `{{ }}`."""
    parts = [""]
    for piece in pieces(text):
        if isinstance(piece, str):
            first, *more = piece.split(separator)
            parts = [*parts[:-1], parts[-1] + first, *more]
        else:
            parts[-1] += f"{{{{{piece[0]}}}}}"
    return parts


def _end_of(text: str, start: int) -> int:
    # The end of the {{ }} that starts here, -1 if it has none.
    open_braces: list[str] = []
    at = start
    while at < len(text):
        if text.startswith("{{", at) and not text.startswith("{{{", at):
            open_braces.append("}}")
            at += 2
        elif text[at] == "{":
            open_braces.append("}")
            at += 1
        elif open_braces and text.startswith(open_braces[-1], at):
            at += len(open_braces.pop())
            if not open_braces:
                return at
        else:
            at += 1
    return -1
