"""The table of the rules of ``policyd lint``: a summary of each, and the function that finds it.

The names are stable: comments in policies, ``--disable`` and reports refer to them. The page
docs/reference/lint-rules.md is generated from this table by ``tools/make_lint_docs.py``.
"""

import difflib
from collections.abc import Mapping
from typing import NamedTuple

from policyd.errors import Severity


class LintRule(NamedTuple):
    """The summary of a rule in one line, and what to write instead, or why it is reported.

    ``found_by`` are functions of modules of this package: each takes a ``LintRun`` and returns
    problems. Rules without one are found when policies are read and compiled.
    """

    name: str
    severity: Severity
    about: str
    remedy: str
    found_by: tuple[str, ...] = ()


# A new rule is a file and a line here. The functions run in the order of this table.
_RULES = (
    LintRule("broad-exception", "advice",
             "an exception that exempts every request",
             "Restrict it by namespaces, names, users, groups, operations or labels.",
             ("documents.advise",)),
    LintRule("missing-param-ref", "advice",
             "a binding without paramRef, of a policy with paramKind",
             "Add paramRef to the binding, or remove paramKind. Without it `params` is null.",
             ("documents.advise",)),
    LintRule("dangling-binding", "advice",
             "a binding of a policy that does not exist",
             "Correct policyName.",
             ("documents.advise",)),
    LintRule("dangling-exception", "advice",
             "a PolicyException of a policy or validation that does not exist",
             "Correct the name or the index.",
             ("documents.advise",)),
    LintRule("duplicate-variable", "advice",
             "two variables with the same name",
             "Rename one of them.",
             ("documents.advise",)),
    LintRule("expired-exception", "advice",
             "an exception whose `until` has passed",
             "Remove it.",
             ("documents.advise",)),
    LintRule("expiring-exception", "advice",
             "an exception that expires within 30 days",
             "Extend it, or prepare for its end.",
             ("documents.advise",)),
    LintRule("foreign-policy", "advice",
             "a policy of another engine, which policyd does not evaluate",
             "Rewrite it as a Policy. As it is, it can only be used as params.",
             ("documents.advise",)),
    LintRule("no-binding", "advice",
             "a VAP or MAP without a binding, which has no effect",
             "Add a binding, or use a policyd.dev/v1 Policy, which needs none.",
             ("documents.advise",)),
    LintRule("unknown-namespace-labels", "advice",
             "a namespaceSelector with labels that no known Namespace has",
             "Add the Namespace objects to the policy files, or connect policyd to the "
             "cluster.",
             ("documents.advise",)),
    LintRule("unused-variable", "advice",
             "a variable that nothing uses",
             "Remove it.",
             ("documents.advise",)),
    LintRule("variable-name", "advice",
             "a variable with a misleading name",
             "Choose another name.",
             ("documents.advise",)),
    LintRule("wildcard", "advice",
             "a resource rule for all resources with failurePolicy Fail",
             "Name groups and resources. Otherwise nothing can change while the webhook is "
             "down.",
             ("matching.lockout.advise_lockouts",)),
    LintRule("cluster-lockout", "advice",
             "a resource rule with failurePolicy Fail for what nodes or the API server must write",
             "Exempt Kubernetes' own users by a matchCondition that reads `request.userInfo` and "
             "no `params` or `variables`, set `failurePolicy: Ignore`, or match less.",
             ("matching.lockout.advise_lockouts",)),
    LintRule("expired-rollout", "advice",
             "a rollout whose `until` has passed",
             "Remove it: the policy is enforced everywhere.",
             ("rollouts.advise_rollouts",)),
    LintRule("contradictory-rollout", "advice",
             "a rollout with fields that exclude each other or restrict nothing",
             "`enforce: {}` is nowhere; all given fields must hold.",
             ("rollouts.advise_rollouts",)),
    LintRule("open-ended-rollout", "advice",
             "a rollout that enforces nothing and has no end",
             "Set `until`, or enforce the policy somewhere.",
             ("rollouts.advise_rollouts",)),
    LintRule("idle-rollout", "advice",
             "a rollout, or a field of it, that can have no effect on its policy",
             "Remove it.",
             ("rollouts.advise_rollouts",)),
    LintRule("exact-version", "advice",
             "a resource rule with matchPolicy Exact that omits a served version",
             "List every version, or use matchPolicy Equivalent, which needs only one.",
             ("matching.resources.advise_rules",)),
    LintRule("no-such-resource", "advice",
             "a resource rule that matches nothing that exists",
             "Use the groups, versions, resources and verbs of `kubectl api-resources -o "
             "wide`.",
             ("matching.resources.advise_rules",)),
    LintRule("removed-version", "advice",
             "a resource rule that names an API version which Kubernetes removed",
             "Name the served version; with matchPolicy Equivalent it matches all others.",
             ("matching.resources.advise_rules",)),
    LintRule("missing-message", "advice",
             "a validation without message and messageExpression",
             "Explain what to do. Without a message users see `failed expression: …`.",
             ("messages.advise_validations",)),
    LintRule("literal-message", "advice",
             "a message with an expression or a variable in it, which users see as it is written",
             "Write messageExpression: a CEL expression, as in `'at most ' + params.data.max`.",
             ("messages.advise_validations",)),
    LintRule("missing-update", "advice",
             "a validation of CREATE that an UPDATE can bypass",
             "Add UPDATE to the operations, or disable this rule and give the reason.",
             ("messages.advise_validations",)),
    LintRule("type-check", "advice",
             "an expression that does not match the schema of its kind",
             "For kinds that resourceRules name without `*` (at most ten), as in "
             "`status.typeChecking` of the API server but without its false alarms.",
             ("type_check.type_check",)),
    LintRule("null-object", "advice",
             "`oldObject`, `object` or `namespaceObject` used where it is null",
             "On CREATE or DELETE, check `request.operation` or `oldObject != null` first. "
             "`namespaceObject` is null for cluster-scoped objects and in matchConditions.",
             ("unguarded.unguarded",)),
    LintRule("unguarded-field", "advice",
             "a field that may be missing, read without has(), `.?` or `in`",
             "Write `has(a.b) && a.b …`, `a.?b.orValue(…)` or `'key' in map && …`.",
             ("unguarded.unguarded",)),
    LintRule("pattern-type", "advice",
             "a pattern that does not match the schema of its kind",
             "The hint suggests the nearest field or the right type.",
             ("patterns.misfitting",)),
    LintRule("expensive-expression", "advice",
             "an expression that may exceed the cost limit of an evaluation",
             "Avoid nested lists; evaluate regular expressions and authorizer checks outside "
             "loops.",
             ("expense.expensive",)),
    LintRule("constant-expression", "advice",
             "a condition that is always true or always false",
             "If this is intended, write `true` or `false`, which are not reported.",
             ("constant.constant", "settled.settled")),
    LintRule("mutation-conflict", "advice",
             "policies that write different values to the same field",
             "The last policy by name wins. Let only one of them write the field.",
             ("overlaps.overlapping",)),
    LintRule("failing-mutation", "error",
             "a mutation that fails for every request that it changes",
             "Correct the `Object{…}` or `JSONPatch{…}`: names of types and fields, types of "
             "values, op, path. Atomic lists and maps need a JSONPatch or an Overlay.",
             ("mutations.failing.failing",)),
    LintRule("fragile-mutation", "advice",
             "a mutation that fails for some objects",
             "Add missing parents first, test for what is removed, escape computed keys, or "
             "write an Overlay, which needs none of these.",
             ("mutations.failing.failing", "unguarded.unguarded")),
    LintRule("replaced-list", "advice",
             "an overlay that replaces a list without keys",
             "To keep the items that an object already has, write `- $patch: append` as the first "
             "item; if this is intended, `- $patch: replace`.",
             ("mutations.replaced.replaced",)),
    LintRule("newer-policy-api", "advice",
             "a policy in an API version that the target version does not serve",
             "policyd evaluates it on every version. Reported only with --target.",
             ("version_needs.newer",)),
    LintRule("newer-than-target", "error",
             "a function, macro or syntax that the target version does not have",
             "`policyd lint --target VERSION` sets the oldest Kubernetes version that must run"
             " the policies. docs/reference/kubernetes-versions.md lists the version of each.",
             ("version_needs.newer",)),
    LintRule("impossible-value", "error",
             "a comparison with a value that the field never has",
             "Write the value as the hint does: values are case-sensitive.",
             ("values.enums.never_equal",)),
    LintRule("unknown-value", "advice",
             "a comparison with a value that the schema of the field does not list",
             "Use one of the values in the hint, or disable this rule if a newer Kubernetes "
             "has the value.",
             ("values.enums.never_equal",)),
    LintRule("invalid-literal", "error",
             "a literal that never parses: a quantity, IP address, CIDR, URL or version",
             "Correct the literal. The expression is an error for every request that reaches it.",
             ("values.literals.invalid_literals",)),
    LintRule("quantity-comparison", "advice",
             "quantities compared as strings",
             "Write `quantity(a).isLessThan(quantity(b))`, `isGreaterThan` or `compareTo`.",
             ("values.quantities.compared_quantities",)),
    LintRule("int-or-string", "advice",
             "a field that is an integer or a string, compared as if it were only one of them",
             "Convert it with `string(field)`, or check `type(field) == int` first.",
             ("values.quantities.compared_quantities",)),
    LintRule("unquoted-value", "advice",
             "a value or key without quotes that YAML reads as a boolean or another number",
             "Put it in quotes. Kubernetes reads `on`, `y` and `no` as booleans, `0644` as 420 and "
             "`1.20` as 1.2.",
             ("values.plain_scalars.unquoted",)),
    LintRule("subresource-not-covered", "advice",
             "a validated field that a subresource writes which no rule matches",
             "Add the subresource to the resources: pods/ephemeralcontainers, pods/resize, "
             "deployments/scale.",
             ("values.subresources.uncovered",)),
    # Found while policies are read, compiled and tested.
    LintRule("cel", "error",
             "an expression that does not compile",
             "The caret marks the place where the compiler stopped."),
    LintRule("duplicate-name", "error",
             "two documents with the same kind and name",
             "Rename one of them. The name of a Policy must also differ from those of VAPs and"
             " MAPs."),
    LintRule("no-policies", "advice",
             "files and directories without a policy",
             "Correct the paths. Other commands report this as an error."),
    LintRule("invalid", "error",
             "a field value that Kubernetes or policyd rejects",
             "Where the API server reports the error, the message is the same."),
    LintRule("lint-comment", "error",
             "a policyd-lint comment that names no advice rule",
             "Write `# policyd-lint: disable=RULE`; `policyd lint --rules` lists the rules."),
    LintRule("missing-schema", "error",
             "an ApplyConfiguration or overlay for a kind without a known schema",
             "Add the CustomResourceDefinition to the policy files, or use a JSONPatch."),
    LintRule("no-expectation", "error",
             "a case of a suite that expects nothing",
             "Write `expect`, at least `allowed`; `policyd test --update` writes what it"
             " observes."),
    LintRule("not-an-object", "error",
             "a document that is not a Kubernetes object",
             "Every document needs apiVersion, kind and metadata."),
    LintRule("not-idempotent", "error",
             "mutations that change their own result (with --strict)",
             "Mutate only what still differs, or set `idempotent: false` in the case."),
    LintRule("pattern", "error",
             "an invalid pattern",
             "docs/write/patterns.md describes them."),
    LintRule("suite", "error",
             "a case of a test suite that fails when the server loads policies",
             "`policyd test` shows the expected and the found values."),
    LintRule("syntax", "error",
             "a file that is neither YAML nor JSON",
             "The caret marks the place where the parser stopped."),
    LintRule("too-large", "error",
             "sources that are larger than policyd reads",
             "The hint says what to remove; docs/reference/limits.md has the limits."),
    LintRule("unknown-field", "error",
             "a field that its kind does not have",
             "The hint suggests the nearest name. The API server would silently drop the "
             "field."),
    LintRule("unreadable", "error",
             "a file that cannot be read",
             "Check its path and permissions."),
    LintRule("unused-disable", "advice",
             "a comment that disables nothing (with --strict)",
             "Remove it."),
)  # fmt: skip

RULES: Mapping[str, LintRule] = {rule.name: rule for rule in _RULES}


def nearest(name: str, most: int = 1) -> str:
    """Return ``did you mean X?`` for an unknown rule name; ``most``: how many names it offers."""
    found = difflib.get_close_matches(name, RULES, n=most)
    return (
        f"did you mean {' or '.join(found)}?" if found else "policyd lint --rules lists the rules"
    )


def refused(name: str) -> str:
    """Return why a rule cannot be disabled; empty if it can."""
    rule = RULES.get(name)
    if rule is None:
        return f"there is no rule {name!r}"
    return "" if rule.severity == "advice" else f"{name} is an error: only advice can be disabled"
