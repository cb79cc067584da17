"""Check that no regular expression of Python backtracks badly on untrusted input.

``python -m tools.check_patterns``. Modules that process requests or policies may use ``re`` only if
they are listed below with a reason, and each of their patterns is run on strings that repeat what
its own repetitions repeat. Compiled modules may not use ``re`` at all.
"""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from time import thread_time_ns
from typing import Any

ROOT = Path(__file__).parent.parent
# These modules only see input of the user who runs policyd: flags, and the pattern of `policyd test
# --run`.
TRUSTED = ("policyd/cli/",)
ALLOWED = {
    "policyd/_core/match/labels.py": "labels of policies' selectors: two formats of Kubernetes",
    "policyd/_core/regex/program.py": "one token of a pattern that was parsed already",
    "policyd/admission/confidential.py": "the words before a message of a policy",
    "policyd/admission/mutating/conflicts.py": "an index in the path of a patch",
    "policyd/admission/decision.py": "one character that a header may not hold",
    "policyd/offline/replaying.py": "a quoted name in a recorded message, by a command",
    "policyd/defaulting/rules/pods.py": "a part of an image reference, without backtracking",
    "policyd/cel/hints/globs.py": "a literal of an expression",
    "policyd/cel/hints/keys.py": "a path with a key, in an expression with an error",
    "policyd/cel/hints/names.py": "a template of a hint",
    "policyd/cel/hints/results.py": "a literal of a duration",
    "policyd/cel/syntax/lexer.py": "one token, from where it begins",
    "policyd/cel/syntax/literals.py": "one escape of a literal",
    "policyd/cel/syntax/recovery.py": "words of an error",
    "policyd/cel/syntax/unparse.py": "an identifier",
    "policyd/export/expressions/selectors.py": "the stars of a wildcard",
    "policyd/export/mutating/overlays/optionals.py": "a word of an expression",
    "policyd/export/mutating/overlays/places.py": "an identifier",
    "policyd/export/mutating/overlays/values.py": "an expression of names only",
    "policyd/export/patterns/amounts.py": "a whole number of a policy",
    "policyd/importers/jmespath/functions/scalars.py": "one comparison of versions",
    "policyd/importers/jmespath/functions/replacing.py": "a group in a replacement",
    "policyd/importers/kyverno/cel/rewriting.py": "a quoted name after a comparison",
    "policyd/importers/jmespath/globs.py": "one character of a wildcard",
    "policyd/importers/jmespath/cel.py": "an identifier",
    "policyd/importers/gatekeeper/locations.py": "one step of a location",
    "policyd/importers/naming.py": "characters that the name of a Policy may not have",
    "policyd/importers/kyverno/operators/comparing.py": "a quantity, duration or version",
    "policyd/importers/kyverno/operators/finding.py": "a range of two quantities",
    "policyd/export/patterns/text.py": "an identifier, or a path of identifiers",
    "policyd/importers/kyverno/matching/operations.py": "one expression of two forms",
    "policyd/importers/kyverno/matching/kinds.py": "a version of an API",
    "policyd/importers/kyverno/pod_security/level_policies.py": "a version of Kubernetes",
    "policyd/importers/kyverno/plain_lists.py": "a path of identifiers, without spaces",
    "policyd/importers/kyverno/api_calls.py": "the namespace of the request, a term of a selector",
    "policyd/importers/reads.py": "a name of a read, and the words of a kind",
    "policyd/importers/kyverno/mutate/foreach.py": "a variable, and the path of an operation",
    "policyd/importers/kyverno/mutate/operations.py": "a variable at the end of a line",
    "policyd/importers/kyverno/mutate/texts.py": "a variable, a reference, an identifier",
    "policyd/server/edits/edit_gate.py": "names of Kubernetes",
    "policyd/server/edits/showing.py": "numbers after a fixed word",
    "policyd/server/policies/held_bundles.py": "a line in the message of an error",
    "policyd/mutation/overlays/strings.py": "one of two literal texts",
    "policyd/mutation/overlays/tree.py": "marks of another language in an overlay",
    "policyd/pattern/leaves.py": "a range of numbers, words and marks of other languages",
    "policyd/pattern/marks.py": "a key in brackets",
    "policyd/policy/lint/document_advice.py": "the use of a variable: its name is an identifier",
    "policyd/policy/lint/matching/reads.py": "the use of a read: its name is an identifier",
    "policyd/policy/source/lint_comments.py": "comments of policies",
    "policyd/policy/model/exceptions.py": "a date of ten characters",
    "policyd/policy/model/names.py": "names of Kubernetes",
    "policyd/policy/model/value_hints.py": "a date in another notation",
    "policyd/policy/lint/mutations/failed.py": "the path in a message of a patch, by a command",
    "policyd/policy/lint/overlaps.py": "a step of a path",
    "policyd/policy/checks/document_checks.py": "one character",
    "policyd/policy/source/splitting.py": "separators of YAML documents",
    "policyd/policy/suite/runner.py": "the type of a pattern that the command line gives",
    "policyd/policy/source/json_text/surrogates.py": "one escape of a JSON string",
    "policyd/policy/source/json_text/values.py": "one string or bracket of JSON",
    "policyd/policy/lint/types/kinds.py": "words of an expression",
    "policyd/policy/lint/messages.py": "a word of an expression",
    "policyd/policy/lint/values/literals.py": "a literal of an expression",
    "policyd/policy/lint/values/matched_strings.py": "a literal of an expression or pattern",
    "policyd/policy/lint/values/plain_scalars.py": "numbers of YAML",
    "policyd/policy/lint/values/quantities.py": "a literal of an expression",
    "policyd/policy/lint/values/templates.py": "a literal of an expression",
    "policyd/policy/source/yaml_text/values.py": "a few words of a line with a mistake",
    "policyd/policy/source/yaml_nodes.py": "scalars of YAML",
    "policyd/option_values.py": "durations and sizes of the configuration",
    "policyd/versions.py": "a version, of a flag or of an API server",
    "policyd/tokens/verifier.py": "three parts of a token, whose length is bounded before",
}
# Patterns that are only known at run time, and an example of each.
COMPUTED = {
    ("policyd/policy/lint/document_advice.py", r"\bvariables\s*+(?:\.\s*+(?:\?\s*+)?name\b|\[)"),
    ("policyd/policy/lint/matching/reads.py", r"\breads\s*+\.\s*+name\b"),
    (
        "policyd/policy/lint/matching/reads.py",
        r"\breads\s*+\.\s*+name\b\s*+\.\s*+(?:all|exists|filter)\s*+\(",
    ),
}
SIZES = (22, 200, 4_000)
SLOW = 10_000_000  # nanoseconds; a linear pattern takes less than a tenth of this
TRIES = 3
PUMPS = 80  # repeated strings per prefix


