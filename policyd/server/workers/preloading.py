"""Loads the policies before the workers start, so that they share the compiled set's memory."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from policyd.config import Settings
from policyd.errors import PolicyError
from policyd.policy.source.files import Bundle
from policyd.server.policies.file_watch import Fingerprint, fingerprint
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.versions import NEWEST, KubernetesVersion


class Preloaded:
    """The set that the supervisor loaded with the loader of the workers."""

    def __init__(self, loader: PolicyLoader) -> None:
        self._loader = loader
        self._state: Fingerprint = ()
        self._version: KubernetesVersion | None = None
        self._loaded: LoadedSet | None = None

    def prepare(self, settings: Settings) -> None:
        """Load the set of the files. Raises PolicyError, unless a cluster adds to the files: then
        each worker loads the whole set, compiles only the difference, and reports errors.
        """
        version = settings.kubernetes_version or NEWEST
        if settings.cluster or settings.kubeconfig is not None:
            with suppress(PolicyError):
                self._loader.load(settings.policies, version=lambda: version, suites=False)
            return
        self._state, self._version = fingerprint(settings.policies), version
        self._loaded = self._loader.load(settings.policies, version=lambda: version)

    def take(
        self, given: Sequence[Path | Bundle], version: Callable[[], KubernetesVersion]
    ) -> LoadedSet | None:
        """Return the set to the first caller if it is still the set of these files."""
        loaded, self._loaded = self._loaded, None
        if loaded is None:
            return None
        files = [each for each in given if isinstance(each, Path)]
        same = fingerprint(files) == self._state and version() == self._version
        return loaded if same else None
