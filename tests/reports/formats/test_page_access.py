"""The page is usable with a screen reader, a keyboard, and in both colour schemes."""

import itertools
import re

import pytest

from policyd.reports.formats.page import html_page
from tests.builders.summaries import summary
from tests.reports.formats.html_tree import Element, parsed

PAGE = parsed(html_page(summary(problems=("cannot list secrets",))))
IDS = {each.attributes["id"]: each for each in PAGE.inside() if "id" in each.attributes}


def label(element: Element) -> str:
    """The accessible name of a landmark or table."""
    named_by = element.attributes.get("aria-labelledby")
    return IDS[named_by].text if named_by else element.attributes.get("aria-label", "")


def test_the_page_has_a_language_a_title_and_landmarks() -> None:
    (html,), (title,) = PAGE.all("html"), PAGE.all("title")
    assert html.attributes["lang"] == "en"
    assert title.text == "Policy report, https://10.0.0.1:443, 2026-11-23 18:00:05 UTC"
    for landmark in ("header", "main", "footer"):
        (only,) = PAGE.all(landmark)
        assert only.parent is not None
        assert only.parent.tag == "body"
    assert all(label(each) for each in PAGE.all("section"))
    assert len({label(each) for each in PAGE.all("section")}) == len(PAGE.all("section"))


def test_headings_leave_out_no_level() -> None:
    levels = [int(each.tag[1]) for each in PAGE.inside() if re.fullmatch("h[1-6]", each.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_ids_are_unique_and_links_lead_to_them() -> None:
    assert len(IDS) == len([each for each in PAGE.inside() if "id" in each.attributes])
    for link in PAGE.all("a"):
        assert link.attributes["href"].removeprefix("#") in IDS


def test_tables_have_names_and_heads() -> None:
    assert len(PAGE.all("table")) == 3
    for table in PAGE.all("table"):
        assert label(table)
        head, *rows = table.all("tr")
        assert all(each.attributes["scope"] == "col" for each in head.children)
        for row in rows:
            assert len(row.children) == len(head.children)
            assert [each.attributes["scope"] for each in row.all("th")] == ["row"]
        (region, *_) = table.ancestors()
        assert (region.attributes["role"], region.attributes["tabindex"]) == ("region", "0")


def test_every_control_has_a_label() -> None:
    controls = [each for each in PAGE.inside() if each.tag in ("input", "select")]
    assert len(controls) == 5
    for control in controls:
        (above, *_) = control.ancestors()
        assert above.tag == "label"
        assert above.text.strip()
    assert IDS["shown"].attributes["aria-live"] == "polite"


def test_results_are_words_not_only_colours() -> None:
    badges = [each for each in PAGE.all("span") if "badge" in each.attributes.get("class", "")]
    assert [each.text for each in badges] == ["fail", "warn", "fail", "skip", "error"]


def schemes() -> dict[str, dict[str, str]]:
    """The colours by name of the light and of the dark scheme."""
    (style,) = PAGE.all("style")
    roots = re.findall(r":root \{(.*?)\}", style.text, re.S)
    light, dark = (dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", each)) for each in roots)
    return {"light": light, "dark": dark}


def luminance(color: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(scheme: str) -> None:
    """4.5:1, as WCAG 2.2 demands for text of any size (1.4.3)."""
    colors = schemes()[scheme]
    assert colors.keys() == schemes()["light"].keys()
    for text, ground in itertools.product(
        colors.keys() - {"page", "panel", "line"}, ("page", "panel")
    ):
        dark, bright = sorted((luminance(colors[text]), luminance(colors[ground])))
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (text, ground)
