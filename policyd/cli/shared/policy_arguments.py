"""What was meant by options that a command does not have, and the corrected command where PATHS and
``-p`` were taken for each other. Runs no command.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

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
    context = error.ctx
    hint = None if context is None else _hint(error, context, arguments)
    if hint is None and context is not None and context.command.name == "eval":
        hint = _expression_first(error, arguments)
    if context is not None and (text := _of_command(error, context, arguments)):
        return click.UsageError(f"{error.format_message()}\n  hint: {text}", context)
    if context is None:
        return error
    if hint is None and (instead := _instead_of_file(error)):
        return click.UsageError(f"{error.format_message()}\n  hint: {instead}", context)
    if hint is None:
        if not isinstance(error, click.NoSuchOption):
            return error
        instead = _redirected(context, error.option_name, arguments)
        instead = instead or _instead(context, error.option_name, arguments)
        return click.UsageError(f"{error.message}{instead}", context)
    reason, words = hint
    command = shlex.join([*context.command_path.split(), *words])
    return click.UsageError(f"{error.format_message()}\n  hint: {reason}: {command}", context)


def _of_command(error: click.UsageError, context: click.Context, arguments: Sequence[str]) -> str:
    """Return the remedy for a mistake that only one command knows; empty for any other."""
    match context.command.name:
        case "explain" if text := _no_file(error):
            if text in RULES:
                return f"rules are explained by lint: policyd lint --explain {text}"
            command = shlex.join(each for each in arguments if each != text)
            return f"FILE is a file, or -: kubectl get {text} -o yaml | policyd explain {command} -"
        case "test" if isinstance(error, click.NoSuchOption) and error.option_name in _FLAGS:
            return applied([word for word in _without_flags(arguments) if Path(word).exists()])
        case "import" if isinstance(error, click.BadParameter):
            *others, last = _positional(context, arguments) or [""]
            missing = f"'{last}'" in error.message and not Path(last).exists()
            if others and missing and not Path(last).suffix:
                at = arguments.index(last)
                words = [*arguments[:at], "-o", *arguments[at:]]
                command = shlex.join([*context.command_path.split(), *words])
                near = f"{instead_of(last)} " if instead_of(last) else ""
                return f"{near}-o {last} writes to it: {command}"
    return ""


def _no_file(error: click.UsageError) -> str:
    """Return the rule of lint, or the object as kubectl names it, that is given as a file."""
    parts = error.message.split("'")
    if not isinstance(error, click.BadParameter) or len(parts) < 3:
        return ""
    kind, _, name = parts[1].partition("/")
    of_kubectl = kind.isalpha() and name.replace("-", "").isalnum()
    return parts[1] if of_kubectl or parts[1] in RULES else ""


def _instead_of_file(error: click.UsageError) -> str:
    """Return what to give in place of a file that does not exist; empty for other errors."""
    if not isinstance(error, click.BadParameter) or error.param is None:
        return ""
    parts = error.message.split("'")
    of_files = len(parts) > 2 and isinstance(error.param.type, click.Path | click.File)
    return instead_of(parts[1]) if of_files and not Path(parts[1]).exists() else ""


def _expression_first(
    error: click.UsageError, arguments: Sequence[str]
) -> tuple[str, list[str]] | None:
    """Return the arguments of eval with its file after one expression."""
    places = [at for at, word in enumerate(arguments) if Path(word).is_file()]
    wrong = error.param if isinstance(error, click.BadParameter) else None
    if not isinstance(wrong, click.Argument) or len(places) != 1:
        return None
    file = arguments[places[0]]
    others = [word for at, word in enumerate(arguments) if at != places[0]]
    if len(others) > 1 and not any(word.startswith("-") for word in others):
        return "there is one expression: combine several in a list", [
            f"[{', '.join(others)}]",
            file,
        ]
    return "the expression comes before the file", [*others, file]


def _hint(
    error: click.UsageError, context: click.Context, arguments: Sequence[str]
) -> tuple[str, list[str]] | None:
    """Return what the command expects and the corrected arguments."""
    parameters = context.command.params
    if isinstance(error, click.NoSuchOption):
        reads_paths = any(each.name == "paths" and each.nargs == -1 for each in parameters)
        if error.option_name not in _FLAGS or not reads_paths:
            return None
        return "policies are given as PATHS", list(_without_flags(arguments))
    if isinstance(error, click.MissingParameter) and (found := _option_of_files(error, arguments)):
        return found
    if isinstance(error, click.BadParameter) and getattr(error.param, "name", "") == "resource":
        words = _flagged(context, list(_without_flags(arguments, ("--resource",))))
        return "files need no option", words
    if not any(_is_policies(each) for each in parameters) or not _is_mixed_up(error):
        return None
    words = _flagged(context, arguments)
    if words == list(arguments) and _is_policies(getattr(error, "param", None)):
        words = [each for word in arguments for each in _separate(word)]
        if words != list(arguments):
            return "-p may be repeated", words
    if words == list(arguments):
        if not isinstance(error, click.MissingParameter) or not arguments:
            return None
        words = ["-p", "POLICIES", *arguments]
    return "policies are given with -p", words


def _flagged(context: click.Context, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with ``-p`` before those that hold policies."""
    if not any(map(_is_policies, context.command.params)):
        return list(arguments)
    given = [each for each in _positional(context, arguments) if holds_policies(each)]
    words: list[str] = []
    for word in arguments:
        if word in given:
            given.remove(word)
            words.append("-p")
        words.append(word)
    return words


