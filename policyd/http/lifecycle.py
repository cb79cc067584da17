"""The state of the server that probes and answers depend on: listening or not, draining or not."""


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
        """The server stops: it is no longer ready, and answers close their connections."""
        self.draining = True
