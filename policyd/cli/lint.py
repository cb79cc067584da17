"""``policyd lint``: reports errors in policy sources, and advice. Evaluates no request, except the
cases of suites with ``--strict``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import click
from click.core import ParameterSource

from policyd.cli.shared.corrections import corrected_files, edit_text, write_changed
from policyd.cli.shared.corrections import diff as difference
from policyd.cli.shared.kubeconfig import INCOMPLETE, Kubeconfig, kubeconfig_options
from policyd.cli.shared.output import counted, echo_json, echo_problems, echo_warning, format_option
from policyd.cli.shared.policy_options import NO_POLICIES_HINT, policy_paths, without_policies
from policyd.cli.shared.reports import ReportEntry, ReportLevel, ReportRule, echo_report
from policyd.cli.shared.settings import option, printing
from policyd.cli.shared.terminal.progress import counting
from policyd.cli.shared.terminal.wrapping import table_row, terminal_width
from policyd.cli.shared.version import VERSION, version_option
from policyd.errors import PolicyError, Problem
from policyd.offline.suite_policies import SuitePolicies
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.lint.all import all_advice
from policyd.policy.lint.details.explaining import explanation
from policyd.policy.lint.lint_rules import RULES, faults, nearest, refused, suppress
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.type_check import with_types
from policyd.policy.lint.version_needs import newest_need
from policyd.policy.source.files import SourceFile, read
from policyd.policy.source.json_text.encoding import json_bytes
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load_files
from policyd.policy.suite import runner
from policyd.policy.suite.missing_policies import missing_policies
from policyd.versions import KubernetesVersion

_EPILOG = """\b
Examples:
  policyd lint
  policyd lint policies/
  kustomize build overlays/prod | policyd lint -
  policyd lint --strict policies/
  policyd lint --disable wildcard,no-binding policies/
  policyd lint --fail-on advice policies/  # exit status 1 also for advice
  policyd lint --fix --diff policies/      # show what --fix would correct
  policyd lint --fix policies/
  policyd lint policies/ --format github   # annotate lines in a workflow
  policyd lint policies/ --format sarif > policyd.sarif   # for code scanning
  policyd lint policies/ --format json | \\
      jq '.[] | select(.severity == "error")'
  policyd lint --target 1.30 policies/     # what 1.30 would reject
  policyd lint --rules
  policyd lint --explain unguarded-field
  policyd lint --cluster policies/         # also what other engines left

\b
To disable advice in a file (policyd lint --rules lists all rules):
  # policyd-lint: disable=wildcard the reason
  Above the first line of a file, the comment applies to the file; above the
  first line of a document, to that document; anywhere else, to the field or
  list item on its line or on the next line, with everything in it.

\b
What --cluster needs (requires pip install 'policyd[cluster]'):
  list  what policyd import --print-rbac names, webhook configurations,
        endpointslices.discovery.k8s.io, deployments.apps; get services

Exit status: 0 if there are no errors (advice counts only with --fail-on advice), 1 if there are, 2
if an option is invalid or the cluster cannot be reached, 3 if part of the cluster could not be
read. With --fix, only what remains counts; with --diff nothing is corrected.
"""


def _rule_names(given: tuple[str, ...]) -> frozenset[str]:
    names = frozenset(name.strip() for each in given for name in each.split(","))
    for name in sorted(names):
        reason = refused(name)
        if reason:
            hint = f"; {nearest(name)}" if name not in RULES else ""
            raise click.BadParameter(f"{reason}{hint}")
    return names


def _offered(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return rules for a shell that completes names, or the last name of a list."""
    before, comma, last = incomplete.rpartition(",")
    given = before.split(",")
    return [
        f"{before}{comma}{name}" for name in RULES if name.startswith(last) and name not in given
    ]


def _explain_rule(name: str) -> None:
    if name not in RULES:
        raise click.BadParameter(f"there is no rule {name!r}; {nearest(name, most=3)}")
    click.echo(explanation(name))


def _list_rules(_: bool) -> None:
    width, columns = max(map(len, RULES)), terminal_width()
    for name, rule in sorted(RULES.items(), key=lambda item: (item[1].severity, item[0])):
        cells = (f"{name:{width}}", f"{rule.severity:6}")
        click.echo(table_row(cells, rule.about, columns))


