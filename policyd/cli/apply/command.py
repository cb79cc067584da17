"""``policyd apply``: checks manifests offline as admission would, or the objects in a cluster.
Changes nothing in the cluster.
"""

from dataclasses import replace
from pathlib import Path

import click

from policyd.admission.lookups.authorizer import Authorizer
from policyd.cli.apply.checked import FAIL_ON, ApplyRun, ClusterOptions, ReportOptions
from policyd.cli.apply.checking import ManifestOptions, check_manifests
from policyd.cli.apply.cluster import cluster_options, scan_cluster
from policyd.cli.apply.output import FORMATS
from policyd.cli.shared.authorizer import AUTHORIZER
from policyd.cli.shared.manifests import Requester
from policyd.cli.shared.namespaces import namespace_options
from policyd.cli.shared.output import format_option
from policyd.cli.shared.policy_options import (
    echo_unbound,
    enforce_all_option,
    loaded,
    policies_option,
)
from policyd.cli.shared.reports import ReportRule
from policyd.cli.shared.request import (
    DEFAULTS,
    GROUP,
    OLD,
    OPERATION,
    READS,
    RESOURCE,
    USER,
    requester_group,
)
from policyd.cli.shared.settings import grouped, option
from policyd.cli.shared.version import version_of, version_option
from policyd.json_types import JSONObject
from policyd.policy.model.kinds import POLICY_KINDS
from policyd.policy.source.classification import classification_of, description_of
from policyd.policy.source.loaded_documents import Sources
from policyd.versions import NEWEST, KubernetesVersion

_EPILOG = """\b
Examples:
  policyd apply -p policies/ deploy/
  helm template chart/ | policyd apply -p policies/ -
  policyd apply -p policies/ pod.yaml --old pod-before.yaml \\
      --user alice --group dev
  policyd apply -p policies/ deploy/ --exclude values.yaml \\
      --exclude 'templates/*'
  policyd apply -p policies/ --changed main deploy/
  policyd apply -p policies/ deploy/ --namespace shop --fail-on warn
  policyd apply -p policies/ deploy/ --diff --output-dir mutated/
  helm template chart/ | policyd apply -p policies/ --mutated - > mutated.yaml
  policyd apply -p policies/ deploy/ --format github   # or junit, sarif, json

\b
What is in a cluster (requires pip install 'policyd[cluster]'):
  policyd apply -p policies/ --cluster
  policyd apply -p policies/ --cluster -n shop -n mail --diff
  policyd apply -p policies/ --cluster --context prod --format json \\
      > findings.json

\b
In GitHub code scanning:
  policyd apply -p policies/ deploy/ --format sarif > policyd.sarif

\b
What RESULT says:
  denied        a policy denies the object
  error         a policy could not be evaluated, which denies
                (failurePolicy Fail)
  would deny    its rollout does not enforce the policy here (--enforce-all
                does)
  would mutate  likewise: the mutation is not applied
  warning       a policy warns (validationActions Warn)
  audit         a policy only audits (validationActions Audit)
  ignored       a policy could not be evaluated; no effect
                (failurePolicy Ignore)
  admitted      no policy denies the object (with -v)

Exit status: 0 if every object is admitted, 1 if at least one is denied, also by an error (see also
--fail-on), 2 if the input or a policy is invalid or the cluster cannot be reached (readable objects
are checked all the same), 3 if no object is denied but part of the cluster could not be read.
"""
_OF_MANIFESTS = (
    "PATHS, --operation, --old, --exclude, --skip-no-objects, --changed, --resource, "
    "--namespace-labels, --namespace-annotations, --no-defaults, --output-dir and --mutated cannot "
    "be combined with --cluster"
)


