"""What the names in a JMESPath expression mean in CEL. Kyverno puts the values of variables inside
of an expression (`{{ a.b == '{{ c }}' }}`) into its text before it parses it; here, marks stand for
them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from policyd.export.expressions.cel import MEMBER, TERNARY, Cel
from policyd.importers.jmespath.kinds import ANY, MAP, STRING, JsonKind
from policyd.importers.jmespath.terms import CelTerm
from policyd.importers.jmespath.values import CelValue
from policyd.importers.reads import PolicyReads

# Letters that no expression has: they are for private use.
_BEGIN, _END = "\ue000", "\ue001"
_VALUE = "inner_value_"


class NotTranslatable(Exception):
    """Raised for what CEL cannot say; the message names the function or the construct."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """``meanings`` maps what an expression may start with, such as ``element`` or
    ``request.object``, to its value. ``refused`` maps such beginnings to the reason why they have
    none. ``taken`` are variables of macros around the expression. ``reads`` are the Policy's, for
    names that stand for objects of the cluster.
    """

    meanings: Mapping[str, CelTerm] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    reads: PolicyReads = field(default_factory=PolicyReads)

    @classmethod
    def request(
        cls,
        *,
        present: tuple[str, ...] = (),
        absent: tuple[str, ...] = (),
        reads: PolicyReads | None = None,
    ) -> "Vocabulary":
        """Return what Kyverno defines for every rule.

        ``present`` are fields that all objects of the rule have, such as ``spec`` and
        ``spec.containers``. ``absent`` are fields that requests of the rule may lack, of
        ``namespace``, ``name`` and ``subResource``: the API server omits empty ones.
        """
        fields = {
            **dict.fromkeys(("operation", "namespace", "name", "subResource", "uid"), (STRING, ())),
            **dict.fromkeys(("kind", "requestKind"), (MAP, ("group", "version", "kind"))),
            **dict.fromkeys(
                ("resource", "requestResource"), (MAP, ("group", "version", "resource"))
            ),
            "dryRun": (ANY, ()),
            "userInfo": (MAP, ("username",)),
        }
        found = ("metadata", "kind", "apiVersion", *present)
        whole = cls(reads=reads or PolicyReads())
        for name in ("object", "oldObject"):
            whole = whole.bound(f"request.{name}", name, MAP, present=found)
        for name, (kind, below) in fields.items():
            whole = whole.bound(f"request.{name}", f"request.{name}", kind, present=below)
        for part, name in ((2, "serviceAccountNamespace"), (3, "serviceAccountName")):
            whole = whole.bound(name, _part_of_account(part), STRING)
        for name in absent:
            value = CelValue(Cel("request"), STRING, (name,), name=name)
            whole = whole.standing_for(f"request.{name}", value)
        refused = {
            "target": "`target` is an object in the cluster that Kyverno would change",
            **{
                f"request.{name}": f"`request.{name}` are bindings of the user, not of the request"
                for name in ("roles", "clusterRoles")
            },
        }
        return replace(whole, refused=refused)

    def bound(
        self,
        name: str,
        expression: str,
        kind: JsonKind = ANY,
        *,
        present: tuple[str, ...] = (),
        field: str = "",
    ) -> "Vocabulary":
        """Return the vocabulary with one more name, for CEL such as ``object`` or ``c``;
        ``present`` as for ``request``. ``field`` is the field that the value comes from, such as
        ``containers`` for an item of that list.
        """
        base = Cel(expression, TERNARY if " " in expression else MEMBER)
        own = field or name.rpartition(".")[2]
        refused = {each: why for each, why in self.refused.items() if each != name}
        whole = replace(self, refused=refused)
        return whole.standing_for(name, CelValue(base, kind, present=frozenset(present), name=own))

    def standing_for(self, name: str, term: CelTerm) -> "Vocabulary":
        """Return the vocabulary with one more name, for a value written where it is used."""
        return replace(self, meanings={**self.meanings, name: term})

    def without(self, name: str, reason: str) -> "Vocabulary":
        """Return the vocabulary with a name that has no meaning, for this reason."""
        return replace(self, refused={**self.refused, name: reason})

    def inside(self, *variables: str) -> "Vocabulary":
        """Return the vocabulary inside macros with these variables."""
        return replace(self, taken=self.taken | set(variables))

    def meaning(self, name: str) -> CelTerm | None:
        """Return what a name means.

        Raises NotTranslatable if it is refused.
        """
        if name in self.refused:
            raise NotTranslatable(self.refused[name])
        return self.meanings.get(name)

    def begins(self, name: str) -> bool:
        """Return whether a longer name has a meaning or is refused."""
        prefix = f"{name}."
        return any(each.startswith(prefix) for each in (*self.meanings, *self.refused))


def _part_of_account(number: int) -> str:
    # A ServiceAccount is the user system:serviceaccount:NAMESPACE:NAME.
    user = "request.userInfo.username"
    return f"({user}.startsWith('system:serviceaccount:') ? {user}.split(':')[{number}] : '')"


def mark(number: int) -> str:
    """Return what stands for a variable inside of quotes."""
    return f"{_BEGIN}{number}{_END}"


def name_of(number: int) -> str:
    """Return the name that stands for a variable outside of quotes."""
    return f"inner_variable_{number}"


def value_of(number: int) -> str:
    """Return the name that stands for a variable that is a JSON literal."""
    return f"{_VALUE}{number}"


def is_value(name: str) -> bool:
    """Return whether a name stands for a JSON literal, whatever it is evaluated on."""
    return name.startswith(_VALUE)


def split_inner(text: str, inner: Mapping[str, CelTerm]) -> list[str | CelTerm]:
    """Return the parts of a quoted text: what is written, and values for marks."""
    parts: list[str | CelTerm] = []
    for piece in text.split(_BEGIN):
        number, found, rest = piece.rpartition(_END)
        if found:
            parts.append(inner[name_of(int(number))])
        if rest:
            parts.append(rest)
    return parts
