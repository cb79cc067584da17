"""The data of an access check: its attributes, and the decision or failure."""

from typing import NamedTuple


class Attributes(NamedTuple):
    """An access check: the fields of a SubjectAccessReview.

    Either ``path`` (a non-resource path of the API server) or ``resource`` is set. The API version
    is always ``*``. Selectors are strings as written; an invalid one counts as no selector. Equal
    checks compare equal and have the same hash.
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
    """The authorizer's decision and error. ``allowed`` is False if it has no opinion."""

    allowed: bool
    reason: str = ""
    error: str = ""


class Failure(NamedTuple):
    """The check failed permanently: it is an evaluation error. ``why`` is the reason."""

    why: str
