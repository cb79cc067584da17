"""Patterns, objects and what is reported, for the tests of patterns and of their translation."""

from typing import Any

# pattern, values that fit, values that do not
LEAVES: list[tuple[Any, list[Any], list[Any]]] = [
    # texts and wildcards
    ("web", ["web"], ["Web", "webs", "", None, 1, True, {}, {"web": 1}]),
    ("", [""], ["x", " ", None, 0, False]),
    ("*", ["", "x", 0, False, {}, []], [None]),
    ("?*", ["x", " ", 0, 1.5, False, {"a": 1}, ["x"]], ["", None, {}, []]),
    ("a*", ["a", "abc"], ["ba", "", None]),
    ("*a", ["a", "cba"], ["ab"]),
    ("*a*", ["a", "bab"], ["b"]),
    ("a*b*c", ["abc", "a-b-c", "abbcc"], ["ac", "acb", "ab"]),
    ("a?c", ["abc", "a?c", "a.c"], ["ac", "abbc"]),
    ("*:?*", ["a:b", ":::"], ["a:", "a"]),
    ("??", ["ab", 10, "é!"], ["a", "abc", 1]),
    ("*a?c*", ["xabcx", "aacc"], ["ac", "axxc"]),
    ("**", ["", "x"], [None]),
    ("*ab*ab", ["abab", "abxab"], ["ab", "xab"]),
    ("nginx:* ", ["nginx:1"], ["nginx"]),
    # scalars that are no texts
    ("true", [True, "true"], [False, "True", 1, None]),
    ("f*", [False, "foo"], [True]),
    ("1*", [1, 10, 1.5, "1x"], [2, True]),
    (True, [True], [False, "true", 1, None, {}]),
    (False, [False], [True, "false", 0, None]),
    (1, [1, 1.0, "1", "1000m", "1.0"], [2, "2", True, None, "x", "", {}]),
    (1.5, [1.5, "1.5", "1500m"], [1, "1", None]),
    (0, [0, 0.0, -0.0, "0", "0m"], [False, "", None]),
    (9007199254740993, [9007199254740993, "9007199254740993"], [9007199254740992, 9007199254740992.0]),
    (None, [None, "", 0, 0.0, False], ["x", 1, True, {}, []]),
    # negation
    ("!web", ["Web", "", 1, True], ["web", None, {}, {"a": 1}]),
    ("! *:latest", ["a:1", "a"], ["a:latest", None]),
    ("!?*", [""], ["x", 1, None]),
    ("!1", [2, "x", "1001m", True], [1, "1", "1000m", 1.0, None]),
    ("!true", [False, "x", 1], [True, "true"]),
    # comparisons
    (">1", [2, "2", 1.001, "1001m", "1Gi"], [1, "1", 0, "x", True, None, {}, ""]),
    (">= 1Gi", ["1Gi", "1024Mi", 2**30, "1.1G", "1073741824"], ["1023Mi", "1G", 2**30 - 1, None]),
    ("<0.1Gi", ["100Mi", "107374182", 5], ["108Mi", "0.1Gi", "1Gi"]),
    ("<=1h", ["60m", "59m59s", "1h", "0"], ["61m", "1h1ns", "x"]),
    (">1m30s", ["91s", "2m", "1h"], ["90s", "1m", "5"]),
    (">500m", ["501m", "1", 1, 0.51], ["500m", "0.5", 0.5]),
    (">1Ei", ["2Ei", "1e19", 1e19], ["1Ei", "1e18", 10**18]),
    ("<1n", ["0", "-1", -1], ["1n", "2n", 1]),
    (">-5", ["-4", 0, "-4999m"], ["-5", -6, "-5000m"]),
    # ranges
    ("1-3", [1, 2, "3", "2500m", 1.0], [0, 4, "3001m", "x", None]),
    ("1 - 3", [1, 2, "3"], [0, 4]),
    ("1!-3", [0, 4, "3001m"], [1, 2, 3, "x", None]),
    ("2-2", [2], [1, 3]),
    ("2!-2", [1, 3], [2]),
    ("100Mi-0.5Gi", ["100Mi", "512Mi", 2**28], ["99Mi", "513Mi"]),
    (">1s", ["1h0m0s", "999999h", "1500ms"], ["1s", "1s2s", "9999999h", "1.h5"]),
    (">1", ["1e999", "1E3"], ["1e1000", "1e-1000", "1e0"]),
    ("30s-1h", ["30s", "1m", "3600s"], ["29s", "61m", "5"]),
    ("0.00001-2.00001", [1, 2, 2.00001], [0, 2.0001]),
    ("-5--1", [-5, -1, "-3"], [-6, 0]),
    ("+1-+3", [2], [0]),
    # texts that only look like ranges
    ("5.10.84-1", ["5.10.84-1"], ["5.10.84", 5]),
    ("1-alpine", ["1-alpine"], [1]),
    ("2-foo1", ["2-foo1"], [2]),
    ("a-b", ["a-b"], ["a", "b"]),
    # combinations; the whole text itself always fits
    ("a|b", ["a", "b", "a|b"], ["c", "ab", None]),
    ("a* | *z", ["ab", "yz"], ["b"]),
    (">1 & <20 | >31 & <33", ["10", 32, "2"], ["21", 31, 33, 1]),
    ("!a & !b", ["c", 1], ["a", "b", None]),
    ("<4|8", [3, 8, "8"], [4, 9]),
    ("1-3 | ?*x", [2, "ax"], [4, "x"]),
    # lists: each item
    ("a*", [["a", "ab"], []], [["a", "b"], ["a", None], [["a"]], [{}]]),
    (1, [[1, "1"], []], [[1, 2]]),
    (True, [[True]], [[True, False]]),
]  # fmt: skip

