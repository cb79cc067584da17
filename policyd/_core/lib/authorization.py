"""What an authorizer is asked, and what it answers: plain data. Asks nobody and decides nothing."""

from typing import NamedTuple


class Attributes(NamedTuple):
    """Whether a user may do something: the fields of a SubjectAccessReview.

    Either ``path`` is set (a path of the API server that is no resource) or ``resource``. The API
    version asked for is always ``*``. Selectors are as they were written; one that does not parse
    counts as none. Equal questions are equal and have one hash.
    """

    user: str
    verb: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"{self.user!r} may {self.verb} {self.path}"
        resource = ".".join(part for part in (self.resource, self.group) if part)
        what = "/".join(part for part in (resource, self.subresource, self.name) if part)
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.user!r} may {self.verb} {what}{place}"


class AccessDecision(NamedTuple):
    """The answer. ``allowed`` is False where the authorizer has no opinion; ``error`` says why it
    could not tell.
    """

    allowed: bool
    reason: str = ""
    error: str = ""


class Failure(NamedTuple):
    """There is no answer, and none will come: the check is an evaluation error."""

    why: str