def _option_of_files(
    error: click.MissingParameter, arguments: Sequence[str]
) -> tuple[str, list[str]] | None:
    """Return the arguments of a command that takes files by options only, with the missing one."""
    context, option = error.ctx, error.param
    if context is None or option is None or _is_policies(option):
        return None
    files = isinstance(option, click.Option) and isinstance(option.type, click.Path)
    if not files or any(isinstance(each, click.Argument) for each in context.command.params):
        return None
    given, words = _positional(context, arguments), list[str]()
    for word in arguments:
        if word in given:
            given.remove(word)
            words.append("-p" if holds_policies(word) else option.opts[0])
        words.append(word)
    named = option.opts[0] in words
    return (f"{option.name} are given with {option.opts[0]}", words) if named else None


def _instead(context: click.Context, option: str, arguments: Sequence[str]) -> str:
    """Return what to write for an option of another command or tool; empty if unknown."""
    name, parameters = option.lstrip("-"), context.command.params
    known = {opt.lstrip("-"): opt for each in parameters for opt in each.opts}
    for other in _OPTIONS.get(name, ()):
        if other in known and not (other == "output" and _is_format(option, arguments)):
            return f" Did you mean {known[other]!r}?"
    for needed, text in _KNOWN.get(name, ()):
        if needed in known:
            return f" {text.replace('SELF', context.command_path)}"
    for each in parameters:
        if isinstance(each.type, click.Choice) and name in each.type.choices:
            return f" Did you mean '{each.opts[-1]} {name}'?"
    files = [each for each in parameters if isinstance(each, click.Argument)]
    if name in _OF_FILES and files:
        words = shlex.join(_flagged(context, list(_without_flags(arguments, (option,)))))
        words = files[-1].make_metavar(context) if arguments[-1] == option else words
        return f" Files need no option: {context.command_path} {words}"
    near = nearest(name, known, _ALIKE)
    if not near:
        return ""
    many = any(each.multiple for each in parameters if known[near] in each.opts)
    repeated = " Repeat it for each value." if many and name == f"{near}s" else ""
    return f" Did you mean {known[near]!r}?{repeated}"


def _is_format(option: str, arguments: Sequence[str]) -> bool:
    """Whether the value of an option is no file: kubectl has -o json."""
    given = dict(pairwise(arguments)).get(option, "")
    return bool(given) and not Path(given).suffix


def _redirected(context: click.Context, option: str, arguments: Sequence[str]) -> str:
    """Return the command for an option with the file of its output; empty for another option."""
    writes = any("--output" in each.opts for each in context.command.params)
    if writes or option.lstrip("-") not in _OF_OUTPUT or option not in arguments:
        return ""
    at = arguments.index(option)
    file = arguments[at + 1] if at + 1 < len(arguments) else ""
    if not Path(file).suffix:
        return ""
    words = [*context.command_path.split(), *arguments[:at], *arguments[at + 2 :]]
    return (
        f"\n  hint: the output goes to standard output: {shlex.join(words)} > {shlex.quote(file)}"
    )


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


def _positional(context: click.Context, arguments: Sequence[str]) -> list[str]:
    """Return the arguments that are no options and no values of options."""
    parser = context.command.make_parser(context)
    parser.ignore_unknown_options = True
    values, surplus, _ = parser.parse_args(list(arguments))
    found: list[str] = list(surplus)
    for each in context.command.params:
        if isinstance(each, click.Argument):
            value = values.get(str(each.name))
            listed = value if isinstance(value, list | tuple) else [value]
            found += [word for word in listed if isinstance(word, str)]
    return found


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
