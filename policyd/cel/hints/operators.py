"""Syntax hints: operators and brackets of other languages."""

from policyd.cel.hints.stream import Mistake, MistakeRules, SourcePieces, replaced, short
from policyd.cel.syntax.lexer import EOF, JUNK

_COMPARE = "write == to compare"
_SLICE_PIECES = 20  # at most, of a slice
_SLICE = "write list.slice(1, 3) (Kubernetes 1.34), or string.substring(1, 3)"
_ONE_VALUE = "an expression is one value: combine conditions with &&, or write several validations"
# How the operators of CEL are called that begin no expression and end none.
_BINARY = frozenset(("&&", "||", "==", "!=", "<", "<=", ">", ">=", "+", "*", "/", "%", "in"))
_FOLDS = "write list.map(x, VALUE) with sum(), min(), max() or join(): CEL has no fold"
_METHODS = {"every": "all", "some": "exists", "any": "exists", "find": "filter", "forEach": "all"}
# What follows a | in templates and in jq.
_FILTERS = frozenset((
    "length", "size", "count", "default", "lower", "upper", "trim", "quote", "keys", "values",
    "first", "last", "join", "map", "select", "toString", "indent", "nindent", "split", "any",
))  # fmt: skip
# Characters that look like an operator or a quote: (what, instead).
_LOOKALIKES = {
    **dict.fromkeys("“”„‟«»〝〞＂", ("typographic quotes", "write \" or '")),
    **dict.fromkeys("‘’‚‛‹›＇´", ("typographic quotes", "write ' or \"")),
    **dict.fromkeys("–—−‐‑", ("a typographic dash", "write -")),
    "…": ("an ellipsis", "write the whole expression"),
    "≠": ("the sign ≠", "write !="),
    "≤": ("the sign ≤", "write <="),
    "≥": ("the sign ≥", "write >="),
    "∧": ("the sign ∧", "write &&"),
    "∨": ("the sign ∨", "write ||"),
    "¬": ("the sign ¬", "write !"),
    "×": ("the sign ×", "write *"),
    "÷": ("the sign ÷", "write /"),
    "∈": ("the sign ∈", "write in"),
    "→": ("an arrow", "write list.all(x, …), list.exists(x, …) or list.map(x, …)"),
}


def equals(s: SourcePieces, at: int) -> Mistake | None:
    pos = s[at].pos
    if s.are(at - 1, "==", "="):
        return replaced(s[at - 1].pos, "CEL has no operator ===", "===", "==")
    if s.are(at - 1, "!=", "="):
        return replaced(s[at - 1].pos, "CEL has no operator !==", "!==", "!=")
    if s.are(at, "=", ">"):
        return arrow(s, at)
    for sign, instead in (("<", "<="), ("!", "!=")):
        if s.are(at, "=", sign):
            return replaced(pos, f"CEL has no operator ={sign}", f"={sign}", instead)
    if s.are(at, "=", "~"):
        return Mistake(pos, "CEL has no operator =~", "write string.matches('PATTERN')")
    before = s.text(at - 1) if s.glued(at) else ""
    if before == "~":
        return None
    if before == ":":
        what = "CEL cannot assign with :="
        return Mistake(s[at - 1].pos, what, f"{_COMPARE}, or declare it under variables")
    if before in ("+", "-", "*", "/"):
        return Mistake(s[at - 1].pos, f"CEL cannot assign with {before}=", _COMPARE)
    if s[at - 1].kind == "IDENTIFIER" and _in_struct(s, at - 2):
        return Mistake(pos, "an expression cannot contain '='", f"write {s.text(at - 1)}: …")
    return replaced(pos, "an expression cannot contain '='", "=", "==", " to compare")


def _in_struct(s: SourcePieces, at: int) -> bool:
    """Whether a field of ``Object{…}`` may follow this piece."""
    depth = 0
    if s.text(at) not in ("{", ","):
        return False
    while at >= 0:
        text = s.text(at)
        if text in ("(", "[", "{"):
            if depth == 0:
                return text == "{"
            depth -= 1
        depth += text in (")", "]", "}")
        at -= 1
    return False


