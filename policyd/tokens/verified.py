"""Tokens that were verified, so that each is verified once. Holds no token, only hashes."""

from collections.abc import Callable, Hashable
from time import time


class VerifiedTokens:
    """What was found about a token, until it expires; at most ``most`` of them.

    Only what was verified may be added: a flood of others must not take the place of these.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time) -> None:
        self._most = most
        self._clock = clock
        # In the order of arrival: the end, a Unix time, and what was found.
        self._found: dict[Hashable, tuple[float, str]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Hashable) -> str | None:
        """Return what was found; None if that is not known, or not true any more."""
        entry = self._found.get(key)
        if entry is None:
            return None
        ends, found = entry
        if self._clock() < ends:
            return found
        del self._found[key]
        return None

    def add(self, key: Hashable, found: str, ends: float) -> None:
        """Remember something until this Unix time."""
        if len(self._found) >= self._most:
            now = self._clock()
            self._found = {key: each for key, each in self._found.items() if now < each[0]}
        if len(self._found) >= self._most:
            del self._found[next(iter(self._found))]
        self._found[key] = (ends, found)

    def clear(self) -> None:
        """Forget everything: other keys are in use."""
        self._found.clear()
