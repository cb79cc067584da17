"""Every CEL library that expressions may use, in one visible table. A new library is one line here."""

from policyd._core.lib import text
from policyd._core.library import Library

KNOWN_LIBRARIES: tuple[Library, ...] = (text.LIBRARY,)