def arrow(s: SourcePieces, at: int) -> Mistake | None:
    """``x => …`` and ``x -> …``, or ``>=`` with its signs swapped."""
    sign = s.text(at) + s.text(at + 1)
    if not s.glued(at + 1):
        return None
    begin = (s.partner(at - 1) if s.text(at - 1) == ")" else None) or at - 1
    opened = s.text(at - 2) == "(" or s.text(at - 1) == ")"
    if sign == "=>" and s[at + 2].kind.startswith("NUM"):
        return replaced(s[at].pos, "CEL has no operator =>", "=>", ">=")
    if sign == "=>" and not opened:  # or an implication
        return Mistake(s[at].pos, "CEL has no operator =>", "write >=")
    names = [s.text(n) for n in range(begin, at) if s[n].kind == "IDENTIFIER"]
    what = f"CEL has no functions written with {sign}"
    if len(names) > 1:
        return Mistake(s[at].pos, what, _FOLDS)
    name = names[0] if names else "x"
    return Mistake(s[at].pos, what, f"write {_macro(s, begin - 1, name, at + 2, sign)}")


def _macro(s: SourcePieces, opening: int, name: str, begin: int, sign: str) -> str:
    """Return the macro for a method whose bracket is at ``opening``, and the body at ``begin``."""
    method = s.text(opening - 1) if s.text(opening) == "(" else ""
    method = _METHODS.get(method, method or "all")
    of = s.path_before(opening - 2) if s.text(opening - 2) == "." else ""
    body = short(s.between(begin, s.end_of_part(begin)), "…")
    return f"{short(of, 'list', 60)}.{method}({name}, {'…' if sign in body else body})"


def ampersand(s: SourcePieces, at: int) -> Mistake | None:
    return Mistake(s[at].pos, "CEL has no operator &", "write && for a logical and")


def bar(s: SourcePieces, at: int) -> Mistake | None:
    word = s.text(at + 1)
    if s.text(at - 1) == "(" and s.text(at + 2) == "|" and s[at + 1].kind == "IDENTIFIER":
        what = "CEL has no functions written with | |"
        instead = f"write {_macro(s, at - 1, word, at + 3, f'|{word}|')}"
        return Mistake(s[at].pos, what, instead, s[at + 2].pos + 1)
    if word not in _FILTERS:
        return Mistake(s[at].pos, "CEL has no operator |", "write || for a logical or")
    if word in ("length", "size", "count"):
        instead = f"write size({short(s.path_before(at), 'x')})"
    elif word == "default":
        instead = "write a.?b.orValue(…)"
    else:
        instead = "call a function: x.lowerAscii(), x.trim(), list.map(i, i.name)"
    return Mistake(s[at].pos, "CEL has no pipes", instead)


def question(s: SourcePieces, at: int) -> Mistake | None:
    """``?.``, ``?[``, ``??`` and ``?:`` of other languages; a condition with one value."""
    pos = s[at].pos
    if s.are(at, "?", "."):
        after = s.path_after(at + 1)
        name = short(after[1:], "b")
        what = "the optional selection of CEL is .? and not ?."
        return Mistake(pos, what, f"write {_path(s, at)}.?{name}.orValue(…)")
    if s.are(at, "?", "?") or s.are(at, "?", ":"):
        head, dot, name = s.path_before(at).rpartition(".")
        optional = f"{head}.?{name}" if dot and name.isidentifier() else "a.?b"
        other = short(s.text(at + 2), "…")
        sign = s.text(at) + s.text(at + 1)
        instead = f"write {short(optional, 'a.?b')}.orValue({other})"
        return Mistake(pos, f"CEL has no operator {sign}", instead)
    if s.are(at, "?", "[") and s.glued(at) and s.last_colon < at:
        index = s.partner(at + 1)
        inner = short(s.between(at + 2, index), "0") if index else "0"
        what = "the optional index of CEL is [?0] and not ?[0]"
        return Mistake(pos, what, f"write {_path(s, at)}[?{inner}].orValue(…)")
    if s.ends_value(at - 1) and s.last_colon < at:
        what = "a condition with ? needs a value for false, too"
        return Mistake(pos, what, "write CONDITION ? VALUE : OTHER")
    return None


def bracket(s: SourcePieces, at: int) -> Mistake | None:
    """``[*]``, ``[]`` and slices."""
    if not s.ends_value(at - 1):
        return None
    if s.text(at + 1) == "*" and s.text(at + 2) == "]":
        return _every_item(s, at, at + 3, "CEL has no index [*]")
    if s.text(at + 1) == "]":
        return _every_item(s, at, at + 2, "CEL has no index []")
    close = s.partner(at)
    inside = range(at + 1, min(close or at, at + _SLICE_PIECES))
    parts = [s.text(number) for number in inside if s.depth(number) == s.depth(at) + 1]
    if ":" in parts and "?" not in parts:
        return Mistake(s[at].pos, "CEL has no slices", _SLICE)
    return None


_MACROS_OF_LISTS = (".all", ".exists", ".exists_one", ".filter", ".map")


