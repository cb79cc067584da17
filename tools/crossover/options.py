"""The options of ``python -m tools.crossover``. Measures nothing."""

from dataclasses import dataclass
from pathlib import Path

import click

from policyd import option_values
from policyd.cli.shared.settings import OptionValue, grouped
from policyd.cli.webhooks.options import SERVICE, ca_bundle
from policyd.option_values import Address
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from tools.crossover.model import Limits

FEWEST_REQUESTS = 10  # one in each round


@dataclass(frozen=True, slots=True)
class CrossoverOptions:
    """The values of ``crossover_options``.

    ``called`` is how the API server calls a policyd that runs; ``serve`` is where one is started
    for it. With neither, only the API server is measured.
    """

    limits: Limits
    manifests: tuple[Path, ...]
    called: RenderOptions | None
    serve: Address | None
    metrics_urls: tuple[str, ...]

    @property
    def webhook(self) -> bool:
        """Whether policyd is called."""
        return self.called is not None or self.serve is not None


def _given(
    *,
    requests: int,
    duration: float,
    manifests: tuple[Path, ...],
    webhook_service: ServiceAddress | None,
    webhook_url: str | None,
    ca_file: Path | None,
    serve: Address | None,
    metrics_urls: tuple[str, ...],
) -> CrossoverOptions:
    given = [each for each in (webhook_service, webhook_url, serve) if each is not None]
    if len(given) > 1:
        raise click.UsageError(
            "give one of --serve, --webhook-service and --webhook-url: one policyd is compared"
        )
    running = webhook_service is not None or webhook_url is not None
    if (ca_file or metrics_urls) and not running:
        raise click.UsageError(
            "--ca-file and --metrics-url require --webhook-service or --webhook-url"
        )
    if webhook_service is not None and ca_file is None:
        raise click.UsageError("--webhook-service requires --ca-file")
    called = RenderOptions(
        service=webhook_service,
        url=webhook_url or "",
        ca_bundle=ca_bundle(ca_file),
        excluded_namespaces=(),
    )
    return CrossoverOptions(
        Limits(requests, duration), manifests, called if running else None, serve, metrics_urls
    )


_OPTIONS = (
    click.option(
        "--requests",
        type=click.IntRange(FEWEST_REQUESTS),
        default=2000,
        show_default=True,
        metavar="NUMBER",
        help="Send this many measured creates to each namespace, one at a time.",
    ),
    click.option(
        "--duration",
        type=OptionValue("DURATION", option_values.positive_duration),
        default="5m",
        show_default=True,
        metavar="DURATION",
        help="Stop measuring after this time, with what was measured so far.",
    ),
    click.option(
        "-m",
        "--manifest",
        "manifests",
        multiple=True,
        type=click.Path(exists=True, path_type=Path),
        metavar="PATH",
        help="Create the objects in this file or directory, in turn, instead of a Pod; may be "
        "repeated.",
    ),
    click.option(
        "--serve",
        type=OptionValue("HOST:PORT", option_values.address),
        metavar="HOST:PORT",
        help="Start a policyd with these policies, on an address of this machine that the API "
        "server can reach.",
    ),
    click.option(
        "--webhook-service",
        type=SERVICE,
        help="Call the policyd that runs behind this Service. It evaluates the policies that it "
        "has loaded.",
    ),
    click.option(
        "--webhook-url",
        type=OptionValue("URL", option_values.https_url),
        metavar="URL",
        help="Call the policyd that runs at this URL, such as https://10.0.0.7:8443.",
    ),
    click.option(
        "--ca-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Trust these CA certificates (PEM) of the running policyd.",
    ),
    click.option(
        "--metrics-url",
        "metrics_urls",
        multiple=True,
        metavar="URL",
        help="Read the CPU time of the running policyd here, such as "
        "http://127.0.0.1:8080/metrics; may be repeated, once for each replica.",
    ),
)
crossover_options = grouped("options", _given, _OPTIONS)
