"""Access checks: ``authorizer.group("apps").resource("deployments").check("create").allowed()``.

``authorizer`` checks the user of the request, ``a.serviceAccount("ns", "name")`` a service account.
``a.path("/healthz")`` and ``a.group("").resource("pods")`` are checks; these methods add
attributes: ``c.subresource("log")``, ``c.namespace("shop")``, ``c.name("web")``,
``c.fieldSelector("a=b")``, ``c.labelSelector("a=b")``. ``authorizer.requestResource`` is a check of
the request's resource. ``c.check("get")`` returns a decision: ``d.allowed()``, ``d.reason()``,
``d.errored()``, ``d.error()``.

The backend decides: see ``Authorizer`` in ``policyd/admission/lookups/authorizer.py``. Without a
backend, or if it returns a Failure, the check is an error; if its decision must still be fetched,
the check raises Unanswered.

Cost: 350,000 units for ``check``; for a selector 10, plus 50 per two characters, plus a tenth of
its length; 1 unit for everything else.
"""

from libc.math cimport ceil
from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport NO_OVERLOAD, NO_SUCH_OVERLOAD, error
from policyd._core.go.strings cimport trim_space
from policyd._core.eval.functions cimport binary, tenths, ternary, unary
from policyd._core.values.types cimport size_of

from policyd._core.eval import estimates
from policyd._core.lib.authorization import Attributes, Failure
from policyd._core.eval.functions import Library
from policyd._core.match.labels import domain_errors, label_errors
from policyd.errors import Unanswered

#: from policyd._core.eval.estimates import Charge
#: from policyd._core.eval.estimates import Operand
#: from policyd._core.values.types import Opaque
#: LIBRARY: Library

cdef str PATH_CHECK = "kubernetes.authorization.PathCheck"
cdef str GROUP_CHECK = "kubernetes.authorization.GroupCheck"
cdef str RESOURCE_CHECK = "kubernetes.authorization.ResourceCheck"


cdef class AuthorizerValue(Opaque):
    """A user, and the backend that checks its access: a policyd.admission.authorizer.Authorizer, or
    None.

    ``user_info`` is userInfo of a request, as JSON.
    """
    cdef str type_name(self):
        return "kubernetes.authorization.Authorizer"

    cdef object equals(self, object other):
        return NO_SUCH_OVERLOAD

    def __str__(self):
        return self.type_name()


cdef class AuthorizerCheck(Opaque):
    """A check with the attributes set so far: a PathCheck, GroupCheck or ResourceCheck."""
    cdef str type_name(self):
        return self.kind

    cdef object equals(self, object other):
        return NO_SUCH_OVERLOAD

    def __str__(self):
        return self.kind


cdef class AuthorizerDecision(Opaque):
    """A decision; ``error_text`` is "" if there is no error."""
    cdef bint is_allowed
    cdef str reason_text
    cdef str error_text

    cdef str type_name(self):
        return "kubernetes.authorization.Decision"

    cdef object equals(self, object other):
        return NO_SUCH_OVERLOAD

    def __str__(self):
        return self.type_name()


cdef AuthorizerValue new_authorizer(object backend, dict user_info):
    cdef AuthorizerValue made = AuthorizerValue.__new__(AuthorizerValue)
    made.backend = backend
    made.user_info = user_info
    return made


cdef AuthorizerCheck new_check(str kind, AuthorizerValue authorizer, dict fields):
    cdef AuthorizerCheck made = AuthorizerCheck.__new__(AuthorizerCheck)
    made.kind = kind
    made.authorizer = authorizer
    made.fields = fields
    return made


cdef AuthorizerCheck resource_check(AuthorizerCheck check, str field, object value):
    """A copy of the check, as a ResourceCheck with this field set."""
    return new_check(RESOURCE_CHECK, check.authorizer, {**check.fields, field: value})


cdef AuthorizerValue authorizer_for(object backend, dict request):
    return new_authorizer(backend, request["userInfo"])


cdef AuthorizerCheck request_resource(AuthorizerValue authorizer, dict request):
    """The client's resource in ``request`` (as CEL sees it), not an equivalent one."""
    cdef dict resource = request["requestResource"]
    return new_check(RESOURCE_CHECK, authorizer, {
        "group": resource.get("group", ""),
        "resource": resource["resource"],
        "subresource": request.get("requestSubResource") or request.get("subResource", ""),
        "namespace": request.get("namespace", ""),
        "name": request.get("name", ""),
    })


