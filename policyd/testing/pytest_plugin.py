"""The plugin of pytest: suites (PolicyTest) as tests, and the fixture ``policyd_policies``.

pytest imports this module in every run of anyone who has installed policyd. So it imports nothing
else of policyd until a file that ``policyd_suites`` names is collected, or the fixture is used.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from policyd.api.policy_set import PolicySet
    from policyd.cli.test.run import CaseRun, RunningSuite, SuiteRunner
    from policyd.policy.model.suite_cases import SuiteCase
    from policyd.policy.source.loaded_documents import Document, Sources

SUITES, POLICIES = "policyd_suites", "policyd_policies"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings. Without ``policyd_suites`` no file is collected."""
    about = "Files whose PolicyTest suites are tests, as globs relative to the root directory"
    parser.addini(SUITES, about, type="args", default=[])
    parser.addini(
        POLICIES,
        "Files and directories of policies, for the fixture policyd_policies and for suites that "
        "name none (default: the ones in policyd.yaml)",
        type="paths",
        default=[],
    )
    parser.getgroup("policyd").addoption(
        "--policyd-suites",
        action="append",
        metavar="GLOB",
        default=[],
        help=f"{about}; may be repeated, and replaces {SUITES} of the configuration.",
    )


def _globs(config: pytest.Config) -> list[str]:
    given: list[str] = config.getoption(SUITES) or config.getini(SUITES)
    return given


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the files that are collected."""
    globs = _globs(config)
    return [f"policyd: suites in {', '.join(globs)}"] if globs else []


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "SuiteFile | None":
    """Collect a file that ``policyd_suites`` names."""
    root = parent.config.rootpath
    globs = _globs(parent.config)
    if not globs or not file_path.is_relative_to(root):
        return None
    parts = file_path.relative_to(root).parts
    if not any(_matches(parts, Path(each).parts) for each in globs):
        return None
    return SuiteFile.from_parent(parent, path=file_path)


def _matches(parts: Sequence[str], glob: Sequence[str]) -> bool:
    """Whether a path matches a glob, of which ``**`` is any number of directories."""
    ends = {0}  # how many parts the steps so far may match
    for step in glob:
        if step == "**":
            ends = set(range(min(ends, default=len(parts) + 1), len(parts) + 1))
        else:
            ends = {at + 1 for at in ends if at < len(parts) and fnmatchcase(parts[at], step)}
    return len(parts) in ends


def pytest_collection_finish(session: pytest.Session) -> None:
    """Warn if a run of everything collects no suite."""
    config = session.config
    if not _globs(config) or _SEEN in config.stash:
        return
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        text = f"{SUITES} matches no file that pytest visits: add their directory to testpaths"
        config.issue_config_time_warning(pytest.PytestCollectionWarning(text), stacklevel=2)


_SEEN = pytest.StashKey[bool]()
_PROJECT = pytest.StashKey["_Project"]()


class _Project:
    """The state that all suites of a run share: the options of ``policyd test``, and the policies
    for suites that name none.
    """

    def __init__(self, config: pytest.Config) -> None:
        from click import ClickException

        from policyd.cli import policyd
        from policyd.cli.shared.groups import project_file
        from policyd.cli.shared.project import defaults
        from policyd.cli.test.command import command
        from policyd.cli.test.run import RunOptions
        from policyd.errors import ConfigError

        file = project_file(config.rootpath)
        try:
            given = defaults(file, command, ["test"], policyd) if file else {}
            options = command.make_context("test", [], default_map=given).params
        except ClickException as error:
            raise ConfigError(error.format_message()) from None
        self.options = RunOptions(version=options["version"], defaults=options["defaults"])
        listed: list[Path] = config.getini(POLICIES)
        self.paths = listed or ([*options["paths"]] if "paths" in given else [])
        self._whole: SuiteRunner | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> "_Project":
        """Return the state of this run."""
        if _PROJECT not in config.stash:
            config.stash[_PROJECT] = cls(config)
        return config.stash[_PROJECT]

    def load(self, *paths: Path | str) -> "Sources":
        """Load policies and suites. Raises PolicyError with every problem."""
        from policyd.policy.source.loader import load, require

        return require(load(paths, version=self.options.version))

    def runner(self, suite: "Document") -> "SuiteRunner":
        """Return the runner of a suite: with the policies that it names, or else the ones of
        the run and of its own file.
        """
        from policyd.cli.test.run import SuiteRunner
        from policyd.policy.source.loader import named_policies

        if named_policies(suite) is not None:
            return SuiteRunner(self.load(suite.file), self.options)
        if self._whole is None:
            self._whole = SuiteRunner(self.load(*self.paths), self.options)
        files = {Path(each.file).resolve() for each in self._whole.sources.documents}
        if Path(suite.file).resolve() in files:
            return self._whole
        return SuiteRunner(self.load(*self.paths, suite.file), self.options)


@contextmanager
def _within(config: pytest.Config) -> Iterator["_Project"]:
    """Work in the directory in which pytest was started, wherever a test has gone since: paths in
    messages are relative to it.
    """
    from policyd.cel.syntax.recursion import deep_recursion

    with chdir(config.invocation_params.dir), deep_recursion():
        yield _Project.of(config)


class SuiteFile(pytest.File):
    """A file that may contain suites."""

    def collect(self) -> Iterator["Suite"]:
        """Yield its suites. A file that cannot be loaded is an error of the collection."""
        from policyd.errors import PolicydError

        self.config.stash[_SEEN] = True
        try:
            with _within(self.config) as project:
                suites = project.load(os.path.relpath(self.path)).of_kind("PolicyTest")
        except PolicydError as error:
            raise self.CollectError(str(error)) from None
        for each in suites:
            yield Suite.from_parent(self, name=each.name, document=each)


class Suite(pytest.Collector):
    """A suite."""

    def __init__(self, *, document: "Document", **others: Any) -> None:
        super().__init__(**others)
        self.document = document
        self._running: RunningSuite | None = None

    def collect(self) -> Iterator["SuiteItem"]:
        """Yield its cases, and the rows of their tables."""
        from policyd.policy.suite.runner import selected

        for each in selected(self.document):
            yield SuiteItem.from_parent(self, name=each.name, case=each)

    def run(self, case: "SuiteCase") -> "CaseRun":
        """Run a case; the policies are compiled for the first one."""
        with _within(self.config) as project:
            if self._running is None:
                self._running = project.runner(self.document).policies_of(self.document)
            return self._running.run(case)


class SuiteItem(pytest.Item):
    """A case of a suite."""

    def __init__(self, *, case: "SuiteCase", **others: Any) -> None:
        super().__init__(**others)
        self._case = case

    def runtest(self) -> None:
        """Run the case. Raises CaseFailure with what ``policyd test`` prints."""
        from click import unstyle

        from policyd.cli.test.output import failure_lines

        suite = self.parent
        assert isinstance(suite, Suite)
        ran = suite.run(self._case)
        if ran.result.assumed is not None:
            self.add_report_section("call", "policyd", "\n  hint: ".join(ran.result.assumed))
        if not ran.result.passed:
            raise CaseFailure("\n".join(map(unstyle, failure_lines(ran))))

    def repr_failure(  # type: ignore[override]  # as in pytest's documentation: without style
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Any:
        """Return the explanation instead of a traceback, unless policyd itself is at fault."""
        from policyd.errors import PolicydError

        if isinstance(excinfo.value, CaseFailure | PolicydError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the case."""
        suite = self.parent
        assert isinstance(suite, Suite)
        from policyd.policy.model.findings import path_text

        line, _ = suite.document.place(path_text(self._case.path))
        return self.path, line - 1, f"{suite.name}/{self.name}"


class CaseFailure(Exception):
    """A case got another answer than it expects."""


@pytest.fixture(name=POLICIES, scope="session")
def _policies(pytestconfig: pytest.Config) -> "PolicySet":
    """The policies of ``policyd_policies`` in the configuration of pytest, else of policyd.yaml."""
    from policyd.api.policy_set import PolicySet

    with _within(pytestconfig) as project:
        if not project.paths:
            pytest.fail(
                f"the fixture {POLICIES} needs policies: set {POLICIES} in the configuration of "
                "pytest, or policies in policyd.yaml",
                pytrace=False,
            )
        return PolicySet.load(project.paths, kubernetes_version=project.options.version)
