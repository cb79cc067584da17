"""Every policyd command and flag mentioned in the tree exists.

``tests`` is excluded: its tests run commands, so a wrong name fails by itself, and some run wrong
ones on purpose.
"""

import re
from collections.abc import Iterator
from functools import cache

from policyd.cli import COMMANDS, policyd
from tests.builders.commands import every
from tests.shared import ROOT
from tools import tree

TEXT = {".md", ".py", ".pyx", ".pxd", ".pyi", ".yaml", ".toml", ".json", ""}
FILES = [
    each
    for each in tree.files()
    if not each.startswith("tests/") and (ROOT / each).suffix in TEXT and (ROOT / each).is_file()
]

# Flags that files about policyd name, of other programs.
OTHERS = {
    "--abbrev": "git",
    "--admission-control-config-file": "kube-apiserver",
    "--all-namespaces": "kubectl",
    "--always": "git",
    "--archive": "krew",
    "--as": "kubectl",
    "--builder": "tools.image",
    "--callgrind-out-file": "valgrind",
    "--count": "tools/prose",
    "--certificate-identity": "cosign",
    "--certificate-oidc-issuer": "cosign",
    "--check": "sha256sum",
    "--create-namespace": "helm",
    "--destination": "helm",
    "--diff-filter": "git",
    "--dirty": "git",
    "--dry-run": "kubectl",
    "--enable-aggregator-routing": "kube-apiserver",
    "--event-ttl": "kube-apiserver",
    "--exclude-standard": "git",
    "--extra-index-url": "pip",
    "--feature-gates": "kube-apiserver",
    "--field-selector": "kubectl",
    "--for": "kubectl",
    "--force-conflicts": "kubectl",
    "--from": "kubectl",
    "--from-file": "kubectl",
    "--full-name": "git",
    "--http": "tools.publish",
    "--ignore-not-found": "kubectl",
    "--insecure-ignore-tlog": "cosign",
    "--install": "helm",
    "--keep": "tools/fuzz",
    "--key": "cosign",
    "--keyring": "helm",
    "--manifest": "krew",
    "--metrics-url": "tools/crossover",
    "--name-only": "git",
    "--no-instructions": "make bench-compare",
    "--no-optional-locks": "git",
    "--offline": "tools.publish",
    "--only": "make release",
    "--others": "git",
    "--platform": "crane",
    "--plugin": "tools.image",
    "--pod": "an agent in an example",
    "--policyd-suites": "pytest, by the plugin of policyd",
    "--post-renderer": "helm",
    "--prefix": "kubectl",
    "--previous": "kubectl",
    "--raw": "kubectl",
    "--replicas": "kubectl",
    "--repo": "helm",
    "--requests": "tools/crossover",
    "--repository": "twine",
    "--require-hashes": "pip",
    "--reset-then-reuse-values": "helm",
    "--reuse-values": "helm",
    "--runtime-config": "kube-apiserver",
    "--serve": "tools/crossover",
    "--server-side": "kubectl",
    "--set": "helm",
    "--set-file": "helm",
    "--show-managed-fields": "kubectl",
    "--show-toplevel": "git",
    "--sign": "helm",
    "--since": "kubectl",
    "--sort-by": "kubectl",
    "--source": "tools.image",
    "--tail": "kubectl",
    "--tool": "valgrind",
    "--tracing-config-file": "kube-apiserver",
    "--type": "cosign",
    "--wait": "helm",
    "--wheel": "tools.image",
    "--write": "make bench-released",
}
# Files in which a flag stands for policyd's unless the table above names its program. Elsewhere
# (loadtest, tools, the Makefile) only the flags of lines that run policyd are.
OURS_BELOW = ("policyd/", "docs/", "deploy/base", "deploy/components", "policies/")
OURS_FILES = ("README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md")

# What may follow the name where it begins a line, a string or a sentence in brackets, as a command
# does and prose may, too: verbs that end in "s" or "ed", and these words.
PROSE = re.compile(
    "[a-z]+(?:s|ed)|again|also|and|as|at|by|can|cannot|could|documentation|for|from|in|itself|may|"
    "might|must|never|not|of|off|on|only|or|policyd|should|that|to|where|which|will|with|would"
)

