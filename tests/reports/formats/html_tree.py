"""Reads an HTML page for tests, as its elements in order. No tests here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "wbr", "input", "br", "img", "rect"}


@dataclass(slots=True)
class Element:
    """An element, its parent, its attributes, and the text of it and of what is inside."""

    tag: str
    attributes: dict[str, str]
    parent: "Element | None"
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self, tag: str) -> list["Element"]:
        """The elements of a tag inside, in order."""
        return [each for each in self.inside() if each.tag == tag]

    def inside(self) -> Iterator["Element"]:
        """All elements inside, in order."""
        for each in self.children:
            yield each
            yield from each.inside()

    def ancestors(self) -> Iterator["Element"]:
        """What it is in, the nearest first."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.current = Element("", {}, None)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute occurs twice in <{tag}>"
        made = Element(tag, {name: value or "" for name, value in attrs}, self.current)
        self.current.children.append(made)
        if tag not in _VOID:
            self.current = made

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        assert self.current.tag == tag, f"<{self.current.tag}> is closed by </{tag}>"
        assert self.current.parent is not None
        self.current = self.current.parent

    def handle_data(self, data: str) -> None:
        self.current.text += data
        for each in self.current.ancestors():
            each.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def parsed(page: str) -> Element:
    """The root of a page in which all elements are closed."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.current is reader.root
    return reader.root
