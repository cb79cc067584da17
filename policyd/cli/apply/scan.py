"""``policyd apply --cluster``: checks the objects in a cluster as if each were created now.

Only objects with findings are kept. Nothing is written to the cluster.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from policyd.admission.engine import Webhook
from policyd.cli.apply.checked import ApplyRun, CheckedObject, ClusterOptions, Tally
from policyd.cli.shared.terminal.progress import Advance
from policyd.cluster.listing import ApiReader
from policyd.cluster.scanned_reads import ScannedReads
from policyd.cluster.scanning import ParamReader, Scan, ScannedObject, looked_up
from policyd.json_types import JSONObject
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


class ClusterScan:
    """One pass over a cluster. Each object is checked as if ``requester`` created it. Objects
    without findings are kept, and changes of mutations found, if ``report`` shows them.
    """

    def __init__(self, reader: ScanReader, options: ClusterOptions, run: ApplyRun) -> None:
        policies, self._shown = run.policies, run.report
        self._webhooks: tuple[Webhook, ...] = ("validate",)
        self._policies = [each for each in policies.policies if each.bindings and each.validation]
        if run.report.diff:
            self._policies += [
                each for each in policies.policies if each.bindings and each.mutation
            ]
        self._scan = Scan(
            reader,
            MatchTargets(run.sources, (each.sort_key for each in self._policies)),
            user_info=run.requester.user_info,
            namespaces=options.scanned,
            owned=options.owned,
        )
        self._admitter = Admitter(
            policies,
            run.authorizer,
            namespaces=self._scan.namespaces(),
            params=looked_up(policies.params, reader),
            reads=ScannedReads(reader, reader),
            fields=FieldFinder(run.traced),
        )
        self.report = ScanReport(unread=self._scan.unread)

    def run(self, advance: Advance) -> ScanReport:
        """Read and check everything. Raises ConfigError if the cluster cannot be queried at all."""
        targets = self._scan.start()
        reached = frozenset[tuple[str, str]]().union(*(target.policies for target in targets))
        idle = {each.name for each in self._policies if each.sort_key not in reached}
        self.report.idle += sorted(idle)
        for target in targets:
            for each in self._scan.objects(target, advance):
                self._check(each)
        return self.report

    def _check(self, found: ScannedObject) -> None:
        keys = found.policies
        if not keys:
            self.report.left_out += 1
            return
        admission = self._evaluate(found.review, lambda policy: policy.sort_key in keys)
        checked = CheckedObject(found.document, admission)
        self.report.tally.add(checked)
        if checked.noted or admission.patch or self._shown.verbose:
            self.report.checked.append(checked if admission.patch else checked.slim())

    def _evaluate(self, review: JSONObject, only: Callable[[CompiledPolicy], bool]) -> Admission:
        """Check the object as it is; if wanted, also find what mutations would change."""
        admission = self._admitter.admit(review, self._webhooks, only)
        if not self._shown.diff:
            return admission
        changed = self._admitter.admit(review, ("mutate",), only)
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
