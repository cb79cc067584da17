"""The rows of a proof: what a test of the source expects of one object, and what policyd decided.
Evaluates nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from policyd.importers.model import Imported, Refused
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.reviews import namespace
from policyd.policy.suite.state import CaseState

RowState = Literal["agrees", "disagrees", "not run"]


@dataclass(frozen=True, slots=True)
class TestRow:
    """One expectation about one object. ``path`` is its place in the document of the test.

    ``policy`` and ``rule`` are the names that the test uses; ``subject`` is the object, such as
    ``Pod default/web``. ``expected`` is in the words of the test: ``fail``, or ``2 violations``.
    """

    test: Document
    path: str = ""
    policy: str = ""
    rule: str = ""
    subject: str = ""
    expected: str = ""

    @property
    def line(self) -> int:
        """Return the line of the expectation in its file, from 1."""
        return self.test.place(self.path)[0]


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """An AdmissionReview with what its cluster holds: Namespace objects, and those that are params
    or that policies read. ``given``: values of the test stand for objects that policies read.
    """

    review: JSONObject
    namespaces: tuple[JSONObject, ...] = ()
    params: tuple[JSONObject, ...] = ()
    given: bool = False

    @classmethod
    def within(
        cls, review: JSONObject, namespaces: Mapping[str, JSONObject], params: Iterable[JSONObject]
    ) -> "ProofRequest":
        """Return a request in a cluster that has its namespace; ``namespaces`` are by name."""
        known, name = dict(namespaces), review["request"].get("namespace")
        if name:
            known.setdefault(name, namespace(name, {}))
        return cls(review, tuple(known.values()), tuple(params))

    @property
    def state(self) -> CaseState:
        """Return the cluster. The defaults of the API server are not applied: neither do the tests'
        own tools.
        """
        return CaseState(
            objects=(*self.params, *self.namespaces), namespaces=self.namespaces, defaults=False
        )


@dataclass(frozen=True, slots=True)
class Proof:
    """The outcome of a row. ``reason``: why it disagrees, or why it was not run.

    ``request`` is what was evaluated. ``imported`` is None if the test is about a policy that is
    not among the sources.
    """

    row: TestRow
    state: RowState
    found: str = ""
    reason: str = ""
    imported: Imported | None = field(default=None, repr=False)
    request: ProofRequest | None = field(default=None, repr=False)


class TestUnusable(Refused):
    """A test, or a row of one, cannot be run; the message is the reason."""

    __test__ = False

    def __init__(self, message: str) -> None:
        super().__init__("", message)