def _every_item(s: SourcePieces, at: int, after: int, what: str) -> Mistake:
    path = short(s.path_before(at), "list", 60)
    path = f"object{path}" if path.startswith(".") else path
    name = path.rpartition(".")[2][:1].lower()
    name = name if name.isalpha() else "x"
    item = name + short(s.path_after(after), "")
    value = s.value_after(after)
    calls = value.startswith(f"{s.path_after(after)}(")
    if calls and s.path_after(after) in _MACROS_OF_LISTS:
        return Mistake(
            s[at].pos, what, f"write {path}{s.path_after(after)}({name}, …)", s[after].pos
        )
    called = name + short(value, f"{item[1:]}(…)" if calls else "")
    condition = called if called.endswith(")") else f"{item} …"
    values = item.rpartition(".")[0] if calls else item
    hint = f"write {path}.all({name}, {condition}) for all items, .exists({name}, …) for any"
    hint = f"{hint}, .map({name}, {values}) for a list of values"
    return Mistake(s[at].pos, what, hint, s[after].pos)


def dot(s: SourcePieces, at: int) -> Mistake | None:
    following = s[at + 1]
    if following.text == "*":
        return _every_item(s, at, at + 2, "CEL has no wildcard .*")
    if following.kind == "STRING":
        return Mistake(
            s[at].pos, "a field is not in quotes", f"write {_path(s, at)}[{following.text}]"
        )
    if following.text == "in" and (close := s.partner(at + 2)) and s.text(at + 2) == "(":
        items = short(s.between(at + 3, close), "LIST")
        return Mistake(following.pos, "in is an operator", f"write {_path(s, at)} in {items}")
    if following.text in ("in", "true", "false", "null"):
        what = f"'{following.text}' is a keyword of CEL"
        return Mistake(following.pos, what, f"write {_path(s, at)}['{following.text}']")
    if following.text == ".":
        return Mistake(following.pos, "CEL has no operator ..", "write the whole path")
    if following.kind == EOF:
        return Mistake(s[at].pos, "the expression ends after '.'", "write the field, or remove it")
    return None


def _path(s: SourcePieces, at: int) -> str:
    return short(s.path_before(at), "a")


def colon(s: SourcePieces, at: int) -> Mistake | None:
    """``list.map(x: …)``."""
    if s.text(at - 2) != "(" or s[at - 1].kind != "IDENTIFIER" or s[at - 3].kind != "IDENTIFIER":
        return None
    name, method = s.text(at - 1), s.text(at - 3)
    body = short(s.between(at + 1, s.end_of_part(at + 1)), "…")
    call = f"{short(s.path_before(at - 4), 'list')}.{_METHODS.get(method, method)}"
    what = "a ':' cannot follow the variable of a macro"
    return Mistake(s[at].pos, what, f"write {call}({name}, {body})")


def comma(s: SourcePieces, at: int) -> Mistake | None:
    if s.text(at + 1) == ")":
        return Mistake(s[at].pos, "a ',' before ')' is not allowed", "remove the ','")
    if s.depth(at) == 0:
        return Mistake(s[at].pos, "an expression cannot contain ','", f"remove it; {_ONE_VALUE}")
    return None


def less(s: SourcePieces, at: int) -> Mistake | None:
    if s.are(at, "<", ">"):
        return replaced(s[at].pos, "CEL has no operator <>", "<>", "!=")
    return None


def minus(s: SourcePieces, at: int) -> Mistake | None:
    return arrow(s, at) if s.are(at, "-", ">") else None


def slash(s: SourcePieces, at: int) -> Mistake | None:
    if s.are(at, "/", "*"):
        end = s.source.find("*/", s[at].pos)
        end = len(s.source) if end < 0 else end + 2
        hint = "write // up to the end of the line"
        return Mistake(s[at].pos, "CEL has no comments /* */", hint, end)
    return None


def bang(s: SourcePieces, at: int) -> Mistake | None:
    if s.text(at + 1) == "in":
        return Mistake(s[at].pos, "CEL has no operator !in", f"write {not_in(s, at, at + 2)}")
    if s.ends_value(at - 1):
        return Mistake(
            s[at].pos, "'!' cannot follow a value", "write != to compare, && ! to negate"
        )
    return None


def membership(s: SourcePieces, at: int) -> Mistake | None:
    """``x in (a, b)``."""
    close = s.partner(at + 1)
    if s.text(at + 1) != "(" or close is None:
        return None
    if all(s.text(n) != "," or s.depth(n) > s.depth(at) + 1 for n in range(at + 2, close)):
        return None
    items = short(s.between(at + 2, close), "…")
    what = "CEL has no list in parentheses"
    return Mistake(s[at + 1].pos, what, f"write in [{items}]", s[close].pos)


