"""Where the server is in its life. Set by server/composition.py, read by probes and answers."""


class Lifecycle:
    """Two switches; each is thrown once."""

    __slots__ = ("draining", "listening")

    def __init__(self) -> None:
        self.listening = False
        self.draining = False
