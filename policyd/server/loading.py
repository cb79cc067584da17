"""Policy sets for a server: compiles them again and again, keeps their counters, runs their suites.

Watching files and swapping sets belongs to ``policy/live/store.py``.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import thread_time

from policyd.errors import PolicyError, Problem
from policyd.gc_policy import exempting
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.live.definitions import Fetch, wanted, with_definitions
from policyd.policy.live.loaded import Kept
from policyd.policy.source import loader
from policyd.policy.source.documents import Document, Sources
from policyd.policy.source.files import Bundle
from policyd.policy.source.pace import Pace, full_speed
from policyd.server import last_good
from policyd.versions import NEWEST, KubernetesVersion

# Seconds of processor time for all suites of a set, and what each case adds. Cases take
# milliseconds; without a limit, a few lines keep a server from starting for hours.
SUITE_SECONDS = 30.0
CASE_SECONDS = 0.1


class PolicyLoader:
    """Compiles the policy sets of one server process. ``keep``: make an image of each set, from
    which it can be restored; ``exports``: keep the sources of each set, to export them.
    """

    def __init__(self, *, keep: bool = False, exports: bool = False) -> None:
        self._keep = keep
        self._exports = exports
        self._compiled: dict[tuple[str, KubernetesVersion], Sources] = {}
        self._images: dict[str, bytes] = {}
        self._sources: Sources | None = None
        self._breathe: Callable[[], None] = full_speed
        self._beside: Callable[[], AbstractContextManager[None]] = nullcontext
        self._process = 0  # which loaded last: a worker may continue what its parent began
        self._last: CompiledPolicySet | None = None
        self._last_tested: CompiledPolicySet | None = None

    def load(
        self,
        given: Sequence[Path | Bundle],
        definitions: Fetch | None = None,
        version: Callable[[], KubernetesVersion] = lambda: NEWEST,
    ) -> CompiledPolicySet:
        """Compile the policies of these sources; broken policies are quarantined, and what cannot
        be attributed to a policy is only among the problems of the set.

        Every load after the first one of a process runs while requests are answered, so it pauses
        regularly.
        Raises PolicyError if there are problems and not a single policy.
        ``definitions`` fetches the CustomResourceDefinitions that policies need; ``version``
        returns the Kubernetes version to evaluate as.
        """
        if self._last is not None and self._process == os.getpid():
            self._breathe, self._beside = Pace(), exempting
        self._process = os.getpid()
        with self._beside():
            return self._load(given, definitions, version())

    def _load(
        self,
        given: Sequence[Path | Bundle],
        definitions: Fetch | None,
        version: KubernetesVersion,
    ) -> CompiledPolicySet:
        sources = loader.load(given, version=version, breathe=self._breathe, pipes=False)
        policies = self._compile(sources, definitions)
        errors = _errors(policies)
        if errors and not policies.policies:
            raise PolicyError(errors)
        if self._keep and not errors:
            bundles = [each for each in given if isinstance(each, Bundle)]
            image = last_good.image_of(sources.documents, bundles, self._breathe)
            self._images[policies.generation] = image
        return policies

    def image(self, generation: str) -> bytes:
        """Return the image of a set of this generation that was loaded since the last call; empty
        without one.
        """
        images, self._images = self._images, {}
        return images.get(generation, b"")

    def restore(
        self,
        image: bytes,
        definitions: Fetch | None = None,
        version: Callable[[], KubernetesVersion] = lambda: NEWEST,
    ) -> Kept:
        """Compile the set of an image; raises PolicyError for any error."""
        kept = last_good.content_of(image)
        sources = loader.load_saved(kept.objects, version=version())
        if kept.bundles:
            sources = loader.load(kept.bundles, version=version())
        policies = self._compile(sources, definitions)
        errors = _errors(policies)
        if errors:
            raise PolicyError(errors)
        return Kept(policies, kept.bundles)

    def _compile(self, sources: Sources, definitions: Fetch | None) -> CompiledPolicySet:
        if definitions is not None:
            sources = with_definitions(sources, definitions(wanted(sources)))
        self._sources = sources
        policies = compiler.compile_sources(sources, self._last, breathe=self._breathe)
        self._last = policies
        if self._exports:
            key = policies.generation, policies.version
            self._compiled.pop(key, None)  # the order is that of the last compilations
            self._compiled[key] = sources
        return policies

    def sources(self, policies: CompiledPolicySet) -> Sources:
        """Return the sources of the set in use, and forget those that were compiled before. Called
        by another thread than the one that loads.
        """
        key = policies.generation, policies.version
        found = self._compiled[key]
        for older in list(self._compiled):
            if older == key:
                break
            del self._compiled[older]
        return found

    def verify(self, policies: CompiledPolicySet) -> list[Problem]:
        """Return a problem for each failing case of the suites in ``policies``, the set loaded
        last.
        """
        sources, self._sources = self._sources, None
        if sources is None or not policies.suites:
            return []
        with self._beside():
            # Compiled again with separate counters: test cases must not count as requests.
            self._last_tested = compiler.compile_sources(
                sources, self._last_tested, breathe=self._breathe
            )
            return failures(self._last_tested, self._breathe)


def _errors(policies: CompiledPolicySet) -> list[Problem]:
    return [problem for problem in policies.problems if problem.severity == "error"]


def failures(
    policies: CompiledPolicySet,
    breathe: Callable[[], None],
    clock: Callable[[], float] = thread_time,
) -> list[Problem]:
    """Return a problem for each failing case of the suites in a set, which is not in use; and one
    for the cases for which there is no time.
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
    message = f"{document.label} and the suites before it take too long: the rest was not run"
    hint = "policyd test shows the time of each case"
    return Problem(message, file=document.file, hint=hint, rule="suite")


def _failures(policies: CompiledPolicySet, document: Document) -> Iterator[list[Problem]]:
    """Yield the problems of each case of a suite. A suite may name policies of the sources only:
    the content of other files must not get into the log.
    """
    # Imported here because servers without suites are spared them.
    from policyd.offline.suite_policies import SuitePolicies
    from policyd.policy.source.fixtures import Outside, inside
    from policyd.policy.suite import runner

    try:
        for name in document.raw.get("policies") or ():
            inside(document, name)
        evaluate = SuitePolicies.of(document, policies)
    except (Outside, PolicyError) as error:
        message = f"{document.label} cannot run: {error}"
        yield [Problem(message, file=document.file, rule="suite")]
        return
    for case in runner.selected(document):
        result = runner.run_case(
            document, case, evaluate.admit, within=evaluate.admitting, mapper=evaluate.mapper
        )
        yield runner.problems([result])
