"""Settings for all tests, and a summary of missing recorded data at the end of a run."""

import gc
import os
import signal
import sys
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests import sampling, shared

# No property fails for taking long: a busy machine is no defect.
settings.register_profile(
    "policyd",
    deadline=None,
    derandomize=not sampling.explores(),
    print_blob=True,
    max_examples=sampling.examples(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("policyd")

# Modules are compiled once and not by every process of a run, whatever the environment says.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell starts what runs in the background with SIGINT ignored, and so would be all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Output for programs does not depend on the terminal of the tests; pytest-xdist sets its width.
os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="module")
def collected() -> None:
    """A collection must not go through what other tests have left: servers freeze it, too."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure milliseconds where users measure seconds; what is tested is not how exact the figures are.
    Later collections still leave out what other tests have left.
    """
    monkeypatch.setattr("policyd.benchmark.rounds._WARM", 0.01)
    monkeypatch.setattr("policyd.benchmark.core._ROUND", 0.003)
    monkeypatch.setattr("gc.unfreeze", gc.freeze)


@pytest.fixture(scope="module", params=["policyd", "hypercorn"])
def http_server(request: pytest.FixtureRequest) -> str:
    """Which server reads HTTP (``serve --server``) in the processes that a test starts."""
    name: str = request.param
    return name


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The processes of a test, and of its fixtures, are told by a variable which server to use."""
    os.environ[sampling.SERVER] = "hypercorn" if _is_on_hypercorn(item) else "policyd"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Hypercorn only confirms: a sample of the tests of both servers runs with it."""
    second = [item for item in items if _is_on_hypercorn(item)]
    for item in second:
        mark = item.get_closest_marker("own_server")
        if mark is not None:
            item.add_marker(pytest.mark.skip(reason=f"Hypercorn: {mark.args[0]}"))
    able = [item for item in second if item.get_closest_marker("own_server") is None]
    left_out = {*able} - {*sampling.sampled(able)}
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def _is_on_hypercorn(item: pytest.Item) -> bool:
    called = getattr(item, "callspec", None)
    return called is not None and called.params.get("http_server") == "hypercorn"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The tests are many objects, and all are kept: no collection of garbage goes through them, and
    what tests leave is collected seldom.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The seed is chosen before xdist starts its processes, which inherit it, and before Hypothesis
    reads its own.
    """
    seed, _ = sampling.seeded()
    if sampling.explores():
        config.option.hypothesis_seed = seed


def pytest_report_header() -> str:
    seed, share = sampling.seeded()
    explored = f"{sampling.EXPLORE}=1 " if sampling.explores() else ""
    return (
        f"sample: {share:.0%} of what only confirms; {explored}{sampling.SEED}={seed} repeats it, "
        f"{sampling.SHARE}=1 checks all"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what was left out: a skipped suite must not look like a pass. Print how failures of an
    exploring run are repeated.
    """
    if sampling.explores():
        for each in terminalreporter.stats.get("failed", ()):
            variables = f"{sampling.EXPLORE}=1 {sampling.SEED}={sampling.seeded()[0]}"
            terminalreporter.write_line(f"repeat: {variables} python -m pytest '{each.nodeid}'")
    if shared.missing:
        terminalreporter.section("recorded data that was not found")
        for path, variable in sorted(shared.missing.items()):
            terminalreporter.write_line(f"left out: {path} (set {variable})")
    if why := shared.without_apiserver():
        terminalreporter.write_line(f"left out: {why}")
