"""The parser: trees, places, limits and hostile text."""

from collections.abc import Iterator

import pytest

from policyd._core.values.types import UInt
from policyd.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from policyd.cel.syntax.parser import MAX_TREE_DEPTH, parse
from policyd.cel.syntax.recursion import children, depth_of
from policyd.errors import CelSyntaxError


def show(node: Expr) -> str:
    """A tree in a short, unambiguous form."""
    match node:
        case Literal(value=value):
            return f"{value.value}u" if isinstance(value, UInt) else repr(value)
        case Ident(name=name):
            return name
        case Select(operand=operand, field=field, test_only=test_only):
            return f"{show(operand)}.{field}{'~' if test_only else ''}"
        case Call(function=function, target=target, args=args):
            receiver = f"{show(target)}." if target is not None else ""
            return f"{receiver}{function}({', '.join(map(show, args))})"
        case ListExpr(elements=elements, optional=optional):
            marked = ("?" * (i in optional) + show(each) for i, each in enumerate(elements))
            return f"[{', '.join(marked)}]"
        case MapExpr(entries=entries):
            pairs = ("?" * e.optional + f"{show(e.key)}: {show(e.value)}" for e in entries)
            return f"{{{', '.join(pairs)}}}"
        case StructExpr(type_name=name, fields=fields):
            pairs = ("?" * f.optional + f"{f.name}: {show(f.value)}" for f in fields)
            return f"{name}{{{', '.join(pairs)}}}"
        case Comprehension():
            variables = ", ".join(filter(None, (node.iter_var, node.iter_var2)))
            return (
                f"{node.macro}({show(node.iter_range)} as {variables}; "
                f"{node.accu_var} = {show(node.accu_init)}; while {show(node.loop_condition)}; "
                f"{show(node.loop_step)}; {show(node.result)})"
            )
    raise AssertionError(node)


