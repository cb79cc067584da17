"""The command that explains a denial or finding, ready to be run. Evaluates no policy."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from policyd.cli.apply.checked import CheckedObject
from policyd.cli.shared.groups import ARGUMENTS
from policyd.cli.shared.manifests import is_namespace
from policyd.cli.shared.output import shortest
from policyd.cli.shared.request import object_name, selector
from policyd.json_types import object_in
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.source.loaded_documents import Document

_OWN = ("--format", "--help")  # not passed on
_LABELS = "--namespace-labels"


def explain_hint(
    checked: Sequence[CheckedObject], known: Sequence[Document], objects: Mapping[str, int]
) -> str:
    """Return lines with the command for the first denied object, or if there is none for the first
    with a finding; empty if there is neither.

    The command gets every option of this run that it also has. ``known``: the manifests that
    describe the cluster. ``objects``: the number of them in each file.
    """
    denied = [each for each in checked if not each.admission.allowed]
    found = denied or [each for each in checked if each.findings or each.admission.ignored]
    if not found:
        return ""
    first = found[0]
    document = first.document
    if document.file != "-" and not Path(document.file).is_file():
        return ""  # a pipe such as <(command), which cannot be read again
    others = [each for each in known if each.file != document.file]
    options = _options(first, click.get_current_context())
    words = ["policyd", "explain", *options, *_definition(document, others)]
    if _LABELS not in words:
        words += _labels(document, others)
    file = shortest(document.file)
    words.append(f"./{file}" if file.startswith("-") and file != "-" else file)
    if objects[document.file] > 1 and object_name(document):
        words += ["--select", selector(document)]
    also = ", pipe the same input into this command" if file == "-" else ""
    what = "error" if first.erred else "denial" if denied else "finding"
    return f"to explain the first {what}{also}:\n  {shlex.join(words)}"


def _options(checked: CheckedObject, context: click.Context) -> list[str]:
    """Return the options of this run that ``explain`` also has."""
    parser = context.command.make_parser(context)
    given, _, order = parser.parse_args(list(context.meta[ARGUMENTS]))
    group = context.find_root().command
    # The table of commands imports explain only now, and apply stands beside it.
    explain = group.get_command(context, "explain") if isinstance(group, click.Group) else None
    theirs = {name for each in explain.params for name in each.opts} if explain else set()
    words = []
    for parameter in dict.fromkeys(order):
        name = parameter.name or ""
        shared = [each for each in parameter.opts if each in theirs]
        if not isinstance(parameter, click.Option) or not shared:
            continue
        if shared[-1] in _OWN or (shared[-1] == "--old" and not checked.updated):
            continue
        values = given[name] if parameter.multiple else [given[name]]
        flag = min(shared, key=len) if "-p" in shared else shared[-1]
        for value in values:
            words += [flag] if parameter.is_flag else [flag, str(value)]
    return words


def _definition(document: Document, others: Sequence[Document]) -> list[str]:
    """Return the file with the definition of the object's kind, if it is one of the others."""
    for each in others:
        mapper = BUILT_IN.with_definitions(definitions_among([each.raw]))
        defined = mapper.defined(document.api_version, document.kind)
        if defined is not None and Path(each.file).is_file():
            return ["-p", shortest(each.file)]
    return []


def _labels(document: Document, others: Sequence[Document]) -> list[str]:
    """Return the labels of the object's namespace, if its Namespace is in another file; or that
    file, if it has annotations too.
    """
    for each in others:
        if is_namespace(each) and each.name == document.namespace:
            if object_in(each.raw, "metadata", "annotations") and Path(each.file).is_file():
                return ["-p", shortest(each.file)]
            labels = object_in(each.raw, "metadata", "labels")
            if labels:
                return [_LABELS, ",".join(f"{key}={value}" for key, value in labels.items())]
    return []
