"""``policyd bench server``: measures a running server. Evaluates no policy."""

from collections.abc import Iterator
from pathlib import Path

import click

from policyd import option_values
from policyd.benchmark import service
from policyd.benchmark.admin import Admin
from policyd.benchmark.client import LoadTarget
from policyd.benchmark.figures import Figure
from policyd.benchmark.load import LoadOptions
from policyd.benchmark.saved import MeasuredInput, Saved
from policyd.benchmark.service import CPU, MOST, SHARES, THROUGHPUT, ServiceMeasurement
from policyd.benchmark.webhook_requests import WebhookRequest, digest
from policyd.cli.bench.reviews import REVIEWS, ReviewsToMeasure, read_reviews
from policyd.cli.bench.saving import SavingOptions, saving_options
from policyd.cli.shared.output import counted, format_option
from policyd.cli.shared.settings import OptionValue, grouped, option
from policyd.cli.shared.terminal.progress import counting
from policyd.cli.shared.terminal.wrapping import aligned
from policyd.defaulting.defaults import Defaults
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.offline.admitting import BOTH
from policyd.policy.kinds.mapping import BUILT_IN

NAME = "server"
ROUNDS = 10
_WARM_UP = 0.1  # of the duration, before it
_EPILOG = """\b
Examples:
  policyd bench server --server https://127.0.0.1:8443 --insecure
  policyd bench server --server https://policyd.example:8443 \\
      --ca-file ca.crt --admin http://policyd.example:8080 capture/
  policyd bench server --server https://127.0.0.1:8443 --insecure \\
      --admin http://127.0.0.1:8080 --save before.json
  policyd bench server --server https://127.0.0.1:8443 --insecure \\
      --admin http://127.0.0.1:8080 --compare before.json --threshold 15%

Each connection sends its next request when it is answered: this finds the throughput. A server that
stalls then gets fewer requests, and the stall is one slow request.

Exit status: 0 on success, 1 if requests failed or something is slower than --threshold allows, 2 if
the server cannot be reached, the input is invalid, or another measurement cannot be compared, 130
after Ctrl-C.
"""


def _target(
    *,
    server: str,
    ca_file: Path | None,
    insecure: bool,
    client_cert: Path | None,
    client_key: Path | None,
) -> LoadTarget:
    if insecure and ca_file is not None:
        raise click.UsageError("--insecure and --ca-file cannot be combined")
    if client_key is not None and client_cert is None:
        raise click.UsageError("--client-key requires --client-cert")
    return LoadTarget(
        server,
        ca_file=ca_file,
        insecure=insecure,
        client_cert=client_cert,
        client_key=client_key,
    )


_TARGET = (
    option(
        "--server",
        "Load the server at this URL, such as https://127.0.0.1:8443.",
        type=OptionValue("URL", option_values.https_url),
        required=True,
    ),
    option("--ca-file FILE", "Trust these CA certificates (PEM).  [default: the system's]"),
    option("--insecure", "Do not verify the server's certificate."),
    option(
        "--client-cert FILE",
        "Show this certificate (PEM) to a server that accepts known clients only.",
    ),
    option("--client-key FILE", "Read its private key here.  [default: the file of --client-cert]"),
)


@click.command(NAME, epilog=_EPILOG)
@grouped("target", _target, _TARGET)
@option(
    "--connections NUMBER",
    "Keep this many connections open.",
    type=click.IntRange(1, 1000),
    default=8,
)
@option(
    "--duration DURATION",
    f"Measure for this time, in {ROUNDS} rounds, after a warm-up of a tenth of it.",
    default="10s",
)
@option(
    "--admin URL",
    "Read the server's CPU time and policies on its admin port, such as http://127.0.0.1:8080.",
)
@option("--admin-token-file FILE", "Send the token in this file to the admin port.")
@saving_options
@format_option("text", "json")
@REVIEWS
def command(
    *,
    target: LoadTarget,
    connections: int,
    duration: float,
    admin: str | None,
    admin_token_file: Path | None,
    reviews: tuple[Path, ...],
    saving: SavingOptions,
    form: str,
) -> None:
    """Measure a running server under load: latency, throughput, failures, and its CPU time.

    Sends AdmissionReviews over TLS, as the API server does, on connections that stay open. PATHS
    are as for policyd bench core: captures, reviews, manifests; without PATHS, the built-in
    reviews. The server evaluates the policies that it has loaded. A review that does not record its
    webhook is validated.

    Run the client on other cores than the server, or on another machine: what they take from each
    other is measured too. The CPU time of the server (--admin) suffers least from that.
    """
    if admin_token_file is not None and admin is None:
        raise click.UsageError("--admin-token-file requires --admin")
    given = read_reviews(reviews, BUILT_IN)
    port = None if admin is None else Admin(admin, admin_token_file)
    of_policies = MeasuredInput("" if port is None else port.read().generation, 0)
    of_reviews = MeasuredInput(digest(given.reviews), len(given.reviews))
    former = saving.former(Saved(NAME, of_policies, of_reviews, {}))
    requests = list(_requests(given))
    service.try_once(target, requests)
    load = LoadOptions(connections, duration, duration * _WARM_UP, ROUNDS)
    with counting() as report:
        found = service.measure(target, requests, load, port, report)
    details: JSONObject = {
        "seconds": duration,
        "connections": connections,
        "requests": len(found.latencies),
        "denied": found.denied,
        "failures": dict(found.failures),
        "latency": found.percentiles(),
        "remarks": list(found.remarks),
    }
    saved = Saved(NAME, of_policies, of_reviews, found.figures, details)
    slower = saving.finish(saved, former, form, _text(of_reviews.count, load, found))
    if found.failures or slower:
        raise SystemExit(1)


def _requests(given: ReviewsToMeasure) -> Iterator[WebhookRequest]:
    """Yield the requests, with the API server's defaults for manifests."""
    defaults = Defaults(Schemas.builtin().with_crds(given.definitions))
    for each in given.reviews:
        request = each.review["request"]
        if each.built:
            request = defaults.request(request)
        for webhook in each.webhooks if each.webhooks != BOTH else BOTH[1:]:
            yield WebhookRequest.of(each.place, webhook, request)


def _text(reviews: int, load: LoadOptions, found: ServiceMeasurement) -> Iterator[str]:
    """Yield the lines of the report."""
    yield (
        f"{counted(reviews, 'review')}, {counted(load.connections, 'connection')}, "
        f"{load.seconds:g} s in {load.rounds} rounds"
    )
    yield f"{len(found.latencies):,} answered, {found.denied:,} of them denied"
    for kind, count in found.failures.most_common():
        yield f"  {count:,} failed: {kind}"
    yield ""
    of_all = found.percentiles()
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