@click.command("lint", epilog=_EPILOG)
@policy_paths(click.Path(path_type=Path, allow_dash=True))
@format_option(
    "text",
    "json",
    "sarif",
    "github",
    "gitlab",
    help="Choose the output format. json is a list of objects with file, line, column, path, "
    "message, summary, hint, rule, severity, fix (old and new, and the offset of old from the "
    "column; null if there is no certain correction) and related (other places, at most 100).",
)
@option(
    "--disable RULE,…...",
    "Do not report advice of these rules; may be repeated.",
    to="disabled",
    read=_rule_names,
    shell_complete=_offered,
)
@option(
    "--strict",
    "Also report mutations that are not idempotent (run on the cases of the suites) and "
    "comments that disable nothing.",
)
@printing("--rules", "List all rules and exit.", _list_rules)
@printing(
    "--explain RULE",
    "Explain a rule with an example and exit.",
    _explain_rule,
    shell_complete=_offered,
)
@option(
    "--fail-on",
    "Exit with status 1 for findings of this severity and above.",
    type=click.Choice(["error", "advice"]),
    default="error",
)
@option(
    "--fix",
    "Correct mistakes that have one certain correction, such as the case of an operation, "
    "the plural of a resource, missing quotes or === in CEL; then report what remains.",
)
@option("--diff", "With --fix, print the changes and write nothing.")
@version_option()
@option(
    "--target",
    "Report what this Kubernetes version, the oldest that must run the policies, does not "
    "support, and which version each policy needs.",
    type=VERSION,
)
@option(
    "--cluster",
    "Also report what Kyverno and Gatekeeper left in a cluster: webhooks without a Service, "
    "policies and exceptions without effect, and what policies in PATHS enforce a second time. "
    "The cluster is only read, and the current directory only if PATHS names it.",
)
@kubeconfig_options
def command(
    *,
    paths: tuple[Path, ...],
    form: str,
    disabled: frozenset[str],
    strict: bool,
    fail_on: str,
    fix: bool,
    diff: bool,
    version: KubernetesVersion,
    target: KubernetesVersion | None,
    cluster: bool,
    kube: Kubeconfig,
) -> None:
    """Report every error in your policies, plus advice. It needs no cluster.

    PATHS are files and directories of YAML or JSON; - is standard input. Without PATHS, the
    policies of policyd.yaml are read, or else the current directory. Fields, names and CEL
    expressions are checked. Expressions are type-checked against the schemas of the kinds that
    resourceRules name: built-in kinds, subresources, and kinds of CustomResourceDefinitions in
    PATHS. For kinds behind wildcards, only metadata is checked. Advice
    points out what is probably a mistake.
    """
    if target is not None and target > version:
        raise click.UsageError(f"--target {target} is newer than --kubernetes-version {version}")
    if diff and not fix:
        raise click.UsageError("--diff needs --fix")
    if fix and any(str(path) == "-" for path in paths):
        raise click.UsageError("--fix corrects files: save standard input to a file first")

    source = click.get_current_context().get_parameter_source("paths")
    paths = () if cluster and source is ParameterSource.DEFAULT else paths
    files, unreadable = read(paths)

    def look(files: Sequence[SourceFile]) -> tuple[Sources, list[Problem]]:
        sources = load_files(files, unreadable, version=version)
        found = _find(sources, paths, disabled, strict=strict, target=target)
        return sources, sorted(found, key=lambda each: (each.file, each.line, each.column))

    sources, found = look(files)
    if fix:
        changed, edits, after = corrected_files(files, (sources, found), look)
        if diff:
            click.echo("".join(map(difference, files, changed)), nl=False)
        else:
            write_changed(files, changed)
            for edit in edits:
                click.echo(edit_text(edit), err=form != "text")
            sources, found = after
    unread: list[Problem] = []
    if cluster:
        left = _left_in_cluster(kube, sources, unread)
        found += suppress(left, sources.lint_comments, disabled)[0]
    if not diff:
        _write(form, found)
    errors = sum(problem.severity == "error" for problem in found)
    if form == "text":
        documents = counted(len(sources.documents), "document")
        summary = f"{documents}: {counted(errors, 'error')}, {len(found) - errors} advice"
        click.echo(summary, err=True)
        if target is not None:
            _print_needs(sources)
    for each in unread:
        echo_warning(each)
    if errors or (found and fail_on == "advice"):
        raise SystemExit(1)
    if unread:
        raise SystemExit(INCOMPLETE)


def _left_in_cluster(kube: Kubeconfig, sources: Sources, unread: list[Problem]) -> list[Problem]:
    """Return what other engines left; ``unread`` gets what could not be read."""
    from policyd.leftovers.finding import leftovers

    with kube.reader() as reader, counting() as advance:
        return [*leftovers(reader, sources.of_kind("Policy"), unread, advance)]


def _print_needs(sources: Sources) -> None:
    """Print the version that each policy needs, unless it is the oldest supported one."""
    for policy in LintRun(sources).policies:
        need, document = newest_need(policy), policy.document
        if need is not None:
            where = f"{document.kind} {document.name}"
            click.echo(f"{where} needs Kubernetes {need.version}: {need.what}", err=True)


