"""The script of the page in a real browser: filters, sorting, and links to filtered findings.

Chromium opens the page from disk with a state in the fragment of its address, and prints the page as
the script left it.
"""

import json
import shutil
import subprocess
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path

import pytest

from policyd.reports.formats.page import html_page
from policyd.reports.summary import NamespaceResults, Summary
from tests.builders.summaries import counts, finding, policy_results, summary
from tests.reports.formats.html_tree import Element, parsed

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The state in the fragment of the address, and the objects that it shows in their order.
SHOWN = {
    "": "web imap stagev1 legacy broken x",
    "result=fail&namespace=shop": "web x",
    "namespace=": "stagev1",
    "policy=require-probes": "imap",
    "policy=no-such-policy": "web imap stagev1 legacy broken x",
    "search=KEY+team": "web stagev1 broken",
    "search=25+percent": "stagev1",
    "sort=object&order=ascending": "broken imap legacy web x stagev1",
    "sort=object&order=descending": "stagev1 x web legacy imap broken",
    "sort=severity&order=ascending": "web legacy x stagev1 imap broken",
    "sort=result&order=descending": "legacy imap broken web stagev1 x",
}
COLLECT = """
window.addEventListener("load", () => {
  const frames = [...document.querySelectorAll("iframe")];
  document.body.dataset.pages = JSON.stringify(frames.map((each) => each.contentDocument.documentElement.outerHTML));
});
"""
HOSTILE = "<img src=x onerror=document.title='owned'>"


@pytest.fixture(name="opened", scope="module")
def _opened(tmp_path_factory: pytest.TempPathFactory) -> "Browser":
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"needs a browser: one of {', '.join(BROWSERS)}")
    return Browser(found, tmp_path_factory.mktemp("page"))


