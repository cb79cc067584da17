from typing import final

@final
class ParsedURL:
    """A URL as Go's net/url parses it."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Raises TypeError: use ``parsed``."""

    @property
    def scheme(self) -> str: ...
    @property
    def host(self) -> str:
        """The host with its port, unescaped."""

    @property
    def user(self) -> str | None:
        """The user as Go prints it; None if there is none."""

    @property
    def fragment(self) -> str:
        """The fragment as Go prints it."""

    @property
    def raw_query(self) -> str: ...
    def authority(self) -> str:
        """``//user@host``, or ""."""

def parsed(text: str) -> ParsedURL | str:
    """Go's url.Parse: the URL, or the error message."""
