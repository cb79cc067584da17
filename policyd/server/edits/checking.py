"""Checks an edit of policies before it is stored: builds the resulting set, compiles it, runs its
suites, and finds the problems that the edit adds. Runs in a separate process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from policyd.errors import Problem
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.config_maps.config_map_files import MAX_SET_BYTES, bundle_of, name_of
from policyd.policy.config_maps.team_exceptions import EXCEPTIONS
from policyd.policy.kinds.wanted_definitions import Fetch, wanted, with_definitions
from policyd.policy.source import loader
from policyd.policy.source.files import MAX_BYTES, Bundle, read
from policyd.policy.source.losses import LOST, emptied, truncated
from policyd.server.edits.model import EditFindings, InUse, PolicyEdit
from policyd.server.edits.showing import findings_of
from policyd.server.policies.held_bundles import added
from policyd.server.policies.policy_loader import failures
from policyd.server.policies.policy_sources import FILES, exists_in

Breathe = Callable[[], None]


def check(edit: PolicyEdit, fetch: Fetch | None, breathe: Breathe) -> EditFindings:
    """Return the problems and reads that an edit adds. ``fetch`` returns definitions of custom
    resources; ``breathe`` is called between pieces of work.
    """
    others, sets = _others(edit, breathe), _Sets(_in_use(edit), fetch, breathe)
    given = _with(others, edit.new, breathe)
    after = sets.compiled(given)
    found, reads = sets.problems(after, given), _reads(after, edit.name)
    if found or reads:
        given = _with(others, edit.old, breathe)
        before = sets.compiled(given)
        found = added(found, sets.problems(before, given)) if found else found
        reads -= _reads(before)
    files = {file for each in others.values() for file in each.names}
    return findings_of(found, edit.name, files, reads)


def _reads(policies: CompiledPolicySet, name: str = "") -> frozenset[tuple[str, str, str, str]]:
    """Return the objects of the cluster that policies, or the policies of ``name``, read."""
    return frozenset(
        (policy.name, read.api_version, read.kind, read.place)
        for policy in policies.policies
        if not name or policy.source.startswith(f"{name}/")
        for read in policy.reads
    )


class _Sets:
    """Compiles the sources before and after an edit; policies equal in both are compiled once."""

    def __init__(self, in_use: InUse, fetch: Fetch | None, breathe: Breathe) -> None:
        self._in_use = in_use
        self._fetch = fetch
        self._breathe = breathe
        self._former: CompiledPolicySet | None = None

    def compiled(self, given: Sequence[Bundle]) -> CompiledPolicySet:
        """Return the policies of these sources."""
        in_use = self._in_use
        sources = loader.load(given, version=in_use.version, breathe=self._breathe, pipes=False)
        if self._fetch is not None:
            sources = with_definitions(sources, self._fetch(wanted(sources)))
        policies = compiler.compile_sources(sources, self._former, breathe=self._breathe)
        self._former = policies
        return policies

    def problems(self, policies: CompiledPolicySet, given: Sequence[Bundle]) -> list[Problem]:
        """Return all problems of these sources, which ``policies`` were compiled from."""
        in_use = self._in_use
        found = [*policies.problems]
        broken = {each.file for each in found if each.severity == "error"}
        for reason in truncated(in_use, policies, exists_in(given)):
            file, _, rest = reason.partition(": ")
            if file not in broken:  # else this is why it holds nothing
                found.append(Problem(rest, file=file, rule=LOST))
        if not in_use.allow_empty:
            found += [Problem(reason, rule=LOST) for reason in emptied(in_use, policies)]
        return [*found, *failures(policies, self._breathe)]


def _with(
    others: Mapping[str, Bundle], config_map: Mapping[str, object] | None, breathe: Breathe
) -> list[Bundle]:
    """Return the bundles and a ConfigMap's bundle, in the order in which they are loaded."""
    found = {**others}
    if config_map is not None:
        left = MAX_SET_BYTES - sum(each.size for name, each in found.items() if name != FILES)
        bundle = bundle_of({**config_map}, max(0, left), breathe)
        found[bundle.name] = bundle
    return [found[key] for key in sorted(found)]


def _others(edit: PolicyEdit, breathe: Breathe) -> dict[str, Bundle]:
    """Return the sources that the edit does not change, by name."""
    found: dict[str, Bundle] = {}
    left = MAX_SET_BYTES
    for each in edit.config_maps:
        if name_of(each) != edit.name:
            bundle = bundle_of(each, left, breathe)
            found[bundle.name] = bundle
            left -= bundle.size
    if edit.files:
        found[EXCEPTIONS] = Bundle(EXCEPTIONS, tuple(edit.files))
    if edit.paths:
        files, problems = read(
            edit.paths,
            pipes=False,
            excluded=lambda name: is_in(edit.directory, name),
            most=MAX_BYTES,
            breathe=breathe,
        )
        names = frozenset(each.name for each in files)
        faults = tuple(each for each in problems if not is_in(edit.directory, each.file))
        found[FILES] = Bundle(FILES, tuple(files), faults, "", names)
    return found


def _in_use(edit: PolicyEdit) -> InUse:
    """Return the policies in use, as if files of a mounted ConfigMap had been read from it."""
    if not edit.directory:
        return edit.in_use
    held = {
        f"{edit.name}/{Path(file).name}" if is_in(edit.directory, file) else file: classes
        for file, classes in edit.in_use.files.items()
    }
    return replace(edit.in_use, files=held)


def is_in(directory: str, file: str) -> bool:
    """Whether a file is directly in a directory; none is in the empty one."""
    return bool(directory) and file.rpartition("/")[0] == directory.rstrip("/")
