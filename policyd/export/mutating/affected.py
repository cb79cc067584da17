"""The fields that may get a default because of what a mutation writes."""

from collections.abc import Iterable, Iterator

from policyd._core.schema.types import Decoding, Field, SchemaType
from policyd.cel.syntax.ast import Expr, ListExpr, Literal, MapExpr, StructExpr
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import children, nodes, terms_of
from policyd.cel.types.types import is_optional
from policyd.export.mutating.defaults import FIELDS, FOLLOWING, NAMES, POD_RESOURCES
from policyd.export.mutating.overlays.places import is_always_there
from policyd.export.mutating.overlays.values import member_of
from policyd.json_types import JSONObject, keys_in
from policyd.mutation.overlays.tree import List, Map, OverlayLeaf, OverlayNode, Template
from policyd.mutation.overlays.tree import conditions as conditions_of
from policyd.mutation.schemas.schemas import KindSchema
from policyd.versions import KubernetesVersion

ANY = frozenset({"*"})
_COMPUTED = "\0"
_V1_37 = KubernetesVersion(1, 37)


class Affected:
    """Collects the fields for objects of one kind: ``fields`` may get a default, ``written`` are
    the names of those that are written.
    """

    def __init__(self, schema: KindSchema, version: KubernetesVersion) -> None:
        self._schema = schema
        self._version = version
        self.fields: set[str] = set()
        self.written: set[str] = set()

    def result(self) -> frozenset[str]:
        """Return the fields; ANY if they are not known."""
        kind = self._schema.gvk.kind
        if not self._schema.native and self.written - {"metadata", "labels", "annotations"}:
            return self._structural()
        for each in (*FOLLOWING, *(POD_RESOURCES if self._version < _V1_37 else ())):
            if (not each.kinds or kind in each.kinds) and each.written & self.written:
                self.fields |= each.fields
        return frozenset(self.fields)

    def _structural(self) -> frozenset[str]:
        """Return the fields of a custom resource that have a default, or contain one."""
        found: set[str] = set()
        stack: list[JSONObject] = [self._schema.structural or {}]
        while stack:
            schema = stack.pop()
            properties: dict[str, JSONObject] = schema.get("properties") or {}
            for name, below in properties.items():
                if "default" in below:
                    found |= {name, *keys_in(below["default"])}
                stack.append(below)
            stack += (schema[word] for word in ("items", "additionalProperties") if word in schema)
        return frozenset(found)

    # Overlays

    def overlay(self, node: OverlayNode, at: Field, *, existing: bool) -> None:
        """Add what an overlay writes. ``existing``: the node is merged into what is there."""
        if isinstance(node, Map):
            given = set()
            requested = _requests_what_it_limits(node)
            for member in node.members:
                if not (requested and member.name == "limits"):
                    self.written.add(member.name)
                if _is_zero(member.node):
                    self.fields |= NAMES & {member.name}
                else:
                    given.add(member.name)
                below = member_of(at, member.name)
                self.overlay(member.node, below, existing=is_always_there(below))
            if not existing:
                self._made(at.type, given)
        elif isinstance(node, List):
            assert at.type.item is not None
            for item in node.items:
                self.overlay(item, at.type.item, existing=bool(conditions_of(item)))

    # Expressions

    def expression(self, patch_type: str, text: str) -> None:
        """Add what a JSONPatch or an ApplyConfiguration writes."""
        tree = parse(text, self._version)
        if patch_type == "ApplyConfiguration":
            for struct in _outermost(tree):
                self._value(struct, self._schema.root, existing=True)
            return
        for node in nodes(tree):
            if isinstance(node, StructExpr) and node.type_name == "JSONPatch":
                self._operation({field.name: field.value for field in node.fields})

    def _operation(self, given: dict[str, Expr]) -> None:
        op = given.get("op")
        path = _segments(given.get("path"))
        field: Field | None = self._schema.root
        for segment in path or ():
            field = None if field is None else _step(field, segment)
            if segment != _COMPUTED:
                self.written.add(segment)
        if path is None or field is None:
            self._deep(self._schema.root.type)
            return
        sets = isinstance(op, Literal) and op.value in ("add", "replace") and "value" in given
        if not sets:
            self._deep(field.type)
            self.fields |= NAMES & set(path[-1:])
            if "from" in given:
                self._deep(self._schema.root.type)
            return
        self._value(given["value"], field, existing=False)

    def _value(self, value: Expr, at: Field, *, existing: bool) -> None:
        """Add what the value of an expression writes at a field."""
        if isinstance(value, StructExpr | MapExpr):
            given: set[str] = set()
            for name, inner, optional in _entries(value):
                if name is None:
                    self._deep(at.type)
                    continue
                self.written.add(name)
                below = at.type.fields.get(name, at.type.extra)
                if below is None:
                    continue  # refused by the API server
                if not optional:
                    given.add(name)
                if isinstance(inner, Literal) and not inner.value:
                    self.fields |= NAMES & {name}
                self._value(inner, below, existing=existing and is_always_there(below))
            if not existing:
                self._made(at.type, given)
            return
        if isinstance(value, ListExpr):
            for element in value.elements:
                self._value(element, at.type.item or at, existing=False)
            return
        found = list(_outermost(value))
        if found:
            inside = at.type.item if at.type.is_list and at.type.item is not None else at
            for each in found:
                self._value(each, inside, existing=False)
        elif not isinstance(value, Literal):
            self._deep(at.type)

    def _made(self, kind: SchemaType, given: Iterable[str]) -> None:
        """Add the defaults of a struct that may be made with these fields."""
        if kind.decoding == Decoding.STRUCT:
            self.fields |= FIELDS.get(kind.name, frozenset()) - set(given)

    def _deep(self, kind: SchemaType) -> None:
        """Add everything in a value that is not known."""
        seen: set[SchemaType] = set()
        stack = [kind]
        while stack:
            each = stack.pop()
            if each in seen:
                continue
            seen.add(each)
            self._made(each, ())
            self.written |= each.fields.keys()
            stack += (field.type for field in each.fields.values())
            stack += (field.type for field in (each.extra, each.item) if field is not None)