EMPTY: dict[str, Any] = {}

# pattern, object, what is said (None: it fits or does not apply)
MAPS = [
    ({}, {"a": 1}, None),
    ({"a": {}}, {"a": {"b": 1}}, None),
    ({"a": {}}, {"a": "x"}, 'a: expected an object, found "x"'),
    ({"a": {}}, {}, "a: expected an object, found nothing"),
    ({"a": "?*"}, {}, "a: expected ?*, found nothing"),
    ({"a": "?*"}, {"a": None}, "a: expected ?*, found nothing"),
    ({"a": {"b": {"c": 1}}}, {}, "a.b.c: expected 1, found nothing"),
    ({"a": {"b": 1, "c": 2}}, {}, "a.b: expected 1, found nothing; a.c: expected 2, found nothing"),
    ({"a": {"b": 1}}, {"a": []}, "a: expected {b: 1}, found an empty list"),
    ({"a": {"=(b)": 1}}, {}, "a: expected {=(b): 1}, found nothing"),
    ({"a": {"(b)": 1}}, {}, "a: expected {(b): 1}, found nothing"),
    ({"a": None}, {}, None),
    ({"a": None}, {"a": 1}, "a: expected nothing, found 1"),
]
KEYS = [
    ({"app.*/name": "?*"}, {"app.example.com/name": "x"}, None),
    ({"app.*/name": "y"}, {"app.a/name": "x", "app.b/name": "y"}, None),
    ({"app.*/name": "?*"}, {"app": "x"}, "[app.*/name]: expected ?*, found nothing"),
    ({"a?": "x"}, {"ab": "y", "ac": "z"}, 'ab: expected x, found "y"; ac: expected x, found "z"'),
    ({"a?": "x"}, {"ac": "z", "ab": 1}, 'ab: expected x, found 1; ac: expected x, found "z"'),
    ({"=(a?)": "x"}, {"ac": "z", "ab": 1}, 'ab: expected x, found 1; ac: expected x, found "z"'),
    (
        {"X(a?)": None},
        {"ac": "z", "ab": 1},
        'ab: expected nothing, found 1; ac: expected nothing, found "z"',
    ),
    ({"=(a?)": "x"}, {"ab": "x", "ac": "z", "d": 1}, 'ac: expected x, found "z"'),
    ({"=(a?)": "x"}, {}, None),
    ({"X(a?)": None}, {"d": 1}, None),
    ({"X(a?)": None}, {"ab": 1}, "ab: expected nothing, found 1"),
    ({"(a*)": "x", "b": 1}, {"ab": "y"}, None),
    ({"(a*)": "x", "b": 1}, {"ab": "x"}, "b: expected 1, found nothing"),
]
LISTS = [
    ({"a": [{"b": 1}]}, {"a": []}, None),
    ({"a": [{"b": 1}]}, {}, "a: expected [{b: 1}], found nothing"),
    ({"a": [{"b": 1}]}, {"a": {"b": 1}}, "a: expected [{b: 1}], found an object"),
    ({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 2}, 3]}, "a[1].b: expected 1, found 2; "
     "a[2]: expected {b: 1}, found 3"),
    ({"a": ["x*"]}, {"a": ["xy", "z"]}, 'a[1]: expected x*, found "z"'),
    ({"a": ["x", "y"]}, {"a": ["y", "x", "y"]}, None),
    ({"a": ["x", "y"]}, {"a": ["z"]}, 'a[0]: expected x or y, found "z"'),
    ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 2}, {"b": 1}]}, None),
    ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 3}]}, "a[0]: expected {b: 1} or {b: 2}, "
     "found an object"),
    ({"a": [{"(n)": "x", "b": 1}, {"(n)": "y", "b": 2}]},
     {"a": [{"n": "x", "b": 1}, {"n": "y", "b": 1}, {"n": "z"}]}, "a[1].b: expected 2, found 1"),
    ({"a": []}, {"a": []}, None),
    ({"a": []}, {"a": [1]}, "a: expected an empty list, found a list of 1"),
    ({"a": []}, {}, "a: expected an empty list, found nothing"),
    ({"a": [["x"]]}, {"a": [["x"], ["x", "y"]]}, 'a[1][1]: expected x, found "y"'),
    ({"a": "!x"}, {"a": ["y", "x"]}, 'a[1]: expected !x, found "x"'),
    ({"a": "!x"}, {"a": ["y", None]}, "a[1]: expected !x, found nothing"),
]  # fmt: skip
MARKS = [
    ({"=(a)": {"b": 1}}, {}, None),
    ({"=(a)": {"b": 1}}, {"a": None}, None),
    ({"=(a)": {"b": 1}}, {"a": {}}, "a.b: expected 1, found nothing"),
    ({"X(a)": None}, {"a": None}, None),
    ({"X(a)": "null"}, {"a": "x"}, 'a: expected nothing, found "x"'),
    ({"^(a)": [{"n": "x"}]}, {"a": [{"n": "y"}, {"n": "x"}]}, None),
    ({"^(a)": [{"n": "x"}]}, {"a": []}, "a: expected at least one {n: x}, found an empty list"),
    ({"^(a)": [{"n": "x"}]}, {}, "a: expected a list with [{n: x}], found nothing"),
    ({"^(a)": [{"n": "x"}, {"n": "y"}]}, {"a": [{"n": "x"}]},
     "a: expected at least one {n: y}, found a list of 1"),
    ({"^(a)": ["x*"]}, {"a": ["y", "xy"]}, None),
    ({"^(a)": [{"(n)": "x", "b": 1}]}, {"a": [{"n": "y", "b": 1}]},
     "a: expected at least one {(n): x, b: 1}, found a list of 1"),
]  # fmt: skip
DOCKER = {"metadata": {"labels": {"ok": "true"}},
          "(spec)": {"(volumes)": [{"(hostPath)": {"path": "/docker.sock"}}]}}  # fmt: skip
