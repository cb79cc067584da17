"""Advice on a paramKind, or on the kind of a read, that no object has: its kind, group or version
does not exist.

Only certain mistakes are reported, as for match rules: a cluster can have kinds of other groups.
"""

from collections.abc import Iterator

from policyd._core.match.equivalents import BUILT_IN_GROUPS
from policyd.errors import Fix
from policyd.near_names import did_you_mean
from policyd.policy.kinds.plural import plural
from policyd.policy.lint.run import LintedPolicy, LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.match import ParamKind
from policyd.policy.model.reads import PolicyRead

RULE = "no-such-resource"
_EFFECT = "every request that the policy matches follows failurePolicy"


def advise_named_kinds(policy: LintedPolicy) -> Iterator[FormProblem]:
    """Yield the advice for a policy."""
    for path, each in policy.beside:
        found = _mistake(each, policy.run)
        if found is not None:
            field, hint, fix = found
            message = f"{each.api_version} has no kind {each.kind!r}: {_EFFECT}"
            yield FormProblem((*path, field), message, hint, rule=RULE, fix=fix)


def _mistake(named: ParamKind | PolicyRead, run: LintRun) -> tuple[str, str, Fix | None] | None:
    """Return the field that is wrong, a hint and a fix; None if no mistake is certain."""
    group, _, version = named.api_version.rpartition("/")
    found = run.mapper.of(named.api_version, named.kind)
    known = run.resources.get((group, found.resource))
    of_group = run.mapper.kinds_of(group)
    names = {name: kind for kind in of_group for name in (kind.lower(), plural(kind))}
    meant = names.get(named.kind.lower(), named.kind)
    if meant != named.kind and named.kind not in of_group:
        return "kind", f"write {meant}", Fix(named.kind, meant)
    if known is not None:
        if version in known.versions:
            return None
        home = f"{group}/" if group else ""
        return "apiVersion", f"write {' or '.join(home + each for each in known.versions)}", None
    if group not in BUILT_IN_GROUPS and "." in group:  # the group of a CRD must contain a dot
        return None
    homes = [each for each in run.mapper.of_kind(named.kind) if not each.doubt]
    if homes:
        there = f"{homes[0].group}/{homes[0].version}".removeprefix("/")
        return "apiVersion", f"write {there}", None
    return "kind", did_you_mean(named.kind, of_group), None
