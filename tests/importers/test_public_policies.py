"""Public policies of Kyverno and Gatekeeper with their own tests: small ones kept here, and all of them
where they are. Their rows agree but for those that the guide explains.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.importers.all import CONVERTERS
from policyd.importers.checking import CheckedImport
from policyd.importers.expressions.sharing import expressions_of
from policyd.importers.proof.imports import ImportIndex
from policyd.importers.proof.proving import prove, rows_of
from policyd.importers.proof.rows import Proof
from policyd.importers.reading import read_sources
from policyd.versions import NEWEST
from tests.importers.sources import DATA, imported
from tests.sampling import sampled, share
from tests.shared import IMPORT, ROOT, find

EXPLAINED = set(
    re.findall(
        r"\b[a-z][a-z0-9-]+-[a-z0-9-]+\b",
        "\n".join(
            re.findall(
                r"^\| ([^|]+) \|",
                (ROOT / "docs" / "reference" / "imported-policies.md")
                .read_text()
                .split("## Where the tests")[1],
                re.MULTILINE,
            )
        ),
    )
)
# What no admission webhook can do, so that it does not count.
GENERATING = {"generate", "GeneratingPolicy"}
# Kinds of rules whose CEL is that of the source, or of the library.
AUTHORED = {"cel", "podSecurity", "ValidatingPolicy", "MutatingPolicy"}
LONGEST_LINE = 100


def public(engine: str) -> list[Path]:
    """A sample of the directories of a repository."""
    return sampled(sorted(each for each in find(IMPORT, engine).iterdir() if each.is_dir()))


def run(*folders: Path) -> tuple[list[CheckedImport], list[tuple[Proof, ...]]]:
    read = read_sources(folders)
    assert read.problems == ()
    imports = imported(read, CONVERTERS)
    proofs = prove(read.tests, ImportIndex(imports, read.documents, NEWEST))
    return imports, rows_of(imports, proofs)


def ran(
    imports: Sequence[CheckedImport], rows: Sequence[Sequence[Proof]]
) -> list[tuple[str, Proof]]:
    return [
        (one.imported.source.name, proof)
        for one, proofs in zip(imports, rows, strict=True)
        for proof in proofs
        if one.policies is not None and proof.state != "not run"
    ]


@pytest.mark.parametrize(
    ("engine", "policies", "refused", "rows"),
    [("kyverno", 10, set(), 34), ("gatekeeper", 3, {"k8sdisallowedtags"}, 10)],
)
def test_kept_rows_agree(engine: str, policies: int, refused: set[str], rows: int) -> None:
    imports, proofs = run(DATA / engine)
    assert len(imports) >= policies
    assert {each.imported.source.name for each in imports if each.policies is None} == refused
    found = ran(imports, proofs)
    assert len(found) >= rows
    assert [proof for name, proof in found if proof.state == "disagrees"] == []


def test_all_policies_of_kyverno() -> None:
    imports, proofs = run(*public("kyverno"))
    counted = [each for each in imports if not GENERATING & {*each.imported.kind_of_rule}]
    counted = [each for each in counted if each.imported.source.kind not in GENERATING]
    found = ran(imports, proofs)
    disagreeing = [(name, proof) for name, proof in found if proof.state == "disagrees"]
    if share() == 1:
        assert sum(each.policies is not None for each in counted) >= 0.95 * len(counted)
        assert len(found) > 3000
        assert len(disagreeing) <= 0.003 * len(found)
    assert found and {name for name, _ in disagreeing} <= EXPLAINED
    assert [line for line in written(imports) if len(line) > LONGEST_LINE] == []


def written(imports: Sequence[CheckedImport]) -> list[str]:
    """The lines of CEL that are not an author's; those that are one string cannot be broken."""
    specs = [
        each.raw["spec"]
        for one in imports
        if not AUTHORED & {*one.imported.kind_of_rule}
        for each in one.imported.documents
    ]
    texts = (holder[field] for spec in specs for holder, field in expressions_of(spec))
    lines = (line for text in texts for line in text.split("\n"))
    return [each for each in lines if not each.strip("+ r").startswith("'")]


def test_the_suites_of_all_policies_of_kyverno_pass(tmp_path: Path) -> None:
    out = str(tmp_path / "policies")
    made = CliRunner().invoke(policyd, ["import", *map(str, public("kyverno")), "-o", out])
    assert made.exit_code == 0, made.output
    done = CliRunner().invoke(policyd, ["test", out])
    assert done.exit_code == 0, done.output
    if share() == 1:
        texts = [each.read_text() for each in Path(out).rglob("*.yaml")]
        assert sum("\n  reads:\n" in each for each in texts) >= 8


def test_all_policies_of_gatekeeper() -> None:
    imports, proofs = run(find(IMPORT, "gatekeeper"))
    for each in imports:
        is_rego = each.imported.kind_of_rule == ("Rego",)
        assert (each.policies is None) == is_rego, each.imported.reasons
    found = ran(imports, proofs)
    assert len(found) > 100
    assert [proof for _, proof in found if proof.state == "disagrees"] == []
