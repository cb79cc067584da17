"""``policyd bench server``, with a real server over TLS."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from policyd.benchmark.client import LoadConnection, RequestFailed
from policyd.benchmark.webhook_requests import WebhookRequest
from policyd.cli import policyd
from policyd.errors import PolicydError
from policyd.json_types import JSONObject
from policyd.option_values import Address
from policyd.policy.suite.reviews import build_review
from policyd.versions import NEWEST
from tests.builders.objects import config_map, pod
from tests.builders.policies import denying
from tools.crossover.serving import Serving, serving

QUICK = ("--duration", "1s", "--connections", "2")


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    """A policyd that denies Pods."""
    with serving([denying()], Address("127.0.0.1", 0), NEWEST) as found:
        yield found


@pytest.fixture(scope="module")
def ca(server: Serving, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("ca") / "ca.crt"
    file.write_bytes(server.authority)
    return file


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    file = tmp_path / "reviews.jsonl"
    file.write_text("\n".join(json.dumps(build_review(each)) for each in (pod(), config_map())))
    return file


def bench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(
        policyd, ["--no-project", "bench", "server", *map(str, arguments)], catch_exceptions=False
    )


def figures(document: JSONObject) -> dict[str, float]:
    return {each["name"]: each["median"] for each in document["figures"]}


def test_it_measures_latency_throughput_and_cpu(server: Serving, ca: Path, reviews: Path) -> None:
    admin = server.metrics.removesuffix("/metrics")
    found = bench(
        "--server",
        server.url,
        "--ca-file",
        ca,
        "--admin",
        admin,
        *QUICK,
        reviews,
        "--format",
        "json",
    )
    assert found.exit_code == 0, found.output
    document = orjson.loads(found.stdout)
    assert document["benchmark"] == "server"
    assert (document["failures"], document["reviews"]["count"]) == ({}, 2)
    assert document["requests"] > 20
    assert 0 < document["denied"] < document["requests"]
    latency = document["latency"]
    assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["max"]
    found_figures = figures(document)
    assert found_figures.keys() == {"p50", "p90", "p99", "max", "throughput", "server cpu"}
    assert document["policies"]["hash"]


def test_text_has_the_same(server: Serving, reviews: Path) -> None:
    found = bench("--server", server.url, "--insecure", *QUICK, reviews)
    assert found.exit_code == 0, found.output
    assert "2 reviews, 2 connections, 1 s in 10 rounds" in found.stdout
    assert "answered, " in found.stdout
    assert "latency p99, us" in found.stdout
    assert "CPU of the server" not in found.stdout  # its admin port was not given


def test_a_measurement_is_compared_with_the_same_load(
    server: Serving, reviews: Path, tmp_path: Path
) -> None:
    file = tmp_path / "before.json"
    given = ("--server", server.url, "--insecure", *QUICK)
    assert bench(*given, reviews, "--save", file).exit_code == 0
    found = bench(*given, reviews, "--compare", file, "--threshold", "1000%")
    assert found.exit_code == 0, found.output
    assert "nothing is slower by more than 1000%" in found.stdout
    with pytest.raises(PolicydError, match="the reviews differ"):
        bench(*given, "--compare", file)


def test_requests_that_fail_are_counted_and_exit_with_1(
    server: Serving, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ask = count(), LoadConnection.ask

    def sometimes(connection: LoadConnection, request: WebhookRequest) -> bool:
        if next(asked) % 10 == 5:
            raise RequestFailed("HTTP 503")
        return ask(connection, request)

    monkeypatch.setattr(LoadConnection, "ask", sometimes)
    found = bench("--server", server.url, "--insecure", *QUICK, reviews, "--format", "json")
    assert found.exit_code == 1, found.output
    assert orjson.loads(found.stdout)["failures"].keys() == {"HTTP 503"}


def test_a_path_that_is_no_webhook_is_an_error(server: Serving) -> None:
    with pytest.raises(PolicydError, match="HTTP 404\n  hint: give the URL without the path"):
        bench("--server", f"{server.url}/validate", "--insecure", *QUICK)


def test_an_unknown_certificate_is_an_error_with_remedies(server: Serving) -> None:
    with pytest.raises(PolicydError) as found:
        bench("--server", server.url, *QUICK)
    assert found.value.exit_code == 2
    assert "TLS: self-signed certificate" in str(found.value)
    assert "--ca-file FILE" in str(found.value) and "--insecure" in str(found.value)


def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(PolicydError, match=r"127\.0\.0\.1:1: connection refused"):
        bench("--server", "https://127.0.0.1:1", "--insecure", *QUICK)


def test_an_admin_port_that_is_none_is_an_error(server: Serving) -> None:
    for admin in ("http://127.0.0.1:1", "nonsense", server.metrics.replace("/metrics", "/livez")):
        with pytest.raises(PolicydError) as found:
            bench("--server", server.url, "--insecure", "--admin", admin, *QUICK)
        assert str(found.value).startswith(f"--admin {admin}")
        assert "hint: give the admin port" in str(found.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--server'"),
        (("--server", "http://127.0.0.1"), "expected a URL like https://"),
        (
            ("--server", "https://a", "--insecure", "--ca-file", "x"),
            "--insecure and --ca-file cannot be combined",
        ),
        (("--server", "https://a", "--client-key", "x"), "--client-key requires --client-cert"),
        (("--server", "https://a", "--admin-token-file", "x"), "requires --admin"),
    ],
)
def test_options_that_do_not_go_together(arguments: tuple[str, ...], message: str) -> None:
    found = bench(*arguments)
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())


@pytest.mark.parametrize("option", ["--ca-file", "--client-cert"])
def test_certificates_that_are_none_are_errors(option: str, tmp_path: Path) -> None:
    file = tmp_path / "file.pem"
    for text in (None, "nonsense"):
        if text is not None:
            file.write_text(text)
        with pytest.raises(PolicydError, match=f"{option} "):
            bench("--server", "https://127.0.0.1:1", option, file)
