"""The functions that expressions may use are those of Kubernetes, overload by overload."""

from pathlib import Path

import pytest

from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd.cel.env import Environment
from policyd.cel.syntax.macros import INTRODUCED
from policyd.cel.types.declarations import OverloadDecl, group, parse_signature
from policyd.cel.types.functions import functions as known
from policyd.cel.types.functions import introduced
from policyd.errors import CelTypeError
from policyd.versions import OLDEST, SUPPORTED, KubernetesVersion
from tests.cel.kubernetes import functions
from tools.version_table import CHANGED_FUNCTIONS

VERSIONS = Path(__file__).with_name("kubernetes_versions.tsv")

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


# Of cel-go's optional types, which Kubernetes takes as they are: they came with cel-go 0.23, that of
# Kubernetes 1.33, whatever the compatibility version. jsonpatch is only in mutations' environments.
OF_CEL_GO = {"list_first", "list_last", "optional_unwrap", "optional_unwrapOpt"}
ELSEWHERE = {"string_jsonpatch_escapeKey_string"}


def listed() -> dict[str, str]:
    """The version that an overload or macro came with, where that is newer than 1.30."""
    lines = (line for line in VERSIONS.read_text().splitlines() if line[0] != "#")
    return {name: since for since, name in (line.split("\t") for line in lines)}


def test_overloads_came_with_the_version_that_kubernetes_says() -> None:
    ours = {
        each: str(since)
        for each, since in introduced().items()
        if since > OLDEST and each not in OF_CEL_GO | ELSEWHERE
    }
    theirs = {name: since for name, since in listed().items() if not name.startswith("macro ")}
    assert ours == theirs


def test_macros_came_with_the_version_that_kubernetes_says() -> None:
    ours = {f"macro {name} {count}": str(each.since) for (name, count), each in INTRODUCED.items()}
    theirs = {name: since for name, since in listed().items() if name.startswith("macro ")}
    assert ours == theirs


@pytest.mark.parametrize("version", SUPPORTED, ids=str)
def test_environments_grow_with_their_version(version: KubernetesVersion) -> None:
    rows = known(version).by_id
    since = listed()
    late = {
        each for each in rows if each in since and KubernetesVersion.parse(since[each]) > version
    }
    assert late == set()
    assert ("int64_to_duration" in rows) == (version < KubernetesVersion(1, 37))
    assert (rows.keys() >= OF_CEL_GO) == (version >= KubernetesVersion(1, 33))
    checked = Environment.kubernetes(version).check("[1].all(x, x > 0)")
    assert checked.version == version


def test_what_is_newer_than_an_environment_is_not_declared_in_it() -> None:
    for text in ("[1].all(i, v, v > 0)", "format.date()", "semver('1.0.0')", "[1].includes(1)"):
        with pytest.raises(CelTypeError, match="undeclared reference"):
            Environment.kubernetes(OLDEST).check(text)


def test_every_change_of_a_function_is_described() -> None:
    rows = [row for library in KNOWN_LIBRARIES for row in library.overloads]
    changed = {row.name for row in rows if sum(other.id == row.id for other in rows) > 1}
    assert changed == CHANGED_FUNCTIONS.keys()
    for name, feature in CHANGED_FUNCTIONS.items():
        assert {r.introduced for r in rows if r.name == name and r.introduced} >= {feature.since}
