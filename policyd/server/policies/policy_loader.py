"""Compiles policy sets for a server at every reload, keeps their counters, and runs their suites.

``store.py`` watches files and swaps sets.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING

from policyd.errors import PolicyError, Problem
from policyd.gc_policy import exempting
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader
from policyd.policy.source.background_pace import Pace, full_speed
from policyd.policy.source.files import Bundle
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.server.policies.loaded_set import LoadedSet
from policyd.versions import NEWEST, KubernetesVersion

if TYPE_CHECKING:
    from policyd.policy.kinds.wanted_definitions import Fetch

# Seconds of processor time for all suites of a set, and in addition for each case. Cases take
# milliseconds; without a limit, a few lines could keep a server from starting for hours.
SUITE_SECONDS = 30.0
CASE_SECONDS = 0.1


class PolicyLoader:
    """Loads the policy sets of one server process. Keeps only what the next load may reuse.

    ``keep``: make an image of each set; ``exports``: keep its sources.
    """

    def __init__(self, *, keep: bool = False, exports: bool = False) -> None:
        self._keep = keep
        self._exports = exports
        self._breathe: Callable[[], None] = full_speed
        self._beside: Callable[[], AbstractContextManager[None]] = nullcontext
        self._process = 0  # the one that loaded last: a worker may continue its parent's work
        self._last: CompiledPolicySet | None = None
        self._last_tested: CompiledPolicySet | None = None

    def load(
        self,
        given: Sequence[Path | Bundle],
        definitions: "Fetch | None" = None,
        version: Callable[[], KubernetesVersion] = lambda: NEWEST,
        *,
        suites: bool = True,
    ) -> LoadedSet:
        """Compile the policies of these sources and run their suites. Broken policies are
        quarantined; the set's problems include problems that belong to no policy.

        Every load but the first of a process runs while requests are answered, so it pauses
        regularly. Raises PolicyError if there are problems and no policy.
        ``definitions`` fetches the CustomResourceDefinitions that policies need; ``version``
        returns the Kubernetes version to evaluate as.
        """
        if self._last is not None and self._process == os.getpid():
            self._breathe, self._beside = Pace(), exempting
        self._process = os.getpid()
        with self._beside():
            read = loader.load(given, version=version(), breathe=self._breathe, pipes=False)
            sources = _defined(read, definitions)
            policies = self._compile(sources)
            errors = _errors(policies)
            if errors and not policies.policies:
                raise PolicyError(errors)
            return LoadedSet(
                policies,
                self._failures(policies, sources) if suites else (),
                image=self._image(read, given) if self._keep and not errors else b"",
                sources=sources if self._exports else None,
            )

    def restore(
        self,
        image: bytes,
        definitions: "Fetch | None" = None,
        version: Callable[[], KubernetesVersion] = lambda: NEWEST,
    ) -> LoadedSet:
        """Compile the set of an image; raises PolicyError for any error."""
        from policyd.server.policies.last_good import content_of

        kept = content_of(image)
        sources = loader.load_saved(kept.objects, version=version())
        if kept.bundles:
            sources = loader.load(kept.bundles, version=version())
        sources = _defined(sources, definitions)
        policies = self._compile(sources)
        errors = _errors(policies)
        if errors:
            raise PolicyError(errors)
        return LoadedSet(policies, bundles=kept.bundles, sources=sources if self._exports else None)

    def _compile(self, sources: Sources) -> CompiledPolicySet:
        self._last = compiler.compile_sources(sources, self._last, breathe=self._breathe)
        return self._last

    def _image(self, sources: Sources, given: Sequence[Path | Bundle]) -> bytes:
        from policyd.server.policies.last_good import image_of

        bundles = [each for each in given if isinstance(each, Bundle)]
        return image_of(sources.documents, bundles, self._breathe)

    def _failures(self, policies: CompiledPolicySet, sources: Sources) -> tuple[Problem, ...]:
        """Return a problem for each failing case of the suites."""
        if not policies.suites:
            return ()
        # Compiled again with separate counters: test cases must not count as requests.
        self._last_tested = compiler.compile_sources(
            sources, self._last_tested, breathe=self._breathe
        )
        return tuple(failures(self._last_tested, self._breathe))


def _defined(sources: Sources, definitions: "Fetch | None") -> Sources:
    """Return the sources with the definitions that they need from a cluster."""
    if definitions is None:
        return sources
    from policyd.policy.kinds.wanted_definitions import wanted, with_definitions

    return with_definitions(sources, definitions(wanted(sources)))


def _errors(policies: CompiledPolicySet) -> list[Problem]:
    return [problem for problem in policies.problems if problem.severity == "error"]


def failures(
    policies: CompiledPolicySet,
    breathe: Callable[[], None],
    clock: Callable[[], float] = thread_time,
) -> list[Problem]:
    """Return a problem for each failing case of the suites in a set that is not in use, and one for
    the cases that did not run for lack of time.
    """
    found: list[Problem] = []
    end = clock() + SUITE_SECONDS
    for document in policies.suites:
        if document.model is None:
            continue
        for each in _failures(policies, document):
            found += each
            end += CASE_SECONDS
            if clock() > end:
                return [*found, _too_slow(document)]
            breathe()
    return found


def _too_slow(document: Document) -> Problem:
    message = (
        f"{document.label} and the suites before it take too long: the remaining cases were not run"
    )
    hint = "policyd test shows the time of each case"
    return Problem(message, file=document.file, hint=hint, rule="suite")


def _failures(policies: CompiledPolicySet, document: Document) -> Iterator[list[Problem]]:
    """Yield the problems of each case of a suite. A suite may name only policies of the sources:
    the content of other files must not get into the log. A suite adds no problem if its policies
    have errors.
    """
    # Imported here because servers without suites do not need them.
    from policyd.offline.suite_policies import SuitePolicies
    from policyd.policy.source.fixtures import Outside, inside
    from policyd.policy.suite import runner

    try:
        for name in document.raw.get("policies") or ():
            inside(document, name)
        evaluate = SuitePolicies.of(document, policies)
    except (Outside, PolicyError) as error:
        known = set(map(_at, policies.problems))
        if isinstance(error, PolicyError) and known.issuperset(map(_at, error.problems)):
            return
        message = f"{document.label} cannot run: {error}"
        yield [Problem(message, file=document.file, rule="suite")]
        return
    for case in runner.selected(document):
        result = runner.run_case(
            document, case, evaluate.admit, within=evaluate.admitting, mapper=evaluate.mapper
        )
        yield runner.problems([result])


def _at(problem: Problem) -> Problem:
    """Return a problem without its file, which a suite may name by another path."""
    return replace(problem, file=Path(problem.file).name)