def _find(
    sources: Sources,
    paths: Sequence[Path],
    disabled: frozenset[str],
    *,
    strict: bool,
    target: KubernetesVersion | None,
) -> Iterator[Problem]:
    """Find errors and advice, except what is disabled."""
    compiled = compiler.compile_sources(sources)
    errors = [*compiled.problems, *faults(sources.lint_comments)]
    files = {each.name: each.file for each in sources.documents if each.is_policy}
    for suite in sources.of_kind("PolicyTest"):
        errors += missing_policies(suite, files)
    if strict and not any(problem.severity == "error" for problem in errors):
        errors += not_idempotent(compiled, sources)
    run = LintRun(sources, datetime.now(UTC).date(), target)
    errors, advice = with_types(run, errors), all_advice(run)
    if not errors and paths:
        advice += _no_policies(sources, paths)
    kept, unused = suppress([*errors, *advice], sources.lint_comments, disabled)
    yield from _said_once(kept)
    if strict:
        yield from (each.unused() for each in unused if not any(map(refused, each.rules)))


def _said_once(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Leave out what another problem says: that a value at fault has to be in quotes; and the hint
    at the type of an expression whose operands do not fit each other, which is a guess.
    """
    faulty = {(each.file, each.line, each.column) for each in problems if each.severity == "error"}
    misfits = {
        (each.file, each.document, each.path)
        for each in problems
        if "no matching overload" in each.message
    }
    for each in problems:
        if each.rule == "unquoted-value" and (each.file, each.line, each.column) in faulty:
            continue
        guess = each.message.startswith("must evaluate to ")
        known = guess and (each.file, each.document, each.path) in misfits
        yield replace(each, hint="") if known else each


def _no_policies(sources: Sources, paths: Sequence[Path]) -> Iterator[Problem]:
    message = without_policies(sources, paths)
    if message:
        first, rule = str(paths[0]), "no-policies"
        yield Problem(message, first, hint=NO_POLICIES_HINT, rule=rule, severity="advice")


def not_idempotent(policies: CompiledPolicySet, sources: Sources) -> Iterator[Problem]:
    """Report the cases of suites whose mutations change their own result when they run again."""
    for document in sources.of_kind("PolicyTest"):
        try:
            chosen = SuitePolicies.of(document, policies)
        except PolicyError as error:
            line, column = document.place("policies")
            first = str(error.problems[0]) if error.problems else str(error)
            message = f"the policies of the suite cannot be loaded: {first}"
            yield Problem(message, file=document.file, line=line, column=column, path="policies")
            continue
        for case in runner.run(
            document, chosen.admit, within=chosen.admitting, mapper=chosen.mapper
        ):
            found = [each.found for each in case.mismatches if each.key == runner.IDEMPOTENT]
            if case.error:
                message = f"case {case.name!r} cannot be run: {case.error}"
            elif found and found[0] is True:
                message = f"case {case.name!r} sets idempotent: false, but it is idempotent"
            elif found:
                again = found[0] if isinstance(found[0], str) else json_bytes(found[0]).decode()
                message = f"case {case.name!r}: a second run of the mutations returns {again}"
            else:
                continue
            yield Problem(
                message,
                file=case.file,
                line=case.line,
                hint="mutate only what still differs, or set idempotent: false in the case",
                rule="not-idempotent",
            )


def _write(form: str, problems: Sequence[Problem]) -> None:
    if form == "text":
        echo_problems(problems)
    elif form == "json":
        fields = [asdict(each) for each in problems]
        echo_json([{name: each[name] for name in each if name != "document"} for each in fields])
    else:
        rules = {
            name: ReportRule(rule.about, rule.remedy, _level(rule.severity))
            for name, rule in RULES.items()
        }
        echo_report(form, _entries(problems), rules, "policyd lint")


def _level(severity: str) -> ReportLevel:
    return "error" if severity == "error" else "warning"


def _entries(problems: Sequence[Problem]) -> Iterator[ReportEntry]:
    for problem in problems:
        parts = (problem.text, problem.excerpt, problem.hint and f"hint: {problem.hint}")
        yield ReportEntry(
            rule=problem.rule,
            level=_level(problem.severity),
            message="\n".join(filter(None, parts)),
            subject=problem.path,
            group=problem.file,
            file=problem.file,
            line=problem.line,
            column=problem.column,
            related=tuple(
                ReportEntry("", "none", each.message, "", "", each.file, each.line, each.column)
                for each in problem.related
            ),
        )