def variables(backend, dict request not None):
    #: (Any, Mapping[str, Any]) -> dict[str, Any]
    """``authorizer`` and ``authorizer.requestResource`` for one ``request`` as CEL sees it."""
    cdef AuthorizerValue authorizer = authorizer_for(backend, request)
    return {
        "authorizer": authorizer,
        "authorizer.requestResource": request_resource(authorizer, request),
    }


# Attributes


cdef object path(Activation act, object authorizer, object text):
    if not trim_space(<str> text):
        return error("path must not be empty")
    return new_check(PATH_CHECK, <AuthorizerValue> authorizer, {"path": text})


cdef object group(Activation act, object authorizer, object text):
    return new_check(GROUP_CHECK, <AuthorizerValue> authorizer, {"group": text})


cdef object service_account(Activation act, object authorizer, object namespace, object name):
    if domain_errors(<str> name):
        return error("Invalid service account name")
    if label_errors(<str> namespace):
        return error("Invalid service account namespace")
    return new_authorizer((<AuthorizerValue> authorizer).backend, {
        "username": f"system:serviceaccount:{namespace}:{name}",
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"],
    })


cdef bint is_check(object value, str kind) noexcept:
    return type(value) is AuthorizerCheck and (<AuthorizerCheck> value).kind is kind


cdef object narrowed(Activation act, object check, object text, object field):
    """The same check with one attribute added or replaced."""
    if not is_check(check, RESOURCE_CHECK):
        return NO_OVERLOAD
    return resource_check(<AuthorizerCheck> check, <str> field, text)


cdef object resource(Activation act, object check, object text):
    if not is_check(check, GROUP_CHECK):
        return NO_OVERLOAD
    if not trim_space(<str> text):
        return error("resource must not be empty")
    return resource_check(<AuthorizerCheck> check, "resource", text)


# Decisions


cdef object decided(Activation act, object check, object verb, object kind):
    if not is_check(check, <str> kind):
        return NO_OVERLOAD
    return decide(<AuthorizerCheck> check, <str> verb)


cdef object decide(AuthorizerCheck check, str verb):
    """The decision, or a CelError. Raises Unanswered if it must be fetched."""
    cdef AuthorizerValue authorizer = check.authorizer
    cdef dict user = authorizer.user_info
    cdef AuthorizerDecision made
    attributes = Attributes(
        user=user.get("username", ""),
        verb=verb,
        groups=tuple(user.get("groups") or ()),
        uid=user.get("uid", ""),
        extra=extra(user.get("extra")),
        **check.fields,
    )
    if authorizer.backend is None:
        return error(f"authorizer: there is no cluster to ask whether {attributes}")
    answer = authorizer.backend.check(attributes)
    if answer is None:
        raise Unanswered(
            attributes, f"authorizer: it is not known in time whether {attributes}"
        )
    if type(answer) is Failure:
        return error(f"authorizer: cannot find out whether {attributes}: {answer.why}")
    made = AuthorizerDecision.__new__(AuthorizerDecision)
    made.is_allowed, made.reason_text, made.error_text = answer
    return made


cdef tuple extra(dict given):
    if not given:
        return ()
    return tuple(sorted([(key, tuple(values or ())) for key, values in given.items()]))


cdef object allowed(Activation act, object decision):
    return (<AuthorizerDecision> decision).is_allowed


cdef object reason(Activation act, object decision):
    return (<AuthorizerDecision> decision).reason_text


cdef object errored(Activation act, object decision):
    return bool((<AuthorizerDecision> decision).error_text)


cdef object error_of(Activation act, object decision):
    return (<AuthorizerDecision> decision).error_text


cdef enum:
    CHECK_UNITS = 350_000     # two in an expression are within its cost limit, three are not
    SELECTOR_UNITS = 10       # the list of requirements
    REQUIREMENT_UNITS = 50    # each requirement has at least two characters


cdef int64_t check_units(Activation act, object first, object second, object result) except -1:
    return CHECK_UNITS


def check_estimate(operands):
    #: (tuple[Operand, ...]) -> Charge
    return estimates.Charge(estimates.exactly(CHECK_UNITS))


cdef int64_t selector_units(Activation act, object first, object second, object result) except -1:
    cdef int64_t size = size_of(second)
    return SELECTOR_UNITS + REQUIREMENT_UNITS * <int64_t>ceil(<double>size * 0.5) + tenths(size)


def selector_estimate(operands):
    #: (tuple[Operand, ...]) -> Charge
    size = operands[1].size
    requirements = size.scaled(0.5).scaled(REQUIREMENT_UNITS)
    return estimates.Charge(
        estimates.exactly(SELECTOR_UNITS).plus(requirements).plus(size.scaled(0.1))
    )


