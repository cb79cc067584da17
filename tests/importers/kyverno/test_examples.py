"""The examples in the docstrings of the importer hold."""

import doctest
import importlib
import pkgutil

import pytest

import policyd.importers.jmespath
import policyd.importers.kyverno.matching

MODULES = [
    "policyd.importers.kyverno.cluster_policy",
    "policyd.importers.kyverno.plain_lists",
    *(
        each.name
        for package in (policyd.importers.kyverno.matching, policyd.importers.jmespath)
        for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
