"""Sources that are small and mean much work: each is a text of about as many characters as asked.

Used with a size and a multiple of it, since what matters is how the work grows.
"""

from collections.abc import Callable, Mapping

EXCEPTION = """\
apiVersion: policyd.dev/v1
kind: PolicyException
metadata: {name: legacy}
spec:
  reason: r
  policies: [{name: x}]
"""
DOCUMENT = "---\napiVersion: policyd.dev/v1\nkind: PolicyException\nmetadata: {name: a}\n"
LINT = "# policyd-lint: disable=x"


def _bomb(size: int) -> str:
    """Ten copies of ten copies of …"""
    levels = [
        f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, size // 90 + 1)
    ]
    return EXCEPTION + "  a0: &a0 [x]\n" + "".join(levels)


def _chain(size: int) -> str:
    """Each list is in the next one."""
    return (
        EXCEPTION
        + "  a0: &a0 [1]\n"
        + "".join(f"  b{n}: &a{n} [*a{n - 1}]\n" for n in range(1, size // 20))
    )


def _numbered(form: str, size: int) -> str:
    return "".join(form.format(n) for n in range(size // len(form)))


def _repeated(form: str, size: int) -> str:
    return form * (size // len(form))


FORMS: Mapping[str, Callable[[int], str]] = {
    "aliases of aliases": _bomb,
    "a chain of aliases": _chain,
    "an anchor in itself": lambda n: "a: &a [" + "*a ," * (n // 4) + "]",
    "aliases of a long number": lambda n: f"a: &a {'1' * (n // 2)}\nb: [{'*a ,' * (n // 8)}]",
    "aliases of a long !!binary": lambda n: (
        f"a: &a !!binary {'aGVs' * (n // 8)}\nb: [{'*a ,' * (n // 8)}]"
    ),
    "aliases as keys": lambda n: "a: &a x\nb:\n" + "- {*a : *a }\n" * (n // 13),
    "anchors": lambda n: _numbered("- &a{0} 1\n", n),
    "the same anchor": lambda n: _repeated("- &a 1\n", n),
    "merges of a large map": lambda n: (
        "a: &a {" + _numbered("k{0}: 1,", n // 2) + "}\nb:\n" + "  <<: *a\n" * (n // 20)
    ),
    "merges in a list": lambda n: "a: &a {k: 1}\nb:\n  <<: [" + "*a ," * (n // 4) + "]",
    "brackets": lambda n: "[" * n,
    "brackets beside a comment of lint": lambda n: f"{LINT}\na: " + "[" * n,
    "braces": lambda n: "{" * n,
    "question marks": lambda n: "? " * (n // 2),
    "dashes": lambda n: "- " * (n // 2),
    "JSON in JSON": lambda n: '{"a":' * (n // 5) + "1",
    "lists in a deep list": lambda n: "a: " + "[" * 900 + "1," * (n // 2) + "]" * 900,
    "tags in a deep list": lambda n: (
        EXCEPTION + "  x: ! a\n  y: " + "[" * 900 + "1," * (n // 2) + "]" * 900
    ),
    "a Lists in a List": lambda n: "{kind: List, items: [" * 480 + "{}," * (n // 3) + "]}" * 480,
    "separators": lambda n: "---\n" * (n // 4),
    "ends of documents": lambda n: "1\n...\n" * (n // 6),
    "tiny documents": lambda n: "--- 1\n" * (n // 6),
    "tiny objects": lambda n: "--- {}\n" * (n // 7),
    "broken documents": lambda n: "--- [\n" * (n // 6),
    "documents of one name": lambda n: DOCUMENT * (n // len(DOCUMENT)),
    "items of one name": lambda n: (
        "kind: List\nitems:\n"
        + _repeated(
            "- {apiVersion: policyd.dev/v1, kind: PolicyException, metadata: {name: a}}\n", n
        )
    ),
    "items without a kind": lambda n: "kind: List\nitems: [" + "{}," * (n // 3) + "]",
    "kinds that are misspelled": lambda n: _repeated(
        "---\napiVersion: policyd.dev/v2\nkind: Polcy\nmetadata: {name: a}\n", n
    ),
    "JSON objects in one line": lambda n: "{}" * (n // 2),
    "JSON objects in lines": lambda n: "{}\n" * (n // 3),
    "JSON lists": lambda n: "[" + "[]," * (n // 3) + "[]]",
    "JSON numbers": lambda n: "[" + "1," * (n // 2) + "1]",
    "JSON with many names": lambda n: "{" + _numbered('"k{0}":1,', n) + '"k":1}',
    "JSON with one name": lambda n: "{" + '"k":1,' * (n // 6) + '"k":1}',
    "JSON strings of escapes": lambda n: '{"a": "' + "\\\\" * (n // 2) + '"}',
    "JSON strings of NUL": lambda n: '{"a": "' + "\\u0000" * (n // 6) + '"}',
    "JSON with half a surrogate pair": lambda n: (
        '{"a": "' + "\\ud83d\\ude00" * (n // 12) + '\\ud800"}'
    ),
    "numbers": lambda n: "a: [" + "1," * (n // 2) + "1]",
    "keys": lambda n: _numbered("k{0}: 1\n", n),
    "the same key": lambda n: "a: 1\n" * (n // 5),
    "a long key": lambda n: "x" * n + ": 1",
    "keys that are lists": lambda n: "? [a]\n: 1\n" * (n // 8),
    "%TAG directives": lambda n: "a\n...\n" + _numbered("%TAG !a{0}! x\n", n),
    "a quote that is never closed": lambda n: "a: '" + "x\n" * (n // 2),
    "a quote that closes late": lambda n: "- 'x'\n" * (n // 6) + "- 'x\n y' z\n",
    "lone carriage returns": lambda n: "- a\r" * (n // 4),
    "a NUL": lambda n: "a: " + "\0" * n,
    "a plain string of many lines": lambda n: "a: x\n" + " y\n" * (n // 3) + " : :",
    "lines that are indented wrongly": lambda n: (
        "".join(" " * (i % 200) + f"a{i}:\n" for i in range(n // 100)) + " b: c: d\n"
    ),
    "unknown fields": lambda n: EXCEPTION + _numbered("  x{0}: 1\n", n),
    "wrong items": lambda n: EXCEPTION.replace("[{name: x}]", "[" + "1," * (n // 2) + "]"),
    "comments of lint": lambda n: _repeated(f"a: 1 {LINT}\n", n),
    "comments of lint in each other": lambda n: (
        "".join(f"{' ' * i}a: {LINT}\n" for i in range(int((784 + n) ** 0.5) - 28))
        + "\n" * (n // 2)
    ),
    "comments of lint in a string": lambda n: _repeated(f"a: '{LINT}\n", n),
}
