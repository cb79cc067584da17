"""What an import consists of. Only data."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from policyd.errors import CelSyntaxError
from policyd.json_types import FieldPath, JSONObject
from policyd.policy.source.loaded_documents import Document

ImportState = Literal["imported", "with remarks", "in part", "not imported"]


@dataclass(frozen=True, slots=True)
class ImportRemark:
    """A difference in the result, or the reason why there is none.

    ``path`` is the field of the source document that it is about, such as
    ``spec.rules[0].validate.deny``; ``message`` is one sentence in plain words, without a full
    stop. ``scans``: it is about scans only, and requests are decided as by the source.
    """

    path: str
    message: str
    scans: bool = False


@dataclass(frozen=True, slots=True)
class ImportNotes:
    """The ``remarks`` about a result, and ``comments`` by path in its ``spec``."""

    remarks: list[ImportRemark] = field(default_factory=list)
    comments: dict[FieldPath, str] = field(default_factory=dict)

    def remark(self, path: str, message: str, *, scans: bool = False) -> None:
        """Add a remark."""
        self.remarks.append(ImportRemark(path, message, scans))


class Refused(Exception):
    """Raised for what cannot be said in policyd's language; refuses a source policy, or a rule."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.finding = ImportRemark(path, message)


@contextmanager
def refusing(path: str, *errors: type[Exception]) -> Iterator[None]:
    """Raise Refused with this path for these errors, and for an expression that is no CEL."""
    try:
        yield
    except CelSyntaxError as error:
        raise Refused(path, f"the expression is no CEL: {error.problems[0].message}") from None
    except errors as error:
        raise Refused(path, str(error)) from None


@dataclass(frozen=True, slots=True)
class ImportedDocument:
    """A ``policyd.dev/v1 Policy``, its fields in the order in which a person would write them.

    ``comments`` stand above fields, by path (``()``: above the document): what was decided, and
    why.
    ``exceptions`` and similar parts of other documents have been merged into it.
    """

    raw: JSONObject
    comments: Mapping[FieldPath, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the policy."""
        metadata = self.raw["metadata"]
        assert isinstance(metadata, dict)
        return str(metadata["name"])


@dataclass(frozen=True, slots=True)
class Imported:
    """One policy of the source with what came of it.

    ``reasons`` say why ``documents`` is empty or, if it is not, why the rules ``left_out`` are not
    among them: the others are decided as by the source without these. ``rules`` names the policies
    that came of each rule of the source, by the names that the tests of the source use (``""``: the
    source policy has no rules). ``kind_of_rule`` is what a statistic counts by:
    ``pattern``, ``deny``, ``foreach``, ``cel``, ``patchStrategicMerge`` and so on. ``base`` is what
    the names of the documents begin with.
    """

    source: Document
    documents: tuple[ImportedDocument, ...] = ()
    reasons: tuple[ImportRemark, ...] = ()
    remarks: tuple[ImportRemark, ...] = ()
    rules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kind_of_rule: tuple[str, ...] = ()
    base: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def state(self) -> ImportState:
        """Return how it went."""
        if self.reasons:
            return "in part" if self.documents else "not imported"
        return "with remarks" if self.remarks else "imported"

    @property
    def same(self) -> bool:
        """Whether requests are decided as by the source: no remark is about them."""
        return not self.reasons and all(each.scans for each in self.remarks)
