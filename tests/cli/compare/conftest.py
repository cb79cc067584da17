"""The other product, in the working directory of each test, beside one policy."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from policyd.tls.issuing import self_signed
from tests.builders.policies import TEAM
from tests.cli.compare.product import Product, write
from tests.webhook_server import webhook_server


@pytest.fixture
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Product]:
    monkeypatch.chdir(tmp_path)
    pair = self_signed(["127.0.0.1"])
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    write("teams", "team", validations=[TEAM])
    made = Product(tmp_path)
    with webhook_server(tmp_path / "tls.crt", tmp_path / "tls.key", made.answer) as made.port:
        yield made
