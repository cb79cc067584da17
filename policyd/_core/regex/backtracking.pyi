from typing import final

from policyd._core.regex.dfa import Dfa

@final
class Backtracking:
    @staticmethod
    def spans(dfa: Dfa, text: str) -> list[tuple[int, int]] | None:
        """Every match of a program from ``program.machine``, without overlaps; an empty match may
        follow another one. None if ``text`` is too long.
        """