def error(text: str) -> str:
    with pytest.raises(CelSyntaxError) as caught:
        parse(text)
    return caught.value.text


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3 - 4", "_-_(_+_(1, _*_(2, 3)), 4)"),
        ("1 < 2 == true", "_==_(_<_(1, 2), True)"),
        ("a || b && c || d", "_||_(_||_(a, _&&_(b, c)), d)"),
        ("a && b && c && d && e", "_&&_(_&&_(_&&_(a, b), c), _&&_(d, e))"),
        ("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"),
        ("-1", "-1"),
        ("- 1", "-1"),
        ("--1", "1"),
        ("---1", "-_(1)"),
        ("-a", "-_(a)"),
        ("-1u", "-_(1u)"),
        ("1-1", "_-_(1, 1)"),
        ("-1.f()", "-1.f()"),
        ("!!a", "a"),
        ("!!!a", "!_(a)"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("0xFFu + 0x7fffffffffffffff", "_+_(255u, 9223372036854775807)"),
        ("1.5 + .5e-3 + 1e3", "_+_(_+_(1.5, 0.0005), 1000.0)"),
        ("a.b.c(d)[e]", "_[_](a.b.c(d), e)"),
        ("a.?b[?c]", "_[?_](_?._(a, 'b'), c)"),
        (".a.b(.c)", ".a.b(.c)"),
        ("[?a, b,]", "[?a, b]"),
        ("[,]", "[]"),
        ("{?a: 1, 'b': 2u,}", "{?a: 1, 'b': 2u}"),
        ("{,}", "{}"),
        ("a.B{?c: 1, d: 2,}", "a.B{?c: 1, d: 2}"),
        ("Object{}", "Object{}"),
        ("a in [1]", "@in(a, [1])"),
        ("object.if.for.namespace", "object.if.for.namespace"),
        ("has(a.b.c)", "a.b.c~"),
        ("has(a, b)", "has(a, b)"),
        ("a.has(b.c)", "a.has(b.c)"),
        ("x.map(a)", "x.map(a)"),
        ("x.existsOne(a, b)", "x.existsOne(a, b)"),
        ("// only\n1 // comment", "1"),
    ],
)
def test_tree(text: str, tree: str) -> None:
    assert show(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'a\n\x41\u00e9\U0001F600\101'", "a\nAé😀A"),
        (r"'\a\b\f\r\t\v\\\'\"\`\?'", "\a\b\f\r\t\v\\'\"`?"),
        (r"r'\n'", r"\n"),
        ('"""a"b\r\nc"""', 'a"b\nc'),
        ("'''it's'''", "it's"),
        ('R"""\\"""', "\\"),
        ("b'é\\xff\\377'", b"\xc3\xa9\xff\xff"),
        ("br'\\x'", b"\\x"),
        ("''", ""),
        ('""""""', ""),
        ("null", None),
        ("18446744073709551615u", UInt(18446744073709551615)),
    ],
)
def test_literal(text: str, value: object) -> None:
    parsed = parse(text)
    assert isinstance(parsed, Literal)
    assert parsed.value == value
    assert type(parsed.value) is type(value)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x.all(a, p)", "all(x as a; @result = True; while @not_strictly_false(@result); _&&_(@result, p); @result)"),
        ("x.exists(a, p)", "exists(x as a; @result = False; while @not_strictly_false(!_(@result)); _||_(@result, p); @result)"),
        ("x.exists_one(a, p)", "exists_one(x as a; @result = 0; while True; _?_:_(p, _+_(@result, 1), @result); _==_(@result, 1))"),
        ("x.map(a, t)", "map(x as a; @result = []; while True; _+_(@result, [t]); @result)"),
        ("x.map(a, p, t)", "map(x as a; @result = []; while True; _?_:_(p, _+_(@result, [t]), @result); @result)"),
        ("x.filter(a, p)", "filter(x as a; @result = []; while True; _?_:_(p, _+_(@result, [a]), @result); @result)"),
        ("x.all(i, v, p)", "all(x as i, v; @result = True; while @not_strictly_false(@result); _&&_(@result, p); @result)"),
        ("x.existsOne(i, v, p)", "exists_one(x as i, v; @result = 0; while True; _?_:_(p, _+_(@result, 1), @result); _==_(@result, 1))"),
        ("x.transformList(i, v, t)", "transformList(x as i, v; @result = []; while True; _+_(@result, [t]); @result)"),
        ("x.transformMap(k, v, p, t)", "transformMap(x as k, v; @result = {}; while True; _?_:_(p, cel.@mapInsert(@result, k, t), @result); @result)"),
        ("x.transformMapEntry(k, v, {v: k})", "transformMapEntry(x as k, v; @result = {}; while True; cel.@mapInsert(@result, {v: k}); @result)"),
        ("x.optMap(v, e)", "_?_:_(x.hasValue(), optional.of(optMap([] as #unused; v = x.value(); while False; v; e)), optional.none())"),
        ("x.optFlatMap(v, e)", "_?_:_(x.hasValue(), optFlatMap([] as #unused; v = x.value(); while False; v; e), optional.none())"),
        (
            "x.sortBy(v, k)",
            "sortBy([] as #unused; @__sortBy_input__ = x; while False; @__sortBy_input__; "
            "@__sortBy_input__.@sortByAssociatedKeys(map(@__sortBy_input__ as v; @result = []; while True; _+_(@result, [k]); @result)))",
        ),
    ],
)  # fmt: skip
def test_macro_expands_as_in_cel_go(text: str, tree: str) -> None:
    assert show(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("f(a)", 1),
        ("a.f(b)", 3),
        ("a + b", 2),
        ("!a", 0),
        ("- a", 0),
        ("a.b", 1),
        ("a.?b", 1),
        ("a[b]", 1),
        (" [a]", 1),
        (" {a: b}", 1),
        ("A.B{c: d}", 3),
        ("a ? b : c", 2),
        ("a.all(b, c)", 5),
        ("a && b || c", 7),
        ("has(a.b)", 3),
    ],
)
def test_place(text: str, place: int) -> None:
    assert parse(text).pos == place


def walk(node: Expr) -> Iterator[Expr]:
    yield node
    for child in children(node):
        yield from walk(child)