# In the examples the user is bob, of the group writers. He may create and list pods, delete his pod
# web, and get /healthz. His request updates deployments/scale of web in shop, which he may not.
LIBRARY = Library("authz", (
    binary(
        "path",
        "kubernetes.authorization.Authorizer.path(string) -> kubernetes.authorization.PathCheck",
        "authorizer_path", path,
        "authorizer.path('/healthz').check('get').allowed() // true",
    ),
    binary(
        "group",
        "kubernetes.authorization.Authorizer.group(string) -> kubernetes.authorization.GroupCheck",
        "authorizer_group", group,
        "authorizer.group('').resource('pods').check('create').allowed() // true",
    ),
    ternary(
        "serviceAccount",
        "kubernetes.authorization.Authorizer.serviceAccount(string, string)"
        " -> kubernetes.authorization.Authorizer",
        "authorizer_serviceaccount", service_account,
        "authorizer.serviceAccount('shop', 'robot').path('/healthz').check('get').allowed()"
        " // false",
    ),
    binary(
        "resource",
        "kubernetes.authorization.GroupCheck.resource(string)"
        " -> kubernetes.authorization.ResourceCheck",
        "groupcheck_resource", resource,
        "authorizer.group('apps').resource('pods').check('create').allowed() // false",
    ),
    ternary(
        "subresource",
        "kubernetes.authorization.ResourceCheck.subresource(string)"
        " -> kubernetes.authorization.ResourceCheck",
        "resourcecheck_subresource", narrowed,
        "authorizer.group('').resource('pods').subresource('exec').check('create').allowed()"
        " // false",
    ).given("subresource"),
    ternary(
        "namespace",
        "kubernetes.authorization.ResourceCheck.namespace(string)"
        " -> kubernetes.authorization.ResourceCheck",
        "resourcecheck_namespace", narrowed,
        "authorizer.group('').resource('pods').namespace('shop').check('create').allowed()"
        " // true",
    ).given("namespace"),
    ternary(
        "name",
        "kubernetes.authorization.ResourceCheck.name(string)"
        " -> kubernetes.authorization.ResourceCheck",
        "resourcecheck_name", narrowed,
        "authorizer.group('').resource('pods').name('web').check('delete').allowed() // true",
    ).given("name"),
    ternary(
        "fieldSelector",
        "kubernetes.authorization.ResourceCheck.fieldSelector(string)"
        " -> kubernetes.authorization.ResourceCheck",
        "authorizer_fieldselector", narrowed,
        "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a').check('list')"
        ".allowed() // true",
    ).given("field_selector").costs(selector_units, selector_estimate).since(31),
    ternary(
        "labelSelector",
        "kubernetes.authorization.ResourceCheck.labelSelector(string)"
        " -> kubernetes.authorization.ResourceCheck",
        "authorizer_labelselector", narrowed,
        "authorizer.group('').resource('pods').labelSelector('app=web').check('list').allowed()"
        " // true",
    ).given("label_selector").costs(selector_units, selector_estimate).since(31),
    ternary(
        "check",
        "kubernetes.authorization.PathCheck.check(string) -> kubernetes.authorization.Decision",
        "pathcheck_check", decided,
        "authorizer.path('/healthz').check('post').allowed() // false",
    ).given(PATH_CHECK).costs(check_units, check_estimate),
    ternary(
        "check",
        "kubernetes.authorization.ResourceCheck.check(string)"
        " -> kubernetes.authorization.Decision",
        "resourcecheck_check", decided,
        "authorizer.requestResource.check('update').allowed() // false",
    ).given(RESOURCE_CHECK).costs(check_units, check_estimate),
    unary(
        "allowed", "kubernetes.authorization.Decision.allowed() -> bool", "decision_allowed",
        allowed, "authorizer.group('').resource('pods').check('delete').allowed() // false",
    ),
    unary(
        "reason", "kubernetes.authorization.Decision.reason() -> string", "decision_reason",
        reason, "authorizer.path('/healthz').check('get').reason() // 'writers may'",
    ),
    unary(
        "errored", "kubernetes.authorization.Decision.errored() -> bool", "decision_errored",
        errored, "authorizer.path('/healthz').check('get').errored() // false",
    ),
    unary(
        "error", "kubernetes.authorization.Decision.error() -> string", "decision_error",
        error_of, "authorizer.path('/healthz').check('get').error() // ''",
    ),
), kinds={
    "kubernetes.authorization.Authorizer": AuthorizerValue,
    "kubernetes.authorization.Decision": AuthorizerDecision,
})