def main() -> int:
    """Print each problem; the exit code is 1 if there is one."""
    found = problems()
    for problem in found:
        print(problem)
    return 1 if found else 0


def problems() -> list[str]:
    """Modules that use ``re`` without an entry, entries without use, and slow patterns."""
    using = {str(path.relative_to(ROOT)): path for path in modules() if uses_re(path)}
    found = [f"{name}: uses re and is not listed in {__file__}" for name in using.keys() - ALLOWED]
    found += [
        f"{name}: is listed in {__file__} and does not use re" for name in ALLOWED.keys() - using
    ]
    for path in sorted((ROOT / "policyd").rglob("*.pyx")):
        if re.search(r"^\s*(?:c?import re\b|from re\b)", path.read_text("utf-8"), re.MULTILINE):
            found.append(f"{path.relative_to(ROOT)}: compiled modules may not use re")
    for name, path in sorted(using.items()):
        for pattern, flags, searched in patterns(name, path):
            attack = slow_attack(re.compile(pattern, flags), searched)
            if attack is not None:
                found.append(f"{name}: {pattern!r} is slow on {attack!r}")
    return sorted(found)


def modules() -> Iterator[Path]:
    for path in sorted((ROOT / "policyd").rglob("*.py")):
        if not str(path.relative_to(ROOT)).startswith(TRUSTED):
            yield path


def uses_re(path: Path) -> bool:
    return any(
        isinstance(node, ast.Import) and any(alias.name == "re" for alias in node.names)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
    )


def patterns(name: str, path: Path) -> Iterator[tuple[str, int, bool]]:
    """The patterns of a module, their flags, and whether the module searches with them or only
    matches; for a pattern that is not constant, its examples in COMPUTED.
    """
    module = importlib.import_module(name.removesuffix(".py").replace("/", "."))
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or not ast.unparse(node.func).startswith("re."):
            continue
        if ast.unparse(node.func) == "re.escape" or not node.args:
            continue
        flags = [
            arg for arg in ast.walk(node) if ast.unparse(arg).startswith("re.") and arg != node.func
        ]
        names = {ast.unparse(arg) for arg in flags if isinstance(arg, ast.Attribute)}
        value = sum(int(getattr(re, each[3:])) for each in names if each[3:].isupper())
        searched = is_searched(node, path.read_text("utf-8"))
        try:
            pattern = eval(ast.unparse(node.args[0]), vars(module))  # noqa: S307 - of our own sources
        except NameError:
            computed = [text for place, text in COMPUTED if place == name]
            if not computed:
                raise SystemExit(
                    f"{name}:{node.lineno}: the pattern is not constant; add an example to COMPUTED"
                ) from None
            yield from ((text, value, searched) for text in computed)
        else:
            if isinstance(pattern, bytes):  # is as fast on characters
                pattern, value = pattern.decode("latin-1"), value | re.ASCII
            yield pattern, value, searched


