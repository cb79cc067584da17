"""Short rounds in all tests here."""

import pytest


@pytest.fixture(autouse=True)
def _short(short_rounds: None) -> None:
    """As in ``tests/conftest.py``."""