def not_in(s: SourcePieces, at: int, after: int) -> str:
    """Return ``!(x in y)`` with the operands before and after."""
    left = s.path_before(at) or s.text(at - 1)
    close = s.partner(after) if s.text(after) in ("[", "(") else None
    right = s.between(after, close + 1) if close else s.text(after) + s.path_after(after + 1)
    return f"!({short(left, 'x')} in {short(right, 'list')})"


def brace(s: SourcePieces, at: int) -> Mistake | None:
    """Templates: ``{{ … }}``."""
    if not s.are(at, "{", "{"):
        return None
    close = s.partner(at + 1)
    inner = s.between(at + 2, close).strip() if close else ""
    what = "an expression cannot contain a template {{ … }}"
    end = s[close].pos if close else len(s.source)
    if inner.startswith((".", "include", "-")):
        hint = "render the template first (helm template), or write CEL without braces"
    else:
        hint = f"write CEL without braces: {short(inner, 'object.spec.x')}"
    return Mistake(s[at].pos, what, hint, end)


def operator(s: SourcePieces, at: int) -> Mistake | None:
    """An operator without an operand."""
    sign, after = s.text(at), s[at + 1]
    if at == 0:
        what = f"the expression begins with {sign}"
        return Mistake(s[at].pos, what, f"write what is before {sign}, or remove it")
    if after.kind == EOF:
        what = f"the expression ends after {sign}"
        return Mistake(s[at].pos, what, f"write what follows {sign}, or remove it")
    if after.text in _BINARY:
        what = f"{sign} and {after.text} follow each other"
        return Mistake(after.pos, what, "write a value between them, or remove one of them")
    if after.text in (")", "]", "}"):
        what = f"a value is missing between {sign} and {after.text}"
        return Mistake(s[at].pos, what, f"write what follows {sign}, or remove it")
    return None


def junk(s: SourcePieces, at: int) -> Mistake | None:
    """Characters that CEL does not use."""
    sign, pos = s.text(at), s[at].pos
    if sign in _LOOKALIKES:
        what, instead = _LOOKALIKES[sign]
        what, new = f"an expression cannot contain {what}", instead.removeprefix("write ")
        return Mistake(pos, what, instead) if " " in new else replaced(pos, what, sign, new)
    if sign == "$":
        return _dollar(s, at)
    if not sign.isascii() and not sign.isprintable():
        name = f"the invisible character U+{ord(sign):04X}"
        return Mistake(pos, f"an expression cannot contain {name}", "delete it, or write a blank")
    instead = {
        ";": f"remove it; {_ONE_VALUE}",
        "#": "write comments after //, or outside of the expression",
        "@": "write the name: object, or the variable of the macro",
        "~": "write string.matches('PATTERN') to match, ! to negate",
        "^": "CEL has neither powers nor bit operations",
        "\\": "remove it; a value after | or >- in YAML can have several lines",
        "`": "write strings in ' or \"; only fields can be in backquotes: a.`b-c`",
    }.get(sign, "remove it, or put it in quotes if it is part of a string")
    return Mistake(pos, f"an expression cannot contain '{sign}'", instead)


def _dollar(s: SourcePieces, at: int) -> Mistake:
    what = f"an expression cannot contain '${s.text(at + 1)}'" if s.glued(at + 1) else ""
    inner = ""
    if s.are(at, "$", "{") or s.are(at, "$", "("):
        what = f"an expression cannot contain ${s.text(at + 1)}…{'})'[s.text(at + 1) == '(']}"
        close = s.partner(at + 1)
        inner = s.between(at + 2, close) if close else ""
    elif s.are(at, "$", "."):
        inner = f"object{s.path_after(at + 1)}"
    instead = f"write CEL without it: {short(inner, 'object.spec.x')}"
    return Mistake(s[at].pos, what or "an expression cannot contain '$'", instead)


OPERATORS: MistakeRules = {
    "=": (equals,),
    "&": (ampersand,),
    "|": (bar,),
    "?": (question,),
    "[": (bracket,),
    ".": (dot,),
    ",": (comma,),
    ":": (colon,),
    "<": (less, operator),
    "-": (minus,),
    "/": (slash, operator),
    "!": (bang,),
    "{": (brace,),
    "in": (membership, operator),
    **dict.fromkeys(_BINARY - {"<", "/", "in"}, (operator,)),
    JUNK: (junk,),
}