# In examples of output: "policyd does not create objects".
SAID = {"does"}

IMPORT = re.compile(r"^\s*(?:from|import) .*", re.MULTILINE)
FENCE = re.compile(r"^ *```\w*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)(`{1,2})([^`\n]+)\1")
NAMED = re.compile(r"(?<![\w/@.-])(?:\.venv/bin/)?policyd[ ]+([a-z][\w-]*)")
LEADING = re.compile(r"(?:^|[\"'(])[\s#$-]*" + NAMED.pattern, re.MULTILINE)
RUN = re.compile(r"(?<![\w/@.-])(?:\.venv/bin/)?policyd[ ]+([a-z]+)\b(?![-=:])([^`\n|;&]*)")
FLAG = re.compile(r"(?<![\w<-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w-])")
SHORT = re.compile(r"(?<![^\s\[(])-[A-Za-z]\b")


def options() -> dict[str, set[str]]:
    """The flags of each command."""
    found = {name: {"--help", "-h"} for name in COMMANDS}
    for name, context in every():
        found[name] = {"--help", "-h"}
        for parameter in context.command.params:
            found[name] |= {*parameter.opts, *parameter.secondary_opts}
    return found


OPTIONS = options()
OF_ALL = {flag for parameter in policyd.params for flag in parameter.opts}
ALL = set().union(*OPTIONS.values(), OF_ALL, OTHERS)


@cache
def text(file: str) -> str:
    """A file with continued lines joined, without imports of Python."""
    joined = re.sub(r" *\\\n *", " ", (ROOT / file).read_text(encoding="utf-8"))
    return IMPORT.sub("", joined)


def code(written: str) -> Iterator[str]:
    """What stands in backticks or in fenced blocks."""
    yield from FENCE.findall(written)
    yield from (span for _, span in SPAN.findall(FENCE.sub("", written)))


def unknown_commands(written: str) -> set[str]:
    """Names after ``policyd`` that are no commands, in code and where a command may begin."""
    in_code = {name for each in code(written) for name in NAMED.findall(each)} - SAID
    leading = {name for name in LEADING.findall(written) if not PROSE.fullmatch(name)}
    return (in_code | leading) - COMMANDS.keys()


def unknown_flags_of_commands(written: str) -> set[str]:
    """Flags on lines that run a command which does not have them."""
    found = set()
    for name, rest in RUN.findall(written):
        shown = re.split(r" #|\\n", rest)[0]
        flags = {*FLAG.findall(shown), *SHORT.findall(shown)}
        inner = f"{name} {shown.split()[0]}" if shown.split() else name
        known = OPTIONS.get(inner, OPTIONS.get(name, ALL))
        found |= {f"{name} {flag}" for flag in flags - known}
    return found


def test_commands_and_flags_exist() -> None:
    found = {file: unknown for file in FILES if (unknown := named_wrongly(file))}
    assert found == {}, "no command or flag; a word of prose goes into PROSE"


def named_wrongly(file: str) -> set[str]:
    """The commands and flags of a file that do not exist."""
    written = text(file)
    found = unknown_commands(written) | unknown_flags_of_commands(written)
    if file in OURS_FILES or file.startswith(OURS_BELOW):
        found |= set(FLAG.findall(written)) - ALL
    return found


def test_the_table_of_other_programs_holds_what_is_named() -> None:
    named = {flag for file in FILES for flag in FLAG.findall(text(file))}
    assert OTHERS.keys() <= named


def test_what_is_found() -> None:
    assert unknown_commands("lets policyd look up `policyd probe`") == {"probe"}
    assert unknown_commands('hint = "policyd migrate converts some"') == {"migrate"}
    assert unknown_commands("```console\n$ policyd hooks\n```\n") == {"hooks"}
    assert unknown_commands("policyd evaluates\n# policyd also lints; `policyd lint x`") == set()
    assert unknown_flags_of_commands("policyd lint --owned -p x") == {"lint --owned", "lint -p"}
    assert unknown_flags_of_commands("policyd lint x | y --other  # --more") == set()