@click.command("apply", epilog=_EPILOG)
@policies_option()
@OPERATION
@OLD
@READS
@USER
@GROUP
@RESOURCE
@namespace_options
@AUTHORIZER
@DEFAULTS
@enforce_all_option()
@format_option(
    *FORMATS,
    help="Choose the output format. text is a table; the others are for programs.",
)
@option("--diff", "Show what mutations change, as a diff (with --format text or json).")
@option(
    "--fail-on",
    "Exit with 1 also if no object is denied. warn: a policy warns. error: a policy could not "
    "be evaluated, but only warns or audits, or its failurePolicy is Ignore. would-deny: an object "
    "is admitted only because of a rollout. May be repeated.",
    multiple=True,
    type=click.Choice(FAIL_ON),
)
@option(
    "--exclude GLOB...",
    "Skip files whose path, or a directory above them, ends in this pattern; * matches any "
    "characters, also /. May be repeated.",
    to="excluded",
)
@option(
    "--skip-no-objects",
    "Skip files that contain no Kubernetes object also if PATHS names them, as hooks and xargs do.",
    to="skips",
)
@option(
    "--changed [REF]",
    "Check only manifests in PATHS (default: the current directory) that differ from this "
    "commit of git (default: HEAD) or are untracked. The others only describe the cluster, as "
    "Namespaces and CustomResourceDefinitions do.",
    is_flag=False,
    flag_value="HEAD",
)
@option(
    "--output-dir DIR",
    "Write the files that mutations change to files of the same names in this directory. "
    "Comments and formatting are kept where possible.",
)
@option(
    "--mutated",
    "Print all manifests, as mutated, to standard output, for a pipe or as a Helm "
    "post-renderer; the report goes to standard error. Prints nothing if the exit status is not 0.",
)
@option("-v, --verbose", "List admitted objects too (with --format text or --cluster).")
@cluster_options
@grouped("manifests", ManifestOptions)
@requester_group
@version_option(of_cluster=f"the cluster's with --cluster, else {NEWEST}")
@click.argument(
    "resources", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path, allow_dash=True)
)
def command(
    *,
    paths: tuple[Path, ...],
    manifests: ManifestOptions,
    scan: ClusterOptions,
    requester: Requester,
    authorizer: Authorizer | None,
    enforce_all: bool,
    form: str,
    diff: bool,
    fail_on: tuple[str, ...],
    verbose: bool,
    version: KubernetesVersion | None,
) -> None:
    """Check manifests offline, or scan a live cluster, and list what your policies find.

    Each manifest in PATHS is checked as if it were created now: mutated, then validated.
    PATHS are files and directories of YAML or JSON; - is standard input. The items of a List
    are checked one by one. Files in a directory that contain no Kubernetes object, such as Helm
    values, are skipped with a warning. Labels and annotations of namespaces come from Namespace
    objects in PATHS or in the policies, or from --namespace-labels and --namespace-annotations.

    With --cluster, the objects in a cluster are checked instead, as if each were created now as it
    is: validated, but not mutated. Only the resources that the policies match are read. Objects
    created by a controller are skipped if the same policy checks their owner. Params that the
    policy files do not contain are read from the cluster. Authorizer checks query the cluster if
    --user is given.
    """
    cluster = scan if scan.cluster else None
    if cluster is None:
        _require_manifests(manifests, form, diff=diff)
    elif requester.operation or requester.resource or manifests.given:
        raise click.UsageError(_OF_MANIFESTS)
    version = version or (version_of(cluster.kube) if cluster else NEWEST)
    sources, found = loaded(paths, version)
    echo_unbound(sources)
    run = ApplyRun(
        sources,
        found.enforced if enforce_all else found,
        authorizer,
        replace(requester, namespace=scan.default_namespace),
        ReportOptions(form, _rules(sources), fail_on, diff, verbose, err=manifests.mutated),
        enforced=enforce_all,
    )
    raise SystemExit(scan_cluster(cluster, run) if cluster else check_manifests(manifests, run))


def _require_manifests(options: ManifestOptions, form: str, *, diff: bool) -> None:
    """Raise click.UsageError for options that do not go together."""
    if not options.paths:
        raise click.UsageError("Missing argument 'PATHS...' (or --cluster).")
    if options.changed is not None and Path("-") in options.paths:
        raise click.UsageError("--changed compares files: it cannot read standard input")
    if diff and form not in ("text", "json"):
        raise click.UsageError(f"--diff requires --format text or json, not {form}")


def _rules(sources: Sources) -> dict[str, ReportRule]:
    """Map the names of policies to their descriptions."""
    found = {}
    for document in sources.documents:
        spec = document.raw.get("spec")
        if document.is_policy and document.kind in POLICY_KINDS and isinstance(spec, dict):
            named, about = f"{document.kind} {document.name}", description_of(document)
            line, _ = document.place("metadata.name")
            place = f"{named} in {document.file}:{line}"
            remedy = f"Defined by {place}. `policyd explain` shows why it denies an object."
            full = about or "\n".join(_messages(spec))
            category, severity = classification_of(document)
            # GitHub shows a severity only of rules about security.
            tags = ("kubernetes", *(["security"] if severity else []), *filter(None, [category]))
            found[document.name] = ReportRule(
                about or named, remedy, tags=tags, severity=severity, full=full
            )
    return found


def _messages(spec: JSONObject) -> list[str]:
    """Return what a policy says when it denies an object; each once."""
    validations = spec.get("validations")
    texts = []
    for each in validations if isinstance(validations, list) else []:
        text = each.get("message") or each.get("expression")
        if isinstance(text, str):
            texts.append(text if each.get("message") else f"failed expression: {text.strip()}")
    return list(dict.fromkeys(texts))
