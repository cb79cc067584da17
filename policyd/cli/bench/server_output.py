"""What ``policyd bench server`` prints, as text and JSON. Measures nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.benchmark.figures import Figure, percentile
from policyd.benchmark.load import LoadOptions
from policyd.benchmark.service import CPU, MOST, SHARES, THROUGHPUT, ServiceMeasurement
from policyd.cli.bench.values import aligned
from policyd.cli.shared.output import counted
from policyd.json_types import JSONObject


@dataclass(frozen=True, slots=True)
class ServerResult:
    """Everything that was measured."""

    reviews: int
    load: LoadOptions
    measurement: ServiceMeasurement

    def document(self) -> JSONObject:
        """Return what the figures do not show, as JSON."""
        found = self.measurement
        return {
            "seconds": self.load.seconds,
            "requests": len(found.latencies),
            "denied": found.denied,
            "failures": dict(found.failures),
            "latency": self.percentiles(),
            "remarks": list(found.remarks),
        }

    def percentiles(self) -> dict[str, float]:
        """Return the percentiles of all requests together, in microseconds."""
        latencies = self.measurement.latencies
        found = {name: percentile(latencies, share) * 1e6 for name, share in SHARES.items()}
        return {**found, MOST: latencies[-1] * 1e6}


def server_text(result: ServerResult) -> Iterator[str]:
    """Yield the lines of the report."""
    found, load = result.measurement, result.load
    rate = "closed loop" if load.rate is None else f"open loop, {load.rate:,.0f} requests/s"
    yield (
        f"{counted(result.reviews, 'review')}, {counted(load.connections, 'connection')}, {rate}, "
        f"{load.seconds:g} s in {load.rounds} rounds"
    )
    yield f"{len(found.latencies):,} answered, {found.denied:,} of them denied"
    for kind, count in found.failures.most_common():
        yield f"  {count:,} failed: {kind}"
    yield ""
    of_all = result.percentiles()
    rows = [("", "all", "median of the rounds", "quartiles")]
    rows += [
        (f"latency {name}, us", f"{of_all[name]:,.0f}", *_spread(found.figures[name]))
        for name in (*SHARES, MOST)
    ]
    rows.append(("requests/s", "", *_spread(found.figures[THROUGHPUT])))
    if CPU in found.figures:
        rows.append(("CPU of the server for a request, us", "", *_spread(found.figures[CPU])))
    yield from aligned(rows)
    yield from (f"note: {each}" for each in found.remarks)


def _spread(figure: Figure) -> tuple[str, str]:
    low, high = figure.quartiles
    return f"{figure.median:,.0f}", f"{low:,.0f} to {high:,.0f}"
