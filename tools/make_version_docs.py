"""Write the generated section of docs/reference/kubernetes-versions.md.

python -m tools.make_version_docs

A test compares the section with the tables. Versions of functions are in policyd/_core/lib, of
macros in policyd/cel/syntax/macros.py, other changes in tools/version_table.py.
"""

from pathlib import Path

from policyd.cel.syntax.macros import INTRODUCED
from policyd.cel.types.functions import declarations
from policyd.versions import OLDEST
from tools.version_table import CHANGED_FUNCTIONS, FEATURES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "kubernetes-versions.md"
BEGIN = (
    "<!-- Generated from policyd/_core/lib and policyd/versions.py by"
    " tools/make_version_docs.py -->\n"
)
END = "<!-- End of the generated part -->\n"


def section() -> str:
    """The generated part of the page, with the comments around it."""
    rows = [
        f"| {since} | {', '.join(f'`{name}`' for name in names)} |"
        for since, names in sorted(_arrivals().items())
    ]
    removed = [f"- Removed in {version}: `{signature}`." for signature, version in _removals()]
    changes = [
        f"- Since {each.since}: {each.about}."
        for each in (*FEATURES, *CHANGED_FUNCTIONS.values())
        if not each.about.startswith("see ")
    ]
    return "\n".join([
        BEGIN,
        f"Functions and macros that are not listed are available in all versions since {OLDEST}.",
        "",
        "| since | new functions and macros |",
        "|---|---|",
        *rows,
        "",
        "Other changes:",
        "",
        *removed,
        *changes,
        "",
        END,
    ])  # fmt: skip


def page() -> str:
    """The whole page with its section generated."""
    text = PAGE.read_text()
    return text[: text.index(BEGIN)] + section() + text[text.index(END) + len(END) :]


def _arrivals() -> dict[str, list[str]]:
    """The functions and macros that each version introduced."""
    found: dict[str, set[str]] = {}
    known = [each for each in declarations() if each.name[0].isalpha() and "@" not in each.name]
    firsts = {each.name: each.since for each in sorted(known, key=lambda each: each.since)[::-1]}
    for each in known:
        if each.since != OLDEST:
            # A name that existed before for another receiver is listed with its receiver.
            new = each.since == firsts[each.name]
            name = each.name if new else each.signature.partition("(")[0]
            found.setdefault(str(each.since), set()).add(f"{name}()")
    for (name, _), feature in INTRODUCED.items():
        form = f"{name}(k, v, …)" if name != "sortBy" else f"{name}(x, …)"
        found.setdefault(str(feature.since), set()).add(form)
    return {since: sorted(names) for since, names in found.items()}


def _removals() -> list[tuple[str, str]]:
    return [(each.signature, str(each.removed)) for each in declarations() if each.removed]


if __name__ == "__main__":
    PAGE.write_text(page())
