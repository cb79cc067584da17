"""Logs what goes wrong in a controller: once when it begins or changes, once when it is over."""

from policyd.cluster.objects import ObjectError
from policyd.observability.logs import Log

FORBIDDEN = 403


class Trouble:
    """The problem of one controller; ``event`` is that of its log lines."""

    def __init__(self, event: str, log: Log) -> None:
        self._event = event
        self._log = log
        self.problem = ""

    def begin(self, problem: str) -> None:
        """Note a problem."""
        if problem != self.problem:
            self._log.write("error", self._event, problem)
        self.problem = problem

    def end(self, message: str) -> None:
        """Note that there is none any more."""
        if self.problem:
            self._log.write("info", self._event, message)
        self.problem = ""


def reason(error: ObjectError) -> str:
    """Why a request failed; the missing right if it was refused."""
    if error.status != FORBIDDEN:
        return str(error)
    # The API server: RESOURCE "NAME" is forbidden: User "NAME" cannot VERB resource …
    refused = str(error.body.get("message") or error).partition("is forbidden: ")[2]
    return f"a right is missing: {refused or error}"
