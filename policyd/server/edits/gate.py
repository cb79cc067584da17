"""Answers reviews of ConfigMaps with policies: an edit that adds an error is denied with all of
them. It checks one edit at a time, and admits what it cannot check: the reload itself protects
the set in use.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from policyd._core.match.selectors import Selector
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.errors import Problem, ReviewError
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.policy.live.config_maps import labels_of
from policyd.server.edits.checking import EditChecker, PolicyEdit, TooLate
from policyd.texts import bounded
from policyd.units import selector_terms

# Edits that wait for another one; beyond that the API server is told to try again.
MAX_WAITING = 8
# Characters of a denial; kubectl prints it as it is. Problems that do not fit are counted.
MAX_MESSAGE = 6_000
# Warnings of one answer: the API server cuts them at 4 KiB in all, and each at 256 characters.
MAX_WARNINGS = 10
MAX_WARNING = 250
# The label of mounted ConfigMaps, which no flag selects.
MOUNTED = "policyd.dev/policies=true"

# The sources before and after an edit: old and new object, if they have the labels. None if
# policyd does not read this ConfigMap.
FindEdit = Callable[[JSONObject | None, JSONObject | None], PolicyEdit | None]


class EditGate:
    """Checks the edits that reach one server. ``find`` is called by a thread; ``count`` counts
    results: accepted, refused, error. ``namespace`` is empty if policyd does not know its own.
    """

    def __init__(
        self,
        checker: EditChecker,
        find: FindEdit,
        log: Log,
        count: Callable[[str], None],
        *,
        namespace: str,
        selector: str = MOUNTED,
    ) -> None:
        self._checker = checker
        self._find = find
        self._log = log
        self._count = count
        self._namespace = namespace
        self._selector = Selector(selector_terms(selector))
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[list[Problem] | None]] = set()

    async def __call__(
        self,
        policy_set: Any,
        request: AdmissionRequest,
        *,
        webhook: Any,
        deadline: int,
        recorder: Any,
        only: Any = None,
    ) -> AdmissionResponse:
        """Answer one review."""
        old, new = self._selected(request.old_object), self._selected(request.object)
        if not self._concerns(request) or (old is None and new is None):
            return AdmissionResponse(request.uid, True)
        if len(self._tasks) > MAX_WAITING:
            raise ReviewError("too many edits of policies at once; try again", 503)
        task = asyncio.create_task(self._checked(old, new, deadline))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        await asyncio.wait([task], timeout=max(0.0, (deadline - perf_counter_ns()) / 1e9))
        if not task.done():
            # It goes on, and ends at its next look at the clock.
            return self._too_late(request)
        try:
            found = task.result()
        except TooLate:
            return self._too_late(request)
        except Exception:
            self._count("error")
            raise
        if found is None:
            self._count("accepted")
            return _allowed(request, _not_read(request.name))
        return self._answer(request, found)

    def _concerns(self, request: AdmissionRequest) -> bool:
        """Whether policyd may read the ConfigMap of a request."""
        ours = not self._namespace or request.namespace == self._namespace
        return ours and request.resource == ("", "v1", "configmaps") and not request.sub_resource

    def _selected(self, config_map: JSONObject | None) -> JSONObject | None:
        """The object if it has the labels of ConfigMaps with policies."""
        if not isinstance(config_map, dict):
            return None
        return config_map if self._selector.matches({**labels_of(config_map)}) else None

    async def _checked(
        self, old: JSONObject | None, new: JSONObject | None, deadline: int
    ) -> list[Problem] | None:
        async with self._turn:
            return await asyncio.to_thread(self._problems, old, new, deadline)

    def _problems(
        self, old: JSONObject | None, new: JSONObject | None, deadline: int
    ) -> list[Problem] | None:
        """Return what the edit adds; None if policyd does not read this ConfigMap."""
        if perf_counter_ns() >= deadline:
            raise TooLate
        edit = self._find(old, new)
        return None if edit is None else self._checker.problems(edit, deadline)

    def _done(self, task: "asyncio.Task[list[Problem] | None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # read, so that a late one is not reported as never retrieved

    def _answer(self, request: AdmissionRequest, found: list[Problem]) -> AdmissionResponse:
        errors = [each for each in found if each.severity == "error"]
        advice = [str(each) for each in found if each.severity != "error"]
        if not errors:
            self._count("accepted")
            return _allowed(request, *advice)
        self._count("refused")
        # Never the texts: they show parts of the ConfigMap.
        self._log.write(
            "warning",
            "policy-edit",
            f"refused an edit of policies: {_counted(errors)}",
            name=request.name,
            namespace=request.namespace,
            operation=request.operation,
            user=str(request.user_info.get("username", "")),
            places=[_place(each) for each in errors],
            dryRun=request.dry_run or None,
            uid=request.uid,
        )
        # kubectl prints the whole message of a Forbidden, and none of an Invalid without causes.
        return AdmissionResponse(request.uid, False, 403, "Forbidden", denial(request.name, errors))

    def _too_late(self, request: AdmissionRequest) -> AdmissionResponse:
        self._count("error")
        message = f"the edit of ConfigMap {request.name} was not checked: there was not enough time"
        self._log.write(
            "warning",
            "policy-edit",
            message,
            name=request.name,
            namespace=request.namespace,
            operation=request.operation,
            uid=request.uid,
        )
        return _allowed(request, f"{message}; policyd loads it if it has no errors")


def _not_read(name: str) -> str:
    return (
        f"ConfigMap {name} is not mounted as policies of -p, or the kubelet has not written its"
        " last edit yet: this edit was not checked"
    )


def denial(name: str, errors: list[Problem]) -> str:
    """Return the message of a denial: every error as ``policyd lint`` prints it, up to a limit."""
    shown: list[str] = []
    size = 0
    for each in errors:
        text = str(each)
        size += len(text) + 2
        if shown and size > MAX_MESSAGE:
            break
        shown.append(bounded(text, MAX_MESSAGE))
    rest = len(errors) - len(shown)
    more = [f"… and {rest} more"] if rest else []
    head = f"the policies would have {_counted(errors)} with this edit of ConfigMap {name}"
    return "\n\n".join([f"{head}:", *shown, *more])


def _counted(errors: list[Problem]) -> str:
    return f"{len(errors)} error{'s' if len(errors) != 1 else ''}"


def _place(problem: Problem) -> str:
    places = (problem.file, problem.line, problem.column)
    shown = ":".join(str(each) for each in places if each)
    return ": ".join(each for each in (shown, problem.path, problem.rule) if each)


def _allowed(request: AdmissionRequest, *warnings: str) -> AdmissionResponse:
    shown = [bounded(" ".join(each.split()), MAX_WARNING) for each in warnings[:MAX_WARNINGS]]
    if len(warnings) > MAX_WARNINGS:
        shown.append(f"… and {len(warnings) - MAX_WARNINGS} more")
    return AdmissionResponse(request.uid, True, warnings=tuple(shown))
