"""Expressions of names that are nearly declared."""

import re
from random import Random
from string import ascii_letters

from policyd.cel.syntax.macros import MACRO_NAMES
from policyd.cel.types.declarations import TYPE_NAMES
from policyd.cel.types.functions import declarations

NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
# A broken name stands for %s; none of these reads a variable that may be there or not.
PLACES = ("%s", "%s(1)", "'a'.%s(1)", "%s.a.b", "%s.a(2)", "[1].all(x, %s)", "%s{}")


class Misspelt:
    """Names of functions, macros, types and variables with one to three letters wrong, or cut off."""

    def __init__(self, random: Random) -> None:
        self._random = random
        every = {each.name for each in declarations()}
        # What only mutations have is near in some environments.
        functions = sorted(each for each in every if not each.startswith("jsonpatch."))
        self._names = [*functions, *MACRO_NAMES, *TYPE_NAMES, "object", "variables", "request"]

    def expression(self) -> str:
        while True:
            name = self._broken(self._random.choice(self._names))
            if NAME.fullmatch(name) and name not in self._names:
                return self._random.choice(PLACES) % name

    def _broken(self, name: str) -> str:
        if self._random.random() < 0.1:
            return name[: self._random.randint(1, len(name))]
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            at = self._random.randrange(len(name) + 1)
            letter = self._random.choice(ascii_letters)
            before, after = name[:at], name[at:]
            name = self._random.choice(
                (
                    before + letter + after,
                    before + letter + after[1:],
                    before + after[1:],
                    before + after[1:2] + after[:1] + after[2:],
                )
            )
        return name
