"""``policyd apply --cluster``: checks the objects in a cluster as if each were created now.

Only objects with findings are kept. Nothing is written to the cluster.
"""

from dataclasses import dataclass, field, replace
from typing import Protocol

from policyd.admission.lookups.params import LookedUpParams
from policyd.cli.apply.checked import ApplyRun, CheckedObject, ClusterOptions, Tally
from policyd.cli.shared.terminal.progress import Advance
from policyd.cluster.listing import ApiReader
from policyd.cluster.scanned_reads import ScannedReads
from policyd.cluster.scanning import ParamReader, Scan, ScannedObject
from policyd.offline.admitting import Admission, Admitter
from policyd.offline.fields import FieldFinder
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.kinds.match_targets import MatchTargets


class ScanReader(ApiReader, ParamReader, Protocol):
    """Reads objects, and params of any kind."""


@dataclass(slots=True)
class ScanReport:
    """The result of a scan.

    ``unread``: what could not be read, with the reason. ``idle``: policies that match no request of
    the scan. ``left_out``: the number of objects skipped because their owners were checked.
    """

    checked: list[CheckedObject] = field(default_factory=list)
    tally: Tally = field(default_factory=lambda: Tally("would change"))
    unread: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    left_out: int = 0


def scan(
    reader: ScanReader, options: ClusterOptions, run: ApplyRun, advance: Advance
) -> ScanReport:
    """Read and check everything once: each object as if the requester of the run created it.
    Objects without findings are kept, and changes of mutations found, if the run shows them.
    Raises ConfigError if the cluster cannot be queried at all.
    """
    policies, shown = run.policies, run.report
    bound = [each for each in policies.policies if each.bindings]
    checked = [each for each in bound if each.validation or (shown.diff and each.mutation)]
    cluster = Scan(
        reader,
        MatchTargets(run.sources, (each.sort_key for each in checked)),
        user_info=run.requester.user_info,
        namespaces=options.scanned,
        owned=options.owned,
    )
    admitter = Admitter(
        policies,
        run.authorizer,
        namespaces=cluster.namespaces(),
        params=LookedUpParams(policies.params, reader.kind, reader.params),
        reads=ScannedReads(reader, reader.kind),
        fields=FieldFinder(run.traced),
    )
    report = ScanReport(unread=cluster.unread)
    targets = cluster.start()
    reached = frozenset[tuple[str, str]]().union(*(target.policies for target in targets))
    report.idle += sorted({each.name for each in checked if each.sort_key not in reached})
    for target in targets:
        for found in cluster.objects(target, advance):
            if not found.policies:
                report.left_out += 1
                continue
            admission = _admission(admitter, found, mutated=shown.diff)
            each = CheckedObject(found.document, admission)
            report.tally.add(each)
            if each.noted or admission.patch or shown.verbose:
                report.checked.append(each if admission.patch else each.slim())
    return report


def _admission(admitter: Admitter, found: ScannedObject, *, mutated: bool) -> Admission:
    """Check an object as it is; if wanted, also find what mutations would change."""

    def only(policy: CompiledPolicy) -> bool:
        return policy.sort_key in found.policies

    admission = admitter.admit(found.review, ("validate",), only)
    if not mutated:
        return admission
    changed = admitter.admit(found.review, ("mutate",), only)
    refused = admission if changed.allowed else changed
    return replace(
        admission,
        allowed=admission.allowed and changed.allowed,
        message=admission.message or refused.message,
        code=admission.code or refused.code,
        violations=(*changed.violations, *admission.violations),
        warnings=(*changed.warnings, *admission.warnings),
        ignored=(*changed.ignored, *admission.ignored),
        held=(*changed.held, *admission.held),
        matched=tuple(dict.fromkeys((*changed.matched, *admission.matched))),
        patch=changed.patch,
        seconds=admission.seconds + changed.seconds,
    )
