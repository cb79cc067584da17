"""The state of the server: listening or not (for probes), draining or not (for answers)."""


class Lifecycle:
    """Two flags that are set once and never cleared; ``server/composition.py`` sets them."""

    __slots__ = ("draining", "listening")

    def __init__(self) -> None:
        self.listening = False
        self.draining = False

    def start_listening(self) -> None:
        """Both ports are open: the server may become ready."""
        self.listening = True

    def start_draining(self) -> None:
        """The server stops: answers close their connections."""
        self.draining = True
