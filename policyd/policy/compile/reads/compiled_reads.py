"""Compiled reads: which objects, by which index, with which bounds. Finds no objects."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import orjson

from policyd._core.eval.program import Program
from policyd._core.match.selectors import Selector
from policyd._core.values.errors import CelError
from policyd.cel.types.types import DYN, STRING, Type, list_of, map_of
from policyd.errors import BudgetExceeded, EvaluationError, Problem
from policyd.json_types import JSONObject
from policyd.policy.compile.fields import KeyPath
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.model.base import labels_of
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.reads import ANY, SAME, PolicyRead
from policyd.policy.source.loaded_documents import Document

# The value of a key in an index, and of a read without a key.
OBJECTS = list_of(DYN)
INDEX = map_of(STRING, OBJECTS)
# The most keys of one object, the most characters of one key, and the units that a key may cost.
MAX_KEYS, MAX_KEY_CHARS, KEY_COST = 1_000, 4_096, 100_000
_STALENESS_SECONDS = 300.0
LABELS: KeyPath = ("metadata", "labels")


@dataclass(frozen=True, slots=True)
class CompiledRead:
    """One read. Two that are equal show the same objects, whatever policy they are of.

    ``namespace`` is ``SAME``, ``ANY`` or a name; ``selection`` and ``key_text`` are the text of the
    selector and of the key; ``fields`` are the paths of keys that the policy uses of an object,
    with all below them.
    """

    api_version: str
    kind: str
    namespace: str
    selection: str
    key_text: str
    include_self: bool
    staleness_seconds: float
    name: str = field(compare=False)
    selector: Selector | None = field(compare=False)
    key: Program | None = field(compare=False)
    fields: frozenset[KeyPath] = field(compare=False)
    # Each request looks up tables by it.
    hashed: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        whole = (self.api_version, self.kind, self.namespace, self.selection, self.key_text)
        object.__setattr__(self, "hashed", hash((*whole, self.include_self)))

    def __hash__(self) -> int:
        return self.hashed

    @property
    def type(self) -> Type:
        """The type of ``reads.NAME``."""
        return INDEX if self.key_text else OBJECTS

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"reads.{self.name} ({self.kind})"

    @property
    def place(self) -> str:
        """The namespace that the objects must be in; empty for the request's, or any."""
        return "" if self.namespace in (SAME, ANY) else self.namespace

    def selects(self, found: JSONObject) -> bool:
        """Whether an object of the kind is one of the read, by its labels."""
        return self.selector is None or self.selector.matches(labels_of(found))

    def keys_of(self, item: JSONObject) -> tuple[str, ...] | CelError:
        """Return the keys of an object in the index, without repetitions; the error if there are
        none for it.
        """
        if self.key is None:
            return ()
        try:
            value = self.key.evaluate({"item": item}, cost_limit=KEY_COST)
        except (EvaluationError, BudgetExceeded) as error:
            return CelError(str(error))
        listed = value if isinstance(value, list) else [value]
        if len(listed) > MAX_KEYS:
            return CelError(f"{len(listed)} keys; at most {MAX_KEYS} are allowed")
        wrong = next(_wrong(listed), "")
        return CelError(wrong) if wrong else tuple(dict.fromkeys(listed))


def compiled_read(read: PolicyRead, key: Program | None, used: Iterable[KeyPath]) -> CompiledRead:
    """Return a read that is without mistakes, with the program of its key and the fields that are
    ``used`` of its objects."""
    selector = None if read.label_selector is None else read.label_selector.plain()
    text = b"" if selector is None else orjson.dumps(selector, option=orjson.OPT_SORT_KEYS)
    seconds = read.max_staleness_seconds
    return CompiledRead(
        api_version=read.api_version,
        kind=read.kind,
        namespace=read.namespace,
        selection=text.decode(),
        key_text=read.key.strip(),
        include_self=read.include_self,
        staleness_seconds=_STALENESS_SECONDS if seconds is None else seconds,
        name=read.name,
        selector=None if selector is None else Selector(selector),
        key=key,
        fields=frozenset(used) | ({LABELS} if selector else set()),
    )


def read_type(read: PolicyRead, item: Type = DYN) -> Type:
    """Return the type of ``reads.NAME``, whose objects have the type ``item``."""
    objects = list_of(item)
    return map_of(STRING, objects) if read.key.strip() else objects


def _wrong(keys: list[object]) -> Iterator[str]:
    for each in keys:
        if not isinstance(each, str):
            yield f"a key is not a string but {type(each).__name__}"
        elif len(each) > MAX_KEY_CHARS:
            yield f"a key has {len(each)} characters; at most {MAX_KEY_CHARS} are allowed"


def misplaced(document: Document, reads: Sequence[PolicyRead]) -> Iterator[Problem]:
    """Yield the problem of each read that names a namespace for a kind without namespaces."""
    for index, read in enumerate(reads):
        kind = (read.api_version, read.kind)
        if read.given("namespace") and BUILT_IN.namespaced_kind(kind) is False:
            wrong = f"Forbidden: objects of kind {read.kind} are in no namespace"
            path = ("spec", "reads", index, "namespace")
            yield document.problem(FormProblem(path, wrong, "remove namespace", at_key=True))
