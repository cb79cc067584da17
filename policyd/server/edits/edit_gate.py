"""Answers reviews of ConfigMaps with policies.

It denies an edit that adds errors, listing all of them, and an edit that adds reads of objects that
its author may not list. It checks one edit at a time, each in a separate process.

It admits edits that it had no time or means to check, because a reload with errors keeps the set in
use. It denies edits that broke the check, because they could break every server that loads them,
and unchecked edits that may add reads, because no reload checks these.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from time import perf_counter_ns

from policyd._core.match.selectors import Selector
from policyd.admission.review import AdmissionRequest, AdmissionResponse
from policyd.bounded_text import bounded
from policyd.config import Settings
from policyd.errors import InternalError, ReviewError
from policyd.http.evaluators import ReviewCall, ReviewEvaluator
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.observability.throttle import LineLimit
from policyd.option_values import selector_terms
from policyd.policy.config_maps.config_map_files import PREFIX, NotRead, flat, labels_of, oversize
from policyd.policy.model.suite import Webhook
from policyd.server.edits.finding import EditFinder, Outdated, Submitted
from policyd.server.edits.lending import AccessClient, NotLent, may_add_reads, refusal
from policyd.server.edits.model import EditFindings, PolicyEdit, TooLate
from policyd.server.edits.process import Broken, NotStarted
from policyd.server.edits.showing import MAX_WARNING, MAX_WARNINGS

# Edits that may wait; the API server retries others later.
MAX_WAITING = 8
# Log lines about edits in so many seconds.
LOG_LINES, LOG_SECONDS = 120, 60.0
MAX_UID = 64
# The label of mounted ConfigMaps, which no flag selects.
MOUNTED = "policyd.dev/policies=true"
# The user that deletes the objects of a deleted namespace.
_CLEANER = "system:serviceaccount:kube-system:namespace-controller"
_MAY_LEND = "; it may add reads, whose objects its author must be allowed to list: try again"
# The status of answers after which the client may try again.
_LATER = (503, "ServiceUnavailable")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_KEY = re.compile(r"[A-Za-z0-9._-]{1,253}")

# Checks an edit until a deadline (perf_counter_ns); called by a thread.
CheckEdit = Callable[[PolicyEdit, int], EditFindings]


def edit_selector(settings: Settings) -> str:
    """The labels of the ConfigMaps whose edits are checked; empty if there are none. ConfigMaps
    that policyd does not follow can only be mounted in a Pod, which has no kubeconfig.
    """
    return settings.policy_configmaps or ("" if settings.kubeconfig else MOUNTED)


@dataclass(eq=False, repr=False)
class EditGate(ReviewEvaluator):
    """Checks the edits of ConfigMaps in a server's own namespace. ``count`` counts results:
    accepted, refused, error. ``access`` queries what the author of an edit may list; None if
    policyd reads no objects of a cluster.
    """

    check: CheckEdit
    finder: EditFinder
    log: Log
    count: Callable[[str], None]
    _: KW_ONLY
    namespace: str
    selector: str = MOUNTED
    access: AccessClient | None = None

    def __post_init__(self) -> None:
        self._selector = Selector(selector_terms(self.selector))
        self._lines = LineLimit(LOG_LINES, LOG_SECONDS)
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[EditFindings | None]] = set()

    def waits(self, webhook: Webhook) -> bool:
        """Always: a check takes as long as loading policies does."""
        return True

    def now(self, call: ReviewCall) -> AdmissionResponse:
        """An edit is never checked while the event loop waits."""
        raise InternalError("edits of policies are checked asynchronously")

    async def later(self, call: ReviewCall) -> AdmissionResponse:
        """Answer one review."""
        request, deadline = call.request, call.deadline
        submitted = self._submitted(request)
        if submitted is None:
            return AdmissionResponse(request.uid, True)
        if len(self._tasks) > MAX_WAITING:
            raise ReviewError("too many edits of policies at once; try again", 503)
        name = submitted.name.removeprefix(PREFIX)
        task = asyncio.create_task(self._checked(submitted, deadline))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        await asyncio.wait([task], timeout=max(0.0, (deadline - perf_counter_ns()) / 1e9))
        try:
            if not task.done():  # it goes on until it next checks the clock
                raise TooLate
            found = task.result()
        except Outdated:
            message = f"ConfigMap {name} differs from the one in the API server; try again"
            return self._refused(request, message, 409, "Conflict")
        except TooLate:
            return self._unchecked(request, submitted, "there was not enough time")
        except NotRead as error:
            why = "the API server did not return the ConfigMaps of policies"
            return self._unchecked(request, submitted, why, str(error))
        except NotStarted as error:
            why = "no process could be started for it"
            return self._unchecked(request, submitted, why, str(error))
        except Broken as error:
            message = f"the edit of ConfigMap {name} cannot be checked: {error}"
            return self._refused(request, message, traceback=error.trace or None)
        except Exception:
            self.count("error")
            raise
        if found is None:
            if self._may_lend(submitted):
                return self._refused(request, f"{_not_read(name)}{_MAY_LEND}", *_LATER)
            self.count("accepted")
            return _allowed(request, _not_read(name))
        if not found.errors and found.reads and self.access is not None:
            lent = await _lent(self.access, request, found, deadline)
            if lent is not None:
                message = f"the edit of ConfigMap {name} is refused: {lent.message}"
                return self._refused(request, message, *(() if lent.certain else _LATER))
        return self._answer(request, name, found)

    def _submitted(self, request: AdmissionRequest) -> Submitted | None:
        """Return the content to check; None if the edit changes nothing that policyd reads."""
        if not self._concerns(request):
            return None
        before, after = _object(request.old_object), _object(request.object)
        for each in (before, after):
            if each is not None and not _proper(each, request):
                raise ReviewError("expected a ConfigMap as an API server sends it")
        old, new = self._selected(before), self._selected(after)
        deleted = request.operation == "DELETE"
        if deleted and request.user_info.get("username") == _CLEANER:
            return None  # the namespace itself is being deleted
        if (old is None and new is None) or (old and new and _same(old, new)):
            return None
        return Submitted(request.operation, before, old is not None, None if deleted else new)

    def _concerns(self, request: AdmissionRequest) -> bool:
        """Whether policyd may read the ConfigMap of a request."""
        ours = request.namespace == self.namespace
        return ours and request.resource == ("", "v1", "configmaps") and not request.sub_resource

    def _selected(self, config_map: JSONObject | None) -> JSONObject | None:
        """The object if it has the labels of ConfigMaps with policies."""
        if not isinstance(config_map, dict):
            return None
        return config_map if self._selector.matches({**labels_of(config_map)}) else None

    async def _checked(self, submitted: Submitted, deadline: int) -> EditFindings | None:
        """Return the findings of the check; None if policyd does not read this ConfigMap."""
        async with self._turn:
            left = (deadline - perf_counter_ns()) / 1e9
            if left <= 0:
                raise TooLate
            try:
                async with asyncio.timeout(left):
                    edit = await self.finder.find(submitted)
            except TimeoutError:
                raise TooLate from None
            if edit is None:
                return None
            return await asyncio.to_thread(partial(self.check, edit, deadline))

    def _done(self, task: "asyncio.Task[EditFindings | None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # read, so that a late one is not reported as never retrieved

    def _answer(
        self, request: AdmissionRequest, name: str, found: EditFindings
    ) -> AdmissionResponse:
        if not found.errors:
            self.count("accepted")
            return _allowed(request, *found.advice)
        # Never the messages: they show parts of the ConfigMap.
        return self._refused(request, denial(name, found), places=[*found.places])

    def _refused(
        self,
        request: AdmissionRequest,
        message: str,
        code: int = 403,
        reason: str = "Forbidden",
        **details: str | list[str] | None,
    ) -> AdmissionResponse:
        self.count("refused")
        self._note(request, f"refused an edit of policies: {_head(message)}", **details)
        # kubectl prints the whole message of a Forbidden, and none of an Invalid without causes.
        return AdmissionResponse(request.uid, False, code, reason, message)

    def _unchecked(
        self, request: AdmissionRequest, submitted: Submitted, why: str, cause: str = ""
    ) -> AdmissionResponse:
        message = f"the edit of ConfigMap {request.name} was not checked: {why}"
        if self._may_lend(submitted):
            return self._refused(request, f"{message}{_MAY_LEND}", *_LATER, error=cause or None)
        self.count("error")
        self._note(request, message, error=cause or None)
        return _allowed(request, f"{message}; policyd loads it if it has no errors")

    def _may_lend(self, submitted: Submitted) -> bool:
        """Whether an edit that was not checked may add reads to policies that are in use."""
        if self.access is None or submitted.operation == "DELETE":
            return False
        return may_add_reads(submitted.old, submitted.new)

    def _note(
        self, request: AdmissionRequest, message: str, **details: str | list[str] | None
    ) -> None:
        unsaid = self._lines.take("", request.uid[:MAX_UID])
        if unsaid is None:
            return
        self.log.write(
            "warning",
            "policy-edit",
            message,
            name=request.name,
            namespace=request.namespace,
            operation=request.operation,
            user=str(request.user_info.get("username", "")),
            **details,
            dryRun=request.dry_run or None,
            uid=request.uid,
            suppressed=unsaid or None,
        )


async def _lent(
    access: AccessClient, request: AdmissionRequest, found: EditFindings, deadline: int
) -> NotLent | None:
    """Return why the author of an edit may not add its reads; None if the author may."""
    try:
        async with asyncio.timeout(max(0.0, (deadline - perf_counter_ns()) / 1e9)):
            return await refusal(access, request.user_info, found.reads)
    except TimeoutError:
        late = "there was no time to check whether its author may list what its policies read"
        return NotLent(f"{late}; try again", certain=False)


def _object(given: object) -> JSONObject | None:
    return given if isinstance(given, dict) else None


def _proper(config_map: JSONObject, request: AdmissionRequest) -> bool:
    """Whether an API server could have sent this object: no process is started for others."""
    metadata = config_map.get("metadata")
    if not isinstance(metadata, dict) or oversize(config_map):
        return False
    name = metadata.get("name")
    keys: list[str] = []
    for field in ("data", "binaryData"):
        values = config_map.get(field) or {}
        if not isinstance(values, dict) or not all(
            isinstance(each, str) for each in values.values()
        ):
            return False
        keys += values
    return (
        isinstance(name, str)
        and _NAME.fullmatch(name) is not None
        and request.name in ("", name)
        and metadata.get("namespace") == request.namespace
        and all(_KEY.fullmatch(key) for key in keys)
    )


def _same(old: JSONObject, new: JSONObject) -> bool:
    """Whether two ConfigMaps have the same keys: other changes do not affect policies."""
    return all(flat(old)[field] == flat(new)[field] for field in ("data", "binaryData"))


def _not_read(name: str) -> str:
    return (
        f"ConfigMap {name} is not mounted in a directory of -p, or the kubelet has not written its"
        " last edit yet: this edit was not checked"
    )


def denial(name: str, found: EditFindings) -> str:
    """Return the message of a denial: the errors of the ConfigMap as ``policyd lint`` prints them,
    up to a limit, and the number of all other errors.
    """
    head = f"the policies would have {_counted(found.errors)} with this edit of ConfigMap {name}:"
    rest = found.errors - found.elsewhere - len(found.shown)
    more = [f"… and {rest} more"] if rest else []
    if found.elsewhere:
        more.append(f"{_counted(found.elsewhere)} in other sources: see policyd's log")
    return "\n\n".join([head, *found.shown, *more])


def _counted(errors: int) -> str:
    return f"{errors} error{'s' if errors != 1 else ''}"


def _head(message: str) -> str:
    return message.partition("\n")[0].rstrip(":")


def _allowed(request: AdmissionRequest, *warnings: str) -> AdmissionResponse:
    shown = [bounded(" ".join(each.split()), MAX_WARNING) for each in warnings[:MAX_WARNINGS]]
    if len(warnings) > MAX_WARNINGS:
        shown.append(f"… and {len(warnings) - MAX_WARNINGS} more")
    return AdmissionResponse(request.uid, True, warnings=tuple(shown))
