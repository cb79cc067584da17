"""Policy sets for a server: compiles them again and again, keeps their counters, runs their suites.

Watching files and swapping sets belongs to ``policy/live/store.py``.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from policyd.errors import PolicyError, Problem
from policyd.offline.suite_policies import SuitePolicies
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.live.definitions import Fetch, wanted, with_definitions
from policyd.policy.source import loader
from policyd.policy.source.documents import Document, Sources
from policyd.policy.source.fixtures import Outside, inside
from policyd.policy.source.pace import Pace, full_speed
from policyd.policy.suite import runner
from policyd.server import last_good
from policyd.versions import NEWEST, KubernetesVersion


class PolicyLoader:
    """Compiles the policy sets of one server process. ``keep``: make an image of each set, from
    which it can be restored.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._keep = keep
        self._image: tuple[str, bytes] = ("", b"")
        self._sources: Sources | None = None
        self._breathe: Callable[[], None] = full_speed
        self._last: CompiledPolicySet | None = None
        self._last_tested: CompiledPolicySet | None = None

    def load(
        self,
        paths: Sequence[Path],
        definitions: Fetch | None = None,
        version: Callable[[], KubernetesVersion] = lambda: NEWEST,
    ) -> CompiledPolicySet:
        """Compile the policies of these sources; broken policies are quarantined, and what cannot
        be attributed to a policy is only among the problems of the set.

        Every load after the first one runs while requests are answered, so it pauses regularly.
        Raises PolicyError if there are problems and not a single policy.
        ``definitions`` fetches the CustomResourceDefinitions that policies need; ``version``
        returns the Kubernetes version to evaluate as.
        """
        if self._last is not None:
            self._breathe = Pace()
        sources = loader.load(paths, version=version(), breathe=self._breathe, pipes=False)
        policies = self._compile(sources, definitions)
        errors = _errors(policies)
        if errors and not policies.policies:
            raise PolicyError(errors)
        if self._keep and not errors:
            image = last_good.image_of(sources.documents, self._breathe)
            self._image = (policies.generation, image)
        return policies

    def image(self, generation: str) -> bytes:
        """Return the image of the set loaded last, once; empty if that is another generation."""
        made, image = self._image
        self._image = ("", b"")
        return image if made == generation else b""

    def restore(
        self,
        image: bytes,
        definitions: Fetch | None = None,
        version: Callable[[], KubernetesVersion] = lambda: NEWEST,
    ) -> CompiledPolicySet:
        """Compile the set of an image; raises PolicyError for any error."""
        sources = loader.load_saved(last_good.objects_of(image), version=version())
        policies = self._compile(sources, definitions)
        errors = _errors(policies)
        if errors:
            raise PolicyError(errors)
        return policies

    def _compile(self, sources: Sources, definitions: Fetch | None) -> CompiledPolicySet:
        if definitions is not None:
            sources = with_definitions(sources, definitions(wanted(sources)))
        self._sources = sources
        policies = compiler.compile_sources(sources, self._last, breathe=self._breathe)
        self._last = policies
        return policies

    def verify(self, policies: CompiledPolicySet) -> list[str]:
        """Return a message for each failing case of the suites in ``policies``, the set loaded
        last.
        """
        sources, self._sources = self._sources, None
        if sources is None or not policies.suites:
            return []
        # Compiled again with separate counters: test cases must not count as requests.
        self._last_tested = compiler.compile_sources(
            sources, self._last_tested, breathe=self._breathe
        )
        failures: list[str] = []
        for document in policies.suites:
            if document.model is not None:
                failures += _failures(self._last_tested, document)
                self._breathe()
        return failures


def _errors(policies: CompiledPolicySet) -> list[Problem]:
    return [problem for problem in policies.problems if problem.severity == "error"]


def _failures(policies: CompiledPolicySet, document: Document) -> list[str]:
    """Return a message for each failing case of a suite. A suite may name policies of the sources
    only: the content of other files must not get into the log.
    """
    try:
        for name in loader.named_policies(document) or ():
            inside(document, str(name.absolute()))
        evaluate = SuitePolicies.of(document, policies)
    except (Outside, PolicyError) as error:
        return [f"{document.file}: {document.label} cannot run: {error}"]
    results = runner.run(document, evaluate.admit, within=evaluate.admitting)
    return [str(problem) for problem in runner.problems(results)]
