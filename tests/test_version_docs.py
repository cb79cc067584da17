"""docs/reference/kubernetes-versions.md lists the contents of the core's version tables."""

from tools.make_version_docs import PAGE, page


def test_the_section_is_not_stale() -> None:
    assert PAGE.read_text() == page(), "run: python -m tools.make_version_docs"
