"""The functions that expressions may use are those of Kubernetes, overload by overload."""

from policyd.cel.decls import OverloadDecl, group, parse_signature
from policyd.cel.functions import functions as known
from policyd.versions import KubernetesVersion
from tests.cel.kubernetes import functions

# Declared by cel-go for the trees of old versions; no text of a policy means them.
LEGACY = frozenset(("in", "_in_", "__not_strictly_false__"))


def declared() -> dict[str, tuple[OverloadDecl, ...]]:
    rows = known(KubernetesVersion(1, 36)).by_id.values()
    return group(parse_signature(row.signature, row.name, row.id) for row in rows)


def shape(overload: OverloadDecl) -> str:
    """A signature with its type parameters in order of appearance, so that names do not matter."""
    names = {param: f"T{index}" for index, param in enumerate(overload.type_params)}
    text = f"{overload.member} {', '.join(map(str, overload.args))} -> {overload.result}"
    for param, name in names.items():
        text = text.replace(f"({param.name}", f"({name}").replace(f" {param.name}", f" {name}")
    return f"{overload.id}: {text}"


def test_every_overload_of_kubernetes_is_declared() -> None:
    ours = declared()
    missing = {
        name: lost
        for name, overloads in functions().items()
        if (
            lost := {shape(each) for each in overloads}
            - {shape(each) for each in ours.get(name, ())}
        )
    }
    assert {name: lost for name, lost in missing.items() if name not in LEGACY} == {}
    assert set(missing) == LEGACY


def test_nothing_else_is_declared() -> None:
    kubernetes = functions()
    more = {
        name: surplus
        for name, overloads in declared().items()
        if (
            surplus := {shape(each) for each in overloads}
            - {shape(each) for each in kubernetes.get(name, ())}
        )
    }
    assert more == {}