@pytest.mark.parametrize(
    "text", ["x.optMap(v, v + 1)", "x.y.sortBy(v, -v)", "a.map(b, [b, {b: b}])"]
)
def test_ids_are_unique(text: str) -> None:
    nodes = list(walk(parse(text)))
    shared = [node for node in nodes if isinstance(node, Ident)]
    ids = [node.id for node in nodes if node not in shared]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import", "1:1: reserved identifier: import"),
        ("if(x)", "1:1: reserved identifier: if"),
        ("99999999999999999999", "1:1: invalid int literal"),
        ("18446744073709551616u", "1:1: invalid uint literal"),
        ("1e999", "1:1: invalid double literal"),
        (r"'\uD800'", "1:1: invalid unicode code point"),
        ("b'\\u0041'", "1:1: unable to unescape string"),
        ("has(a)", "1:5: invalid argument to has() macro"),
        ("[1].all(x.y, true)", "1:10: argument must be a simple name"),
        ("[1].map(x.y, true)", "1:10: argument is not an identifier"),
        ("[1].all(__result__, true)", "1:9: iteration variable overwrites accumulator variable"),
        ("[1].all(a, a, true)", "1:12: duplicate variable name: a"),
        ("1.sortBy(a, a)", "1:1: sortBy can only be applied to a list, identifier, comprehension, call or select expression"),
        ("x.optMap(a.b, 1)", "1:11: optMap() variable name must be a simple identifier"),
    ],
)  # fmt: skip
def test_meaningless_text(text: str, message: str) -> None:
    assert error(text).splitlines()[0] == f"ERROR: <input>:{message}"


NESTING = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
DEPTH = "ERROR: <input>:-1:0: max recursion depth exceeded"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 10_000, NESTING),
        ("[" * 10_000, NESTING),
        ("{" * 10_000, NESTING),
        ("f(" * 10_000, NESTING),
        ("(" * 250 + "1" + ")" * 250, NESTING),
        ("1 < (" * 125 + "1" + ")" * 125, NESTING),
        ("1 + 1 * (" * 84 + "1" + ")" * 84, NESTING),
        ("a ? b : " * 250 + "c", NESTING),
        ("a" + ".b" * 10_000, DEPTH),
        ("a" + ".b" * 251, DEPTH),
        ("a" + "[0]" * 251, DEPTH),
        ("a" + ".b()" * 251, DEPTH),
        ("1" + " + 1" * 251, DEPTH),
        ("1" * 100_001, "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"),
        ("1" * 100_000, "ERROR: <input>:1:1: invalid int literal"),
        ("x" + ".optMap(a, a)" * 40, "ERROR: <input>:1:126: expression has more than 6,210 nodes"),
        ("x" + ".optMap(a, a)" * 9, "ERROR: <input>:1:100: expression has more than 2,180 nodes"),
        ("x" + ".optFlatMap(a, a)" * 40, "ERROR: <input>:1:166: expression has more than 7,810 nodes"),
    ],
)  # fmt: skip
def test_limit(text: str, message: str) -> None:
    assert error(text).splitlines()[0] == message


@pytest.mark.parametrize(
    "text",
    [
        "(" * 249 + "1" + ")" * 249,
        "a" + ".b" * 250,
        "1" + " + 1" * 250,
        "a ? b : " * 249 + "c",
        "x" + ".optMap(a, a)" * 7,
        "[" + "a, " * 20_000 + "x.optMap(a, a)]",
        "!" * 10_000 + "a",
        "-" * 10_001 + "a",
        " && ".join("a" * 10_000),
        "[" + ",".join("1" * 20_000) + "]",
    ],
)
def test_just_within_limits(text: str) -> None:
    assert depth_of(parse(text)) <= MAX_TREE_DEPTH


@pytest.mark.parametrize(
    "unit", ["!", "-", "a?", "a.", "a==", "'", '"', "a&&", "{a:", "\\", "a[?", "-1["]
)
def test_hostile_text_is_refused_not_fatal(unit: str) -> None:
    assert error(unit * 10_000).startswith("ERROR: ")


@pytest.mark.parametrize("text", ["a.f(1, " * 240 + "!", "(" * 240 + "!", "[1, " * 240 + "}"])
def test_an_error_deep_inside_is_reported(text: str) -> None:
    assert error(text).startswith("ERROR: <input>:1:")


def test_tree_of_nested_macros_is_bounded() -> None:
    text = "[1].map(x, true, " * 240 + "1" + ")" * 240
    assert depth_of(parse(text)) < MAX_TREE_DEPTH
