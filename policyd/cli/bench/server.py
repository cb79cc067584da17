"""``policyd bench server``: measures a running server. Evaluates no policy."""

from dataclasses import dataclass, replace
from pathlib import Path

import click

from policyd import option_values
from policyd.benchmark import service
from policyd.benchmark.admin import Admin
from policyd.benchmark.client import LoadTarget, Trust
from policyd.benchmark.load import LoadOptions
from policyd.benchmark.saved import MeasuredInput, Saved
from policyd.benchmark.webhook_requests import WebhookRequest, body_of, digest
from policyd.cli.bench.reviews import ReviewsToMeasure, read_reviews
from policyd.cli.bench.saving import SavingOptions, saving_options
from policyd.cli.bench.server_output import ServerResult, server_text
from policyd.cli.shared.output import format_option
from policyd.cli.shared.settings import OptionValue, grouped
from policyd.cli.shared.terminal.progress import counting
from policyd.defaulting.defaults import Defaults
from policyd.mutation.schemas.schemas import Schemas
from policyd.offline.admitting import BOTH
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.model.suite import Webhook

NAME = "server"
ROUNDS = 10
_WARM_UP = 0.1  # of the duration, before it
_EPILOG = """\b
Examples:
  policyd bench server --server https://127.0.0.1:8443 --insecure
  policyd bench server --server https://10.0.0.7:8443 --ca-file ca.crt \\
      --server-name policyd.policyd.svc --admin http://10.0.0.7:8080
  policyd bench server --server https://127.0.0.1:8443 --insecure \\
      --rate 500 --duration 1m capture/
  policyd bench server --server https://127.0.0.1:8443 --insecure \\
      --admin http://127.0.0.1:8080 --save before.json
  policyd bench server --server https://127.0.0.1:8443 --insecure \\
      --admin http://127.0.0.1:8080 --compare before.json --threshold 15%

Without --rate each connection sends its next request when it is answered (closed loop): this finds
the throughput. A server that stalls is then asked less, and the stall is one slow request.

With --rate requests begin at fixed times (open loop), and latency is measured from the time at
which a request should have begun, also if all connections were busy: this finds the latency that
clients see at that rate.

Exit status: 0 on success, 1 if requests failed or something is slower than --threshold allows, 2 if
the server cannot be reached, the input is invalid, or another measurement cannot be compared, 130
after Ctrl-C.
"""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The server, and how it is reached and loaded."""

    target: LoadTarget
    admin: Admin | None
    load: LoadOptions


def _server_options(
    *,
    server: str,
    ca_file: Path | None,
    insecure: bool,
    server_name: str,
    client_cert: Path | None,
    client_key: Path | None,
    connections: int,
    duration: float,
    rate: float | None,
    admin: str | None,
    admin_token_file: Path | None,
) -> ServerOptions:
    if insecure and ca_file is not None:
        raise click.UsageError("--insecure and --ca-file cannot be combined")
    if client_key is not None and client_cert is None:
        raise click.UsageError("--client-key requires --client-cert")
    if admin_token_file is not None and admin is None:
        raise click.UsageError("--admin-token-file requires --admin")
    trust = Trust(ca_file, insecure, server_name, client_cert, client_key)
    return ServerOptions(
        LoadTarget(server, trust),
        None if admin is None else Admin(admin, admin_token_file),
        LoadOptions(connections, duration, duration * _WARM_UP, ROUNDS, rate),
    )


_OPTIONS = (
    click.option(
        "--server",
        type=OptionValue("URL", option_values.https_url),
        required=True,
        metavar="URL",
        help="Load the server at this URL, such as https://127.0.0.1:8443.",
    ),
    click.option(
        "--ca-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Trust these CA certificates (PEM).  [default: those of the system]",
    ),
    click.option("--insecure", is_flag=True, help="Do not verify the server's certificate."),
    click.option(
        "--server-name",
        default="",
        metavar="NAME",
        help="Expect this name in the certificate.  [default: the host of the URL]",
    ),
    click.option(
        "--client-cert",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Show this certificate (PEM) to a server that accepts known clients only.",
    ),
    click.option(
        "--client-key",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Read its private key here.  [default: the file of --client-cert]",
    ),
    click.option(
        "--connections",
        type=click.IntRange(1, 1000),
        default=8,
        show_default=True,
        metavar="NUMBER",
        help="Keep this many connections open.",
    ),
    click.option(
        "--duration",
        type=OptionValue("DURATION", option_values.positive_duration),
        default="10s",
        show_default=True,
        metavar="DURATION",
        help=f"Measure for this time, in {ROUNDS} rounds, after a warm-up of a tenth of it.",
    ),
    click.option(
        "--rate",
        type=click.FloatRange(min=0, min_open=True),
        metavar="NUMBER",
        help="Begin this many requests a second (open loop).  [default: each connection sends as "
        "soon as it is answered]",
    ),
    click.option(
        "--admin",
        metavar="URL",
        help="Read the server's CPU time and policies on its admin port, such as "
        "http://127.0.0.1:8080.",
    ),
    click.option(
        "--admin-token-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Send the token in this file to the admin port.",
    ),
)


@click.command(NAME, epilog=_EPILOG)
@grouped("options", _server_options, _OPTIONS)
@click.option(
    "--webhook",
    type=click.Choice((*reversed(BOTH), "both")),
    default="validate",
    show_default=True,
    help="Choose the webhook for reviews that do not record theirs.",
)
@saving_options
@format_option("text", "json")
@click.argument(
    "reviews",
    nargs=-1,
    metavar="[PATHS]...",
    type=click.Path(exists=True, path_type=Path, allow_dash=True),
)
def command(
    *,
    options: ServerOptions,
    webhook: str,
    reviews: tuple[Path, ...],
    saving: SavingOptions,
    form: str,
) -> None:
    """Measure a running server under load: latency, throughput, failures, and its CPU time.

    Sends AdmissionReviews over TLS, as the API server does, on connections that stay open. PATHS
    are those of policyd bench core: captures, reviews, manifests; without PATHS, the built-in
    reviews. The server evaluates the policies that it has loaded.

    Run the client on other cores than the server, or on another machine: what they take from each
    other is measured too. The CPU time of the server (--admin) suffers least from that.
    """
    former = saving.former(NAME)
    given = read_reviews(reviews, BUILT_IN)
    requests = _requests(given, BOTH if webhook == "both" else (webhook,))  # type: ignore[arg-type]
    load = options.load
    state = None if options.admin is None else options.admin.read()
    saved = Saved(
        NAME,
        MeasuredInput("" if state is None else state.generation, 0),
        MeasuredInput(digest(given.reviews), len(given.reviews)),
        {},
        options={"connections": load.connections, "rate": load.rate, "webhook": webhook},
    )
    saving.check(saved, former)
    service.try_once(options.target, requests)
    with counting() as report:
        found = service.measure(options.target, requests, load, options.admin, report)
    result = ServerResult(len(given.reviews), load, found)
    saved = replace(saved, figures=found.figures, details=result.document())
    slower = saving.finish(saved, former, form, server_text(result))
    if found.failures or slower:
        raise SystemExit(1)


def _requests(given: ReviewsToMeasure, webhooks: tuple[Webhook, ...]) -> list[WebhookRequest]:
    """Return the requests, with the API server's defaults for manifests. The server mutates and
    validates the same object.
    """
    defaults = Defaults(Schemas.builtin().with_crds(given.definitions))
    made = []
    for each in given.reviews:
        request = each.review["request"]
        if each.built:
            request = defaults.request(request)
        chosen = each.webhooks if each.webhooks != BOTH else webhooks
        made += [WebhookRequest(each.place, webhook, body_of(request)) for webhook in chosen]
    return made