def is_searched(call: ast.Call, source: str) -> bool:
    """Whether the pattern may match anywhere, so that it is tried at each position of a string."""
    function = ast.unparse(call.func)
    if function != "re.compile":
        return function not in ("re.match", "re.fullmatch")
    names = [
        ast.unparse(node.targets[0])
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == ast.unparse(call)
    ]
    uses = r"\.(?:search|finditer|findall|split|subn?)\("
    return not names or re.search(rf"\b{names[0]}{uses}", source) is not None


# Timing


def slow_attack(pattern: re.Pattern[str], searched: bool) -> str | None:
    """The start of a string on which a pattern is slow, or None."""
    for before, pump, after in attacks(pattern):
        for size in SIZES:
            text = before + pump * (size // len(pump)) + after
            if all(time_of(pattern, text, searched) > SLOW for _ in range(TRIES)):
                return text[:60]
    return None


def time_of(pattern: re.Pattern[str], text: str, searched: bool) -> int:
    start = thread_time_ns()
    pattern.fullmatch(text)
    pattern.match(text)
    if searched:
        pattern.search(text)
    return thread_time_ns() - start


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    """A prefix before a repetition, a string to repeat, and an end that matches or does not."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    letters = sorted({letter for node in tree for letter in members(node)})
    bodies = {sample(list(body)) for body in repeated(tree)} - {""}
    pumps = [
        *bodies,
        *letters,
        *(one + other for one in letters for other in letters if one != other),
    ]
    leads = {"", *leading(list(tree))}
    for lead in sorted(leads):
        for pump in pumps[:PUMPS]:
            for after in ("", "\x00"):
                yield lead, pump, after


def leading(items: list[Any]) -> Iterator[str]:
    """A string for each prefix of the pattern."""
    for index in range(len(items)):
        before = sample(items[:index])
        yield before
        for body in bodies_of(items[index]):
            yield from (before + inner for inner in leading(list(body)))


def repeated(items: Any) -> Iterator[Any]:
    for kind, argument in items:
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            yield argument[2]
        for body in bodies_of((kind, argument)):
            yield from repeated(body)


def bodies_of(node: Any) -> list[Any]:
    kind, argument = node
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return [argument[2]]
    if kind is op.SUBPATTERN:
        return [argument[3]]
    if kind is op.BRANCH:
        return list(argument[1])
    if kind is op.ATOMIC_GROUP:
        return [argument]
    return []


def members(node: Any) -> Iterator[str]:
    """Some characters that a part of a pattern matches."""
    kind, argument = node
    if kind is op.LITERAL:
        yield chr(argument)
    elif kind is op.NOT_LITERAL:
        yield "~" if argument != ord("~") else "a"
    elif kind is op.ANY:
        yield "a"
    elif kind is op.IN:
        yield from in_class(argument)
    else:
        for body in bodies_of(node):
            for inner in body:
                yield from members(inner)


CATEGORIES = {
    op.CATEGORY_DIGIT: "1", op.CATEGORY_NOT_DIGIT: "a", op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: "a", op.CATEGORY_WORD: "a1", op.CATEGORY_NOT_WORD: " -",
}  # fmt: skip


def in_class(items: Any) -> Iterator[str]:
    if items[0][0] is op.NEGATE:
        taken = set(in_class(items[1:]))
        yield from (each for each in "a1 ~" if each not in taken)
        return
    for kind, argument in items:
        if kind is op.LITERAL:
            yield chr(argument)
        elif kind is op.RANGE:
            yield chr(argument[0])
        else:
            yield from CATEGORIES[argument]


def sample(items: list[Any]) -> str:
    """A string that a sequence of parts matches, with each repetition once."""
    made = ""
    for node in items:
        kind, argument = node
        if kind is op.BRANCH:
            made += sample(list(argument[1][0]))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            made += sample(list(argument[2])) * max(1, min(argument[0], 100))
        elif bodies_of(node):
            made += sample(list(bodies_of(node)[0]))
        else:
            made += next(members(node), "")
    return made


if __name__ == "__main__":
    sys.exit(main())
