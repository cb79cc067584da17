"""Load the policies before the workers start, which then share the memory of the compiled set."""

import gc
from collections.abc import Callable, Sequence
from typing import Any

from policyd.errors import PolicyError, Problem
from policyd.http.policies_in_use import LoadedPolicySet
from policyd.server.policies.file_watch import Fingerprint, fingerprint


class Preloaded:
    """The functions that load and test a set, which answer from memory the first time that a worker
    calls them, if the files are still the same.
    """

    def __init__(
        self,
        load: Callable[..., LoadedPolicySet],
        verify: Callable[[Any], Sequence[Problem]] = lambda _: (),
    ) -> None:
        self._load = load
        self._verify = verify
        self._state: Fingerprint = ()
        self._version: object = None
        self._policies: LoadedPolicySet | None = None
        self._failures: Sequence[Problem] = ()
        self._tested: LoadedPolicySet | None = None

    def prepare(self, paths: Sequence[Any], version: Any) -> None:
        """Load the set of these files, as this Kubernetes version evaluates it. Raises
        PolicyError.
        """
        self._state, self._version = fingerprint(paths), version
        policies = self._load(paths, version=lambda: version)
        self._failures = self._verify(policies)
        self._policies = policies

    def prepare_parts(self, paths: Sequence[Any], version: Any) -> None:
        """Load the files alone, without what a cluster adds: a worker compiles only policies that
        differ. It reports errors itself.
        """
        try:
            self._load(paths, version=lambda: version)
        except PolicyError:
            return

    @staticmethod
    def settle() -> None:
        """Exempt what is loaded from garbage collection, which would write to all of its memory and
        so end the sharing.
        """
        gc.collect()
        gc.freeze()

    def load(self, given: Sequence[Any], **options: Any) -> LoadedPolicySet:
        """Return the set of these sources."""
        policies, self._policies = self._policies, None
        self._tested = None
        if policies is None or fingerprint(given) != self._state:
            return self._load(given, **options)
        if options["version"]() != self._version:
            return self._load(given, **options)
        self._tested = policies
        return policies

    def verify(self, policies: Any) -> Sequence[Problem]:
        """Return the failures of the suites of a set."""
        return self._failures if policies is self._tested else self._verify(policies)
