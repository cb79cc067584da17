from typing import final

from policyd._core.regex.dfa import Dfa

@final
class Backtracking:
    @staticmethod
    def spans(dfa: Dfa, text: str) -> list[tuple[int, int]] | None: ...