UNLABELLED = "metadata.labels.ok: expected true, found nothing"
CONDITIONS = [
    ({"(a)": 1, "b": 2}, {"a": 1}, "b: expected 2, found nothing"),
    ({"(a)": 1, "b": 2}, {"a": 2}, None),
    ({"(a)": 1, "b": 2}, {}, None),
    ({"(a)": None, "b": 2}, {}, "b: expected 2, found nothing"),
    ({"(a)": 1, "(b)": 2, "c": 3}, {"a": 1, "b": 3}, None),
    # a condition skips its own map, and nothing beside it
    ({"a": {"(b)": 1, "c": 2}, "d": 1}, {"a": {"b": 3}}, "d: expected 1, found nothing"),
    ({"a": [{"(n)": "x", "b": 1}]}, {"a": [{"n": "x", "b": 2}, {"n": "y"}]},
     "a[0].b: expected 1, found 2"),
    # a condition that asks for a list wants an item that its own conditions let through
    (DOCKER, {"spec": {"volumes": [{"emptyDir": {}}]}}, None),
    (DOCKER, {"spec": {"volumes": []}}, None),
    (DOCKER, {"spec": {}}, None),
    (DOCKER, {"spec": {"volumes": [{"hostPath": {"path": "/x"}}]}}, None),
    (DOCKER, {"spec": {"volumes": [{"a": 1}, {"hostPath": {"path": "/docker.sock"}}]}}, UNLABELLED),
]  # fmt: skip
REGISTRY = {"spec": {"containers": [{"<(image)": "corp/*"}], "pull": "?*"}, "x": 1}
GLOBALS = [
    (REGISTRY, {"spec": {"containers": [{"image": "other"}]}}, None),
    (REGISTRY, {"spec": {"containers": []}}, None),
    (REGISTRY, {}, None),
    (REGISTRY, {"spec": {"containers": [{"image": "other"}, {"image": "corp/a"}]}},
     "spec.pull: expected ?*, found nothing; x: expected 1, found nothing"),
    ({"<(a)": 1, "b": 2}, {"a": 1}, "b: expected 2, found nothing"),
    ({"c": {"<(a)": 1}, "b": 2}, {"c": {"a": 2}}, None),
]  # fmt: skip
ANY = [
    ([{"a": 1}, {"b": 1}], {"b": 1}, None),
    ([{"a": 1}, {"b": 1}], {"b": 2}, "pattern 1: a: expected 1, found nothing; "
     "pattern 2: b: expected 1, found 2"),
    ([{"(a)": 1, "b": 1}, {"(a)": 2, "b": 2}], {"a": 3}, None),
    ([{"(a)": 1, "b": 1}, {"b": 2}], {"a": 3}, "pattern 1: does not apply; "
     "pattern 2: b: expected 2, found nothing"),
]  # fmt: skip
