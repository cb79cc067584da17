"""What was meant by options that a command does not have, and the corrected command where PATHS and
``-p`` were taken for each other. Runs no command.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import click

from policyd.near_names import nearest
from policyd.policy.lint.lint_rules import RULES
from policyd.policy.source.files import read
from policyd.policy.source.tree import instead_of

_ALIKE = 0.7  # an option that is meant, and a misspelt one
_FLAGS = ("-p", "--policies")
_MOST_BYTES = 2**20  # read of a path to see whether it holds policies
_OF_POLICIES = (b"policyd.dev/", b"AdmissionPolicy")
_OF_OBJECTS = (b"apiVersion",)
# Options that people know from other commands and tools, without their hyphens, and those that a
# command may have instead.
_OPTIONS: Mapping[str, Sequence[str]] = {
    "policy": ("policies",),
    "port": ("bind",),
    "address": ("bind",),
    "listen": ("bind",),
    "cert": ("tls-cert",),
    "key": ("tls-key",),
    "o": ("output", "format"),
    "output": ("format",),
    "name": ("select",),
    "as": ("user",),
    "as-group": ("group",),
    "old-object": ("old",),
    "k8s-version": ("kubernetes-version",),
    **dict.fromkeys(("k", "filter", "only", "test-case-selector"), ("run",)),
}
# The advice in place of options: the first one whose option the command has. SELF is the
# command.
_KNOWN: Mapping[str, Sequence[tuple[str, str]]] = {
    **dict.fromkeys(
        ("A", "all-namespaces"),
        (
            ("cluster", "--cluster checks all namespaces."),
            ("api", "Without -n, SELF checks all namespaces."),
            ("follow", "Without -n, SELF shows all namespaces."),
        ),
    ),
    "cluster": (("api", "SELF always checks a cluster: leave the option out."),),
    "params": (("var", "Write --var 'params={…}', as JSON."),),
    "dry-run": (("exclude", "apply changes nothing in a cluster."),),
    "select": (("exclude", "apply checks all of PATHS; policyd explain chooses one by --select."),),
    **dict.fromkeys(
        ("l", "selector", "label-selector", "field-selector", "labels"),
        (
            (
                "api",
                "SELF checks every object that policies match, or with -n a namespace. To check "
                "objects by labels: kubectl get KIND -l KEY=VALUE -A -o yaml | policyd apply "
                "-p POLICIES -",
            ),
            ("old", "kubectl selects by labels: kubectl get KIND -l KEY=VALUE -o yaml | SELF … -"),
            ("run", "--run REGEX chooses cases by their names."),
        ),
    ),
    **dict.fromkeys(
        ("set", "values"),
        (("exclude", "Render first: helm template CHART --set a=b | policyd apply -p POLICIES -"),),
    ),
    **dict.fromkeys(
        ("p", "policy", "policies"),
        (
            (
                "filename",
                "-f takes webhook configurations; policyd webhooks render prints them for "
                "policies.",
            ),
        ),
    ),
}
_OF_OUTPUT = ("o", "output", "out", "output-file", "report")
_OF_FILES = frozenset(
    ("f", "file", "filename", "p", "policy", "policies", "r", "resource", "object", "manifest")
)


def corrected(error: click.UsageError, arguments: Sequence[str]) -> click.UsageError:
    """Return the error of a command, with the command that was probably meant as a hint.

    ``arguments``: the command's own, as they were typed.
    """
    if error.ctx is None:
        return error
    mistake = _Mistake(error, error.ctx, arguments)
    if hint := next(filter(None, mistake.hints()), ""):
        return click.UsageError(f"{error.format_message()}\n  hint: {hint}", error.ctx)
    if not isinstance(error, click.NoSuchOption):
        return error
    instead = mistake.redirected(error.option_name) or mistake.instead(error.option_name)
    return click.UsageError(f"{error.message}{instead}", error.ctx)


class _Mistake(NamedTuple):
    """An error of a command, and its arguments."""

    error: click.UsageError
    context: click.Context
    arguments: Sequence[str]

    def hints(self) -> Iterator[str]:
        """Yield what was probably meant, the most certain first; empty if it is something else."""
        error, command = self.error, self.context.command
        yield self._of_command()
        reads_paths = any(each.name == "paths" and each.nargs == -1 for each in command.params)
        if isinstance(error, click.NoSuchOption) and error.option_name in _FLAGS and reads_paths:
            yield self._written("policies are given as PATHS", _without_flags(self.arguments))
        if isinstance(error, click.MissingParameter):
            yield self._with_option(error.param)
        if isinstance(error, click.BadParameter) and getattr(error.param, "name", "") == "resource":
            words = list(_without_flags(self.arguments, ("--resource",)))
            yield self._written("files need no option", self._flagged(words))
        elif any(map(_is_policies, command.params)) and _is_mixed_up(error):
            yield self._with_policies()
        if command.name == "eval":
            yield self._expression_first()
        yield self._existing_file()

    def _written(self, reason: str, words: Iterable[str]) -> str:
        """Return the reason and the command with these arguments."""
        return f"{reason}: {shlex.join([*self.context.command_path.split(), *words])}"

    def _of_command(self) -> str:
        """Return the remedy for a mistake that only one command knows."""
        error, arguments = self.error, self.arguments
        match self.context.command.name:
            case "explain" if text := _no_file(error):
                if text in RULES:
                    return f"rules are explained by lint: policyd lint --explain {text}"
                command = shlex.join(each for each in arguments if each != text)
                get = f"kubectl get {text} -o yaml"
                return f"FILE is a file, or -: {get} | policyd explain {command} -"
            case "test" if isinstance(error, click.NoSuchOption) and error.option_name in _FLAGS:
                return applied([word for word in _without_flags(arguments) if Path(word).exists()])
            case "import" if isinstance(error, click.BadParameter):
                *others, last = self._positional(arguments) or [""]
                missing = f"'{last}'" in error.message and not Path(last).exists()
                if others and missing and not Path(last).suffix:
                    at = arguments.index(last)
                    words = [*arguments[:at], "-o", *arguments[at:]]
                    near = f"{instead_of(last)} " if instead_of(last) else ""
                    return self._written(f"{near}-o {last} writes to it", words)
        return ""

    def _existing_file(self) -> str:
        """Return what to give in place of a file that does not exist."""
        error = self.error
        if not isinstance(error, click.BadParameter) or error.param is None:
            return ""
        parts = error.message.split("'")
        of_files = len(parts) > 2 and isinstance(error.param.type, click.Path | click.File)
        return instead_of(parts[1]) if of_files and not Path(parts[1]).exists() else ""

    def _expression_first(self) -> str:
        """Return the command eval with its file after one expression."""
        error, arguments = self.error, self.arguments
        places = [at for at, word in enumerate(arguments) if Path(word).is_file()]
        wrong = error.param if isinstance(error, click.BadParameter) else None
        if not isinstance(wrong, click.Argument) or len(places) != 1:
            return ""
        file = arguments[places[0]]
        others = [word for at, word in enumerate(arguments) if at != places[0]]
        if len(others) > 1 and not any(word.startswith("-") for word in others):
            words = [f"[{', '.join(others)}]", file]
            return self._written("there is one expression: combine several in a list", words)
        return self._written("the expression comes before the file", [*others, file])

    def _with_policies(self) -> str:
        """Return the command with ``-p`` before each path of policies."""
        arguments = list(self.arguments)
        words = self._flagged(arguments)
        if words == arguments and _is_policies(getattr(self.error, "param", None)):
            words = [each for word in arguments for each in _separate(word)]
            if words != arguments:
                return self._written("-p may be repeated", words)
        if words == arguments:
            if not isinstance(self.error, click.MissingParameter) or not arguments:
                return ""
            words = ["-p", "POLICIES", *arguments]
        return self._written("policies are given with -p", words)

    def _flagged(self, arguments: Sequence[str]) -> list[str]:
        """Return arguments with ``-p`` before those that hold policies."""
        if not any(map(_is_policies, self.context.command.params)):
            return list(arguments)
        given = [each for each in self._positional(arguments) if holds_policies(each)]
        words: list[str] = []
        for word in arguments:
            if word in given:
                given.remove(word)
                words.append("-p")
            words.append(word)
        return words

    def _with_option(self, option: click.Parameter | None) -> str:
        """Return a command that takes files by options only, with the missing one."""
        files = isinstance(option, click.Option) and isinstance(option.type, click.Path)
        parameters = self.context.command.params
        if option is None or not files or _is_policies(option):
            return ""
        if any(isinstance(each, click.Argument) for each in parameters):
            return ""
        given, words = self._positional(self.arguments), list[str]()
        for word in self.arguments:
            if word in given:
                given.remove(word)
                words.append("-p" if holds_policies(word) else option.opts[0])
            words.append(word)
        named = option.opts[0] in words
        reason = f"{option.name} are given with {option.opts[0]}"
        return self._written(reason, words) if named else ""

    def instead(self, option: str) -> str:
        """Return what to write for an option of another command or tool; empty if unknown."""
        name, parameters = option.lstrip("-"), self.context.command.params
        path = self.context.command_path
        known = {opt.lstrip("-"): opt for each in parameters for opt in each.opts}
        value = dict(pairwise(self.arguments)).get(option, "")
        is_format = bool(value) and not Path(value).suffix  # kubectl has -o json
        for other in _OPTIONS.get(name, ()):
            if other in known and not (other == "output" and is_format):
                return f" Did you mean {known[other]!r}?"
        for needed, text in _KNOWN.get(name, ()):
            if needed in known:
                return f" {text.replace('SELF', path)}"
        for each in parameters:
            if isinstance(each.type, click.Choice) and name in each.type.choices:
                return f" Did you mean '{each.opts[-1]} {name}'?"
        files = [each for each in parameters if isinstance(each, click.Argument)]
        if name in _OF_FILES and files:
            words = shlex.join(self._flagged(list(_without_flags(self.arguments, (option,)))))
            last = self.arguments[-1] == option
            words = files[-1].make_metavar(self.context) if last else words
            return f" Files need no option: {path} {words}"
        near = nearest(name, known, _ALIKE)
        if not near:
            return ""
        many = any(each.multiple for each in parameters if known[near] in each.opts)
        repeated = " Repeat it for each value." if many and name == f"{near}s" else ""
        return f" Did you mean {known[near]!r}?{repeated}"

    def redirected(self, option: str) -> str:
        """Return the command for an option with the file of its output; empty for other options."""
        arguments = self.arguments
        writes = any("--output" in each.opts for each in self.context.command.params)
        if writes or option.lstrip("-") not in _OF_OUTPUT or option not in arguments:
            return ""
        at = arguments.index(option)
        file = arguments[at + 1] if at + 1 < len(arguments) else ""
        if not Path(file).suffix:
            return ""
        words = [*arguments[:at], *arguments[at + 2 :]]
        hint = self._written("the output goes to standard output", words)
        return f"\n  hint: {hint} > {shlex.quote(file)}"

    def _positional(self, arguments: Sequence[str]) -> list[str]:
        """Return the arguments that are no options and no values of options."""
        parser = self.context.command.make_parser(self.context)
        parser.ignore_unknown_options = True
        values, surplus, _ = parser.parse_args(list(arguments))
        found: list[str] = list(surplus)
        for each in self.context.command.params:
            if isinstance(each, click.Argument):
                value = values.get(str(each.name))
                listed = value if isinstance(value, list | tuple) else [value]
                found += [word for word in listed if isinstance(word, str)]
        return found


def _no_file(error: click.UsageError) -> str:
    """Return the rule of lint, or the object as kubectl names it, that is given as a file."""
    parts = error.message.split("'")
    if not isinstance(error, click.BadParameter) or len(parts) < 3:
        return ""
    kind, _, name = parts[1].partition("/")
    of_kubectl = kind.isalpha() and name.replace("-", "").isalnum()
    return parts[1] if of_kubectl or parts[1] in RULES else ""


def _separate(word: str) -> list[str]:
    """Return the paths of ``a,b``, each but the first after ``-p``."""
    paths = word.split(",")
    if len(paths) == 1 or Path(word).exists() or not any(Path(each).exists() for each in paths):
        return [word]
    return [paths[0], *(part for each in paths[1:] for part in ("-p", each))]


def _is_policies(parameter: click.Parameter | None) -> bool:
    return parameter is not None and set(_FLAGS) <= set(parameter.opts)


def _is_mixed_up(error: click.UsageError) -> bool:
    """Whether an argument is wrong or one too many, or the option ``-p`` is missing."""
    if isinstance(error, click.BadParameter):
        return isinstance(error.param, click.Argument) or _is_policies(error.param)
    return type(error) is click.UsageError


def _without_flags(arguments: Iterable[str], flags: Sequence[str] = _FLAGS) -> Iterator[str]:
    """Yield the arguments without these options, whose values are kept."""
    glued = [f"{flag}=" if flag.startswith("--") else flag for flag in flags]
    for word in arguments:
        if word not in flags:
            yield word.removeprefix(next(filter(word.startswith, glued), ""))


def holds_policies(path: str) -> bool:
    """Whether a file or directory probably holds policies; its documents are not read."""
    return _holds(path, _OF_POLICIES)


def applied(paths: Sequence[str]) -> str:
    """Return the command that checks the manifests among these paths; empty if there are none."""
    of_policies = list(filter(holds_policies, paths))
    manifests = [each for each in paths if each not in of_policies and _holds(each, _OF_OBJECTS)]
    if not manifests:
        return ""
    flags = [word for each in of_policies or ["POLICIES"] for word in ("-p", each)]
    command = shlex.join(["policyd", "apply", *flags, *manifests])
    return f"policyd apply checks manifests: {command}"


def _holds(path: str, marks: Sequence[bytes]) -> bool:
    if path == "-":
        return False
    files, _ = read([path], pipes=False, most=_MOST_BYTES)
    return any(mark in file.data for file in files for mark in marks)
