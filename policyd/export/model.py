"""What an export consists of. Only data."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from policyd.json_types import FieldPath, JSONObject
from policyd.policy.model.suite import Webhook


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a part of a policy cannot run in the API server, or what is different there.

    ``path`` is the field of the source that it is about, such as ``spec.timeoutSeconds``.
    """

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class ExportedPart:
    """The part of a policy at one webhook, as documents for the API server.

    ``documents`` are policies, each followed by its binding; empty if there are ``reasons``.
    ``remarks`` are differences that change no decision and no message, such as a missing audit
    annotation.
    """

    webhook: Webhook
    documents: tuple[JSONObject, ...] = ()
    reasons: tuple[Reason, ...] = ()
    remarks: tuple[Reason, ...] = ()

    def refused(self, reasons: Iterable[Reason]) -> "ExportedPart":
        """Return the part without documents for these reasons, if there are any; remarks would be
        about nothing.
        """
        more = tuple(reasons)
        if not more:
            return self
        return replace(self, documents=(), reasons=(*self.reasons, *more), remarks=())


@dataclass(frozen=True, slots=True)
class ExportedPolicy:
    """One source policy with its parts: validation, mutation, or both.

    ``file`` and ``line`` are where the source is.
    """

    kind: str
    name: str
    file: str
    line: int
    parts: tuple[ExportedPart, ...]

    @property
    def documents(self) -> tuple[JSONObject, ...]:
        """Return the documents of all parts."""
        return tuple(document for part in self.parts for document in part.documents)

    @property
    def exported(self) -> bool:
        """Whether the whole policy can run in the API server."""
        return all(not part.reasons for part in self.parts)


def shown_path(path: FieldPath) -> str:
    """Return a path as reasons name it: ``spec.mutations[0].overlay``."""
    found = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return found.removeprefix(".")