class Browser:
    """A headless browser with a profile of its own."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._profile = folder / "profile"
        self._page = folder / "page.html"
        hostile = finding(name="x", message=HOSTILE, policy=HOSTILE)
        made = summary(findings=(*summary().findings, hostile))
        self._page.write_text(html_page(made), encoding="utf-8")

    def driven(self, script: str, width: int = 1200) -> Element:
        """The page after this script ran, too, which its own policy would not allow."""
        text = self._page.read_text(encoding="utf-8").replace("Content-Security-Policy", "none")
        page = self._page.with_name("driven.html")
        page.write_text(text.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
        return self._dumped(page.as_uri(), width)

    def on_a_phone(self, made: Summary, script: str) -> str:
        """What this script returns for the window of a page that is 375 pixels wide."""
        frame = f'<iframe style="width: 375px; height: 900px" srcdoc="{escape(html_page(made))}">'
        page = self._page.with_name("phone.html")
        load = (
            f"const measured = (window, document) => {{ {script} }};"
            "const inside = document.querySelector('iframe').contentWindow;"
            "inside.addEventListener('load', () => {"
            "document.body.dataset.log = measured(inside, inside.document); });"
        )
        page.write_text(f"<body>{frame}</iframe><script>{load}</script></body>", "utf-8")
        (body,) = self._dumped(page.as_uri()).all("body")
        return body.attributes["data-log"]

    def open(self, fragment: str = "") -> Element:
        """The page with this fragment, after the script ran."""
        return self._opened[fragment]

    @cached_property
    def _opened(self) -> dict[str, Element]:
        """The page with each fragment: one start of the browser opens all."""
        frames = "".join(
            f'<iframe src="{self._page.as_uri()}#{escape(each)}"></iframe>' for each in SHOWN
        )
        host = self._page.with_name("host.html")
        host.write_text(f"<body>{frames}<script>{COLLECT}</script></body>", "utf-8")
        (body,) = self._dumped(host.as_uri()).all("body")
        texts = json.loads(body.attributes["data-pages"])
        return dict(zip(SHOWN, map(parsed, texts), strict=True))

    def _dumped(self, address: str, width: int = 1200) -> Element:
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--allow-file-access-from-files",
        )
        size = f"--window-size={width},900"
        command = [self._program, *options, size, f"--user-data-dir={self._profile}", "--dump-dom"]
        done = subprocess.run([*command, address], capture_output=True, text=True, check=True)
        return parsed(done.stdout)


def objects(page: Element) -> list[str]:
    """The objects of the findings that are shown."""
    (table,) = (each for each in page.all("table") if each.attributes["id"] == "table-findings")
    shown = [row for row in table.all("tr")[1:] if "hidden" not in row.attributes]
    return [row.all("th")[0].text.partition("/")[2].removesuffix("apps/v1") for row in shown]


def output(page: Element) -> str:
    (only,) = page.all("output")
    return only.text


@pytest.mark.parametrize(("fragment", "shown"), SHOWN.items())
def test_filters_and_sorting(opened: Browser, fragment: str, shown: str) -> None:
    page = opened.open(fragment)
    assert objects(page) == shown.split()
    count = len(shown.split())
    assert output(page) == (f"{count} of 6 findings" if count < 6 else "All 6 findings")


def test_the_script_runs_under_the_policy_of_the_page(opened: Browser) -> None:
    page = opened.open("sort=object&order=descending")
    (form,) = page.all("form")
    assert "hidden" not in form.attributes
    heads = page.all("thead")
    assert all(each.all("button") for head in heads for each in head.all("th"))
    sorts = [each.attributes.get("aria-sort") for each in heads[2].all("th")]
    assert sorts == [None, None, "descending", None, None, None]
    options = [each.text for each in form.all("option")]
    assert {"fail", "(cluster-scoped)", "shop", "require-labels", "(none)"} <= set(options)


DRIVER = """
const form = document.getElementById("filters");
const table = document.getElementById("table-findings");
const log = [];
const note = () => log.push(document.getElementById("shown").value + " " + decodeURIComponent(location.hash));
const put = (name, value) => {
  form.elements.namedItem(name).value = value;
  form.dispatchEvent(new Event("input", {bubbles: true}));
  note();
};
const button = table.querySelector("[data-name=object] button");
put("search", "Key");
put("result", "=fail");
button.click();
note();
button.click();
note();
document.querySelector("#table-policies [data-name=pass] button").click();
document.body.dataset.log = log.join("|");
"""


def test_typing_choosing_and_clicking(opened: Browser) -> None:
    page = opened.driven(DRIVER)
    (body,) = page.all("body")
    assert body.attributes["data-log"].split("|") == [
        "3 of 6 findings #search=Key",
        "2 of 6 findings #search=Key&result=fail",
        "2 of 6 findings #search=Key&result=fail&sort=object&order=ascending",
        "2 of 6 findings #search=Key&result=fail&sort=object&order=descending",
    ]
    assert objects(page) == ["stagev1", "web"]
    (policies,) = (each for each in page.all("table") if each.attributes["id"] == "table-policies")
    names = [row.all("th")[0].text for row in policies.all("tr")[1:]]
    assert names == ["require-probes", "require-labels", "unused"], "the largest number first"


def test_policies_and_namespaces_with_findings_are_links(opened: Browser) -> None:
    page = opened.open()
    links = {each.text: each.attributes["href"] for each in page.all("a")}
    assert links["require-probes"] == "#policy=require-probes"
    assert links["(cluster-scoped)"] == "#namespace="
    assert "unused" not in links


def test_a_hostile_string_is_text_for_a_browser(opened: Browser) -> None:
    page = opened.open()
    (title,) = page.all("title")
    assert title.text.startswith("Policy report, ")
    assert page.all("img") == []
    assert HOSTILE in page.text


MEASURE = """
const seen = (each) => { const at = each.getBoundingClientRect(); return at.width > 0 && at.right <= innerWidth; };
const cells = (id, selector) => [...document.querySelectorAll(`#table-${id} ${selector}`)];
const log = [
  cells("findings", "td.message").every(seen), cells("findings", "thead button").every(seen),
  cells("policies", "tbody .fail").every(seen), cells("namespaces", "tbody .fail").every(seen),
];
document.getElementById("filters").elements.namedItem("result").value = "=warn";
document.getElementById("filters").dispatchEvent(new Event("input"));
log.push(cells("findings", "tbody tr").filter((row) => row.getBoundingClientRect().height > 0).length);
document.body.dataset.log = log.join(" ");
"""


@pytest.mark.parametrize("width", [500, 1200])
def test_what_matters_is_seen_without_scrolling_aside(opened: Browser, width: int) -> None:
    (body,) = opened.driven(MEASURE, width).all("body")
    assert body.attributes["data-log"] == "true true true true 1"


# The parts in which the lines of names end; and whether what matters of policies is seen.
PARTS = """
const parts = new Set();
for (const cell of document.querySelectorAll("tbody th, td.name")) {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    let line = "", last = null;
    for (let i = 0; i < node.length; i++) {
      const range = document.createRange();
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const rects = range.getClientRects();
      const top = Math.round(rects[rects.length - 1].top);
      if (last !== null && top > last + 5) { parts.add(line); line = ""; }
      last = top;
      line += node.data[i];
    }
  }
}
const fails = [...document.querySelectorAll("#table-policies td:nth-last-child(5)")];
const seen = fails.every((each) => each.getBoundingClientRect().right <= window.innerWidth);
return JSON.stringify([window.innerWidth, [...parts], seen]);
"""


def test_names_break_at_hyphens_on_a_phone(opened: Browser) -> None:
    name = "disallow-unprivileged-capabilities-in-production"
    rated = policy_results(name, fail=1234)
    made = summary(
        policies=(rated, replace(rated, name="automountserviceaccount", rollout="25 percent")),
        by_namespace=(NamespaceResults(f"{name}-namespace", 1234, counts(fail=1234)),),
        findings=(finding(policy=name, namespace=f"{name}-namespace", name=f"{name}-5d8f9c7b6d"),),
    )
    width, parts, seen = json.loads(opened.on_a_phone(made, PARTS))
    assert width == 375
    assert len(parts) >= 3
    assert [each for each in parts if not each.endswith(("-", "/"))] == []
    assert seen, "the failures of a policy are seen without scrolling aside"
