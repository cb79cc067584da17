"""Load the policies before the workers start, which then share the memory of the compiled set."""

from collections.abc import Callable, Sequence
from pathlib import Path

from policyd.errors import PolicyError
from policyd.policy.source.files import Bundle
from policyd.server.policies.file_watch import Fingerprint, fingerprint
from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.versions import KubernetesVersion


class Preloaded:
    """The set that the supervisor loaded with the loader of the workers."""

    def __init__(self, loader: PolicyLoader) -> None:
        self._loader = loader
        self._state: Fingerprint = ()
        self._version: KubernetesVersion | None = None
        self._loaded: LoadedSet | None = None

    def prepare(self, paths: Sequence[Path], version: KubernetesVersion) -> None:
        """Load the set of these files, as this Kubernetes version evaluates it. Raises
        PolicyError.
        """
        self._state, self._version = fingerprint(paths), version
        self._loaded = self._loader.load(paths, version=lambda: version)

    def prepare_parts(self, paths: Sequence[Path], version: KubernetesVersion) -> None:
        """Load the files alone, without what a cluster adds: a worker compiles only policies that
        differ. It reports errors itself.
        """
        try:
            self._loader.load(paths, version=lambda: version, suites=False)
        except PolicyError:
            return

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