def _requests_what_it_limits(node: Map) -> bool:
    """Return whether a node sets a request for each limit that it sets, so that none is derived."""
    maps = {each.name: each.node for each in node.members if isinstance(each.node, Map)}
    if "limits" not in maps or "requests" not in maps:
        return False
    requested = {each.name for each in maps["requests"].members if _is_value(each.node)}
    return {each.name for each in maps["limits"].members} <= requested


def _is_value(node: OverlayNode) -> bool:
    """Return whether a node surely sets a scalar."""
    if isinstance(node, Template):
        return node.type is None or not is_optional(node.type)
    return isinstance(node, OverlayLeaf) and node.value is not None


def _is_zero(node: OverlayNode) -> bool:
    """Return whether a node may remove a field, or set the value that counts as absent."""
    if isinstance(node, OverlayLeaf):
        return not node.value
    return not isinstance(node, Map | List)


def _step(at: Field, segment: str) -> Field | None:
    kind = at.type
    if kind.is_list:
        return kind.item
    if segment == _COMPUTED:
        return None if kind.fields else kind.extra
    return kind.fields.get(segment, kind.extra)


def _segments(path: Expr | None) -> list[str] | None:
    """Return the segments of a path; None if its beginning is computed."""
    text = ""
    for part in () if path is None else terms_of(path, "_+_"):
        known = isinstance(part, Literal) and isinstance(part.value, str)
        text += str(part.value) if known and isinstance(part, Literal) else _COMPUTED
    if not text.startswith("/"):
        return None
    found = text[1:].split("/")
    if any(_COMPUTED in each and each != _COMPUTED for each in found):
        return None
    return [each.replace("~1", "/").replace("~0", "~") for each in found]


def _entries(value: StructExpr | MapExpr) -> Iterator[tuple[str | None, Expr, bool]]:
    if isinstance(value, StructExpr):
        for field in value.fields:
            yield field.name, field.value, field.optional
        return
    for entry in value.entries:
        known = isinstance(entry.key, Literal) and isinstance(entry.key.value, str)
        name = str(entry.key.value) if known and isinstance(entry.key, Literal) else None
        yield name, entry.value, entry.optional


def _outermost(node: Expr) -> Iterator[StructExpr | MapExpr]:
    if isinstance(node, StructExpr | MapExpr):
        yield node
        return
    for child in children(node):
        yield from _outermost(child)
