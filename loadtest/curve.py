"""A chart of latency against throughput, as SVG."""

from itertools import pairwise
from math import ceil, floor, log10
from typing import NamedTuple

WIDTH, HEIGHT, MARGIN = 720, 360, 56
COLORS = ("#1b7f4d", "#b36b00", "#b3261e")


class Point(NamedTuple):
    """Reviews per second, and milliseconds."""

    per_second: float
    latency: float


def drawn(curves: dict[str, list[Point]]) -> str:
    """The chart; the axis of latency is logarithmic."""
    points = [each for curve in curves.values() for each in curve]
    most = rounded(max((each.per_second for each in points), default=1.0))
    lowest = floor(log10(max(0.1, min((each.latency for each in points), default=1.0))))
    highest = max(lowest + 1, ceil(log10(max((each.latency for each in points), default=10.0))))

    def x(value: float) -> float:
        return round(MARGIN + value / most * (WIDTH - 2 * MARGIN), 1)

    def y(value: float) -> float:
        part = (log10(max(value, 10.0**lowest)) - lowest) / (highest - lowest)
        return round(HEIGHT - MARGIN - part * (HEIGHT - 2 * MARGIN), 1)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        "<title>Latency against throughput</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for decade in range(lowest, highest + 1):
        place = y(10.0**decade)
        lines.append(line(Point(MARGIN, place), Point(WIDTH - MARGIN, place)))
        lines.append(text(MARGIN - 6, place + 4, f"{10.0**decade:g} ms", "end"))
    for step in range(5):
        value = most * step / 4
        lines.append(text(x(value), HEIGHT - MARGIN + 18, f"{value:,.0f}", "middle"))
    lines.append(text(WIDTH / 2, HEIGHT - 12, "reviews per second", "middle"))
    lines.append(text(MARGIN, MARGIN - 16, "latency", "end"))
    for place, ((name, curve), color) in enumerate(zip(curves.items(), COLORS, strict=False)):
        lines.append(text(MARGIN + 60 * (place + 1), MARGIN - 16, f"\u25cf {name}", "start", color))
        places = [Point(x(each.per_second), y(each.latency)) for each in curve]
        lines += [line(before, after, color, 2) for before, after in pairwise(places)]
        lines += [
            f'<circle cx="{each[0]}" cy="{each[1]}" r="3" fill="{color}"/>' for each in places
        ]
    return "\n".join([*lines, "</svg>", ""])


def rounded(value: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** floor(log10(max(value, 1.0)))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= value)


def line(begin: Point, end: Point, color: str = "#ddd", width: int = 1) -> str:
    """A line between two places of the chart."""
    return (
        f'<line x1="{begin[0]}" y1="{begin[1]}" x2="{end[0]}" y2="{end[1]}"'
        f' stroke="{color}" stroke-width="{width}"/>'
    )


def text(x: float, y: float, content: str, anchor: str, color: str = "#333") -> str:
    """A label."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{color}">{content}</text>'
