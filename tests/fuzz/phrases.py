"""A second grammar, as a check on the first: text without regard for types, and recorded expressions cut up and mixed."""

import re
from collections.abc import Sequence
from random import Random

from policyd._core.lib.libraries import KNOWN_LIBRARIES
from tests.fuzz import words
from tests.shared import ROOT, rows

NAMES = sorted({
    row.name for library in KNOWN_LIBRARIES for row in library.overloads
    if row.name.replace(".", "").isalnum() and library.name != "jsonpatch"
})  # fmt: skip
GLOBAL = (
    "quantity",
    "ip",
    "cidr",
    "semver",
    "url",
    "int",
    "string",
    "type",
    "duration",
    "timestamp",
    "size",
    "dyn",
    "has",
)
MEMBERS = [name for name in NAMES if "." not in name and name not in GLOBAL]
MACROS = ("all", "exists", "exists_one", "map", "filter", "sortBy", "optMap", "optFlatMap")
PAIRS = ("all", "exists", "existsOne", "transformList", "transformMap", "transformMapEntry")
OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in")
FIELDS = (
    "a",
    "k",
    "spec",
    "list",
    "words",
    "one",
    "nested",
    "text",
    "metadata",
    "labels",
    "containers",
    "replicas",
    "nothing",
)
ATOMS = (
    "object",
    "object.spec",
    "params",
    "oldObject",
    "a0",
    "a1",
    "x",
    "y",
    "true",
    "false",
    "null",
    "1",
    "0",
    "-1",
    "2u",
    "1.5",
    "'a'",
    '"k"',
    "'ünï'",
    "b'a'",
    "[]",
    "{}",
    "[1, 2]",
    "['b', 'a']",
    "{'a': 1}",
    "object.spec.list",
    "int",
    "object.spec.words",
    "object.spec.text",
    "object.spec.one",
    "optional.none()",
    "optional.of(1)",
    "quantity('1Gi')",
    "ip('10.0.0.1')",
    "duration('1h')",
    "timestamp('2024-01-01T00:00:00Z')",
    "9223372036854775807",
    "''",
)
# Typed as policies see them. What reads the fields of patches again is left out: see compare.ALLOWED.
ADMISSION = (
    *ATOMS[::3],
    "request",
    "request.kind.kind",
    "request.operation",
    "request.userInfo",
    "request.userInfo.groups",
    "request.name",
    "request.userInfo.extra",
    "request.options",
    "request.dryRun",
    "request.uid",
    "request.object",
    "request.subResource",
    "request.resource.resource",
    "request.requestKind.group",
    "namespaceObject",
    "namespaceObject.metadata.labels",
    "namespaceObject.metadata.name",
    "namespaceObject.status.phase",
    "namespaceObject.kind",
    "namespaceObject.spec",
    "namespaceObject.metadata.creationTimestamp",
    "has(request.namespace)",
    "has(namespaceObject.metadata.uid)",
    "jsonpatch.escapeKey('a/b~c')",
    "jsonpatch.escapeKey(object.spec.text)",
    "JSONPatch{nope: 1} == null",
    "[JSONPatch{op: 'remove', path: '/a'}].size()",
    "JSONPatch{path: 1} == null",
    "Object{spec: Object.metadata{a: 1}} == null",
)
TOKEN = re.compile(r"\s+|[A-Za-z_]\w*|\d[\w.]*|'[^']*'|\"[^\"]*\"|&&|\|\||[<>=!]=|.", re.DOTALL)


class Phrases:
    """Random text of CEL's shape; most of it compiles, for most of its values are dyn."""

    def __init__(self, random: Random, atoms: Sequence[str] = ATOMS) -> None:
        self.random = random
        self.atoms = atoms
        self.recorded = _recorded()

    def expression(self) -> str:
        kind = self.random.random()
        if kind < 0.6:
            return self.phrase(self.random.randrange(1, 4))
        if kind < 0.8:
            return self.spliced()
        return self.broken(self.phrase(2) if kind < 0.9 else self.random.choice(self.recorded))

    def phrase(self, depth: int) -> str:
        random = self.random
        if depth <= 0:
            atom = random.choice(self.atoms)
            return f"dyn({atom})" if random.random() < 0.5 else atom
        kind = random.random()
        if kind < 0.25:
            return f"{self.phrase(depth - 1)} {random.choice(OPERATORS)} {self.phrase(depth - 1)}"
        if kind < 0.3:
            return (
                f"({self.phrase(depth - 1)} ? {self.phrase(depth - 1)} : {self.phrase(depth - 1)})"
            )
        if kind < 0.35:
            return f"{random.choice('!-')}({self.phrase(depth - 1)})"
        if kind < 0.42:
            return f"[{self.phrase(depth - 1)}, {random.choice(('', '', '?'))}{self.phrase(depth - 1)}]"
        if kind < 0.48:
            return f"{{{random.choice(('', '', '?'))}{self.phrase(depth - 1)}: {self.phrase(depth - 1)}}}"
        if kind < 0.55:
            return f"{random.choice(GLOBAL)}({self.phrase(depth - 1)})"
        if kind < 0.6:
            return f"dyn({self.phrase(depth - 1)})"
        return self.member(self.phrase(depth - 1), depth - 1)

    def member(self, base: str, depth: int) -> str:
        random = self.random
        if " " in base:
            base = f"({base})"
        kind = random.random()
        if kind < 0.2:
            return f"{base}.{random.choice(('', '', '?'))}{random.choice(FIELDS)}"
        if kind < 0.4:
            return f"{base}[{random.choice(('', '', '?'))}{self.phrase(depth)}]"
        if kind < 0.55:
            return f"{base}.{random.choice(MACROS)}({random.choice('xy')}, {self.phrase(depth)})"
        if kind < 0.65:
            return (
                f"{base}.{random.choice(PAIRS)}(x, {random.choice('yyyyx')}, {self.phrase(depth)})"
            )
        arguments = ", ".join(self.phrase(depth) for _ in range(random.choice((0, 0, 1, 1, 2))))
        return f"{base}.{random.choice(MEMBERS)}({arguments})"

    def spliced(self) -> str:
        """A recorded expression with one of its parts in parentheses exchanged for another's."""
        target, source = self.random.sample(self.recorded, 2)
        part = self.random.choice(re.findall(r"\([^()]*\)", source) or [source])
        return re.sub(r"\([^()]*\)", lambda _: part, target, count=1)

    def broken(self, text: str) -> str:
        """The text with some of its tokens dropped, doubled, exchanged or replaced."""
        tokens = TOKEN.findall(text)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            at = self.random.randrange(len(tokens) + 1)
            kind = self.random.random()
            if kind < 0.35:
                del tokens[at : at + 1]
            elif kind < 0.55:
                tokens[at:at] = tokens[at : at + 1]
            elif kind < 0.7 and tokens:
                other = self.random.randrange(len(tokens))
                at = min(at, len(tokens) - 1)
                tokens[at], tokens[other] = tokens[other], tokens[at]
            else:
                tokens.insert(
                    at, self.random.choice((*OPERATORS, *"()[]{}.,?:!", *words.BAD_LITERALS))
                )
        return "".join(tokens)


def _recorded() -> list[str]:
    files = [
        *sorted((ROOT / "tests/core/lib/rows").glob("*.jsonl")),
        ROOT / "tests/core/rows/language.jsonl",
    ]
    texts = {row["expression"] for file in files for row in rows(file)}
    return sorted(text for text in texts if len(text) < 200)
