"""The rules of ``policyd lint``, in one table: what each is about, and which function finds it.

The names are stable: comments in policies, ``--disable`` and reports refer to them. The page
docs/reference/lint-rules.md is made of this table by ``tools/make_lint_docs.py``.
"""

import difflib
from collections.abc import Mapping
from typing import NamedTuple

from policyd.errors import Severity


class LintRule(NamedTuple):
    """What a rule is about, in a line; and what to write instead, or why it is told.

    ``found_by`` are functions of modules of this package: each takes a ``LintRun`` and gives
    problems. Rules without one are found where policies are read and compiled.
    """

    name: str
    severity: Severity
    about: str
    remedy: str
    found_by: tuple[str, ...] = ()


# A new rule is a file and a line here. The functions run in the order of this table.
_RULES = (
    LintRule("broad-exception", "advice", "an exception that exempts every request",
             "Say for which namespaces, names, users, groups, operations or labels it is.",
             ("documents.advise",)),
    LintRule("dangling-binding", "advice", "a binding of a policy that is not there",
             "Correct policyName.", ("documents.advise",)),
    LintRule("duplicate-variable", "advice", "two variables of one name",
             "Give each a name of its own.", ("documents.advise",)),
    LintRule("expired-exception", "advice", "an exception whose `until` has passed",
             "Remove it.", ("documents.advise",)),
    LintRule("expiring-exception", "advice", "an exception that ends within 30 days",
             "Prepare for its end.", ("documents.advise",)),
    LintRule("foreign-policy", "advice", "a policy of another engine, which is not evaluated here",
             "Write it as a Policy; here it can only be a parameter.", ("documents.advise",)),
    LintRule("no-binding", "advice", "a VAP or MAP without a binding, which does nothing",
             "Add one, or write a policyd.dev/v1 Policy, which needs none.", ("documents.advise",)),
    LintRule("unknown-namespace-labels", "advice",
             "a namespaceSelector with labels of no known Namespace",
             "Give the Namespace objects as documents, or let policyd ask the cluster.",
             ("documents.advise",)),
    LintRule("unused-variable", "advice", "a variable that nothing uses",
             "Remove it.", ("documents.advise",)),
    LintRule("variable-name", "advice", "a variable named like something else",
             "Choose another name.", ("documents.advise",)),
    LintRule("wildcard", "advice", "a rule of all resources with failurePolicy Fail",
             "Name groups and resources: if the webhook is down, nothing could change.",
             ("documents.advise",)),
    LintRule("exact-version", "advice",
             "a rule with matchPolicy Exact that leaves out a version which is served",
             "Name all versions, or leave matchPolicy at Equivalent: then one stands for all.",
             ("resources.advise_rules",)),
    LintRule("no-such-resource", "advice", "a rule that matches nothing that exists",
             "Name group, version, resource and operation as `kubectl api-resources -o wide` "
             "does.", ("resources.advise_rules",)),
    LintRule("removed-version", "advice",
             "a rule that names an API version which Kubernetes removed",
             "Name the version that is served; with matchPolicy Equivalent it stands for all "
             "others.", ("resources.advise_rules",)),
    LintRule("missing-message", "advice", "a validation without message and messageExpression",
             "Say what to do: users see `failed expression: …` otherwise.",
             ("messages.advise_validations",)),
    LintRule("missing-update", "advice",
             "a validation of CREATE only, of what an UPDATE can change",
             "Add UPDATE to the operations, or disable the rule with the reason.",
             ("messages.advise_validations",)),
    LintRule("type-check", "advice", "an expression that does not fit the schema of its kind",
             "For kinds that rules name without `*` (at most ten): as `status.typeChecking` of "
             "the API server has it, without its false alarms, and for mutations too: "
             "`Object.spec{containerz}`, `/spec/containerz`, atomic lists in an "
             "ApplyConfiguration.", ("types.check.type_check",)),
    LintRule("null-object", "advice",
             "`oldObject`, `object` or `namespaceObject` used where it is null",
             "On CREATE, or DELETE: ask `request.operation` or `oldObject != null` first. "
             "Without namespace, and in matchConditions, there is no `namespaceObject`.",
             ("guards.unguarded.unguarded",)),
    LintRule("unguarded-field", "advice",
             "a field that may be absent, read without has(), `.?` or `in`",
             "Write `has(a.b) && a.b …`, `a.?b.orValue(…)` or `'key' in map && …`.",
             ("guards.unguarded.unguarded",)),
    LintRule("pattern-type", "advice", "a pattern that does not fit the schema of its kind",
             "The hint has the nearest field or the right form.", ("patterns.misfitting",)),
    LintRule("expensive-expression", "advice",
             "an expression that may cost more than an evaluation may",
             "Avoid lists within lists; match patterns and ask the authorizer outside of loops.",
             ("expense.expensive",)),
    LintRule("constant-expression", "advice", "a condition that is always true or always false",
             "Write `true` or `false` if that is meant: those are not told.",
             ("constant.constant", "settled.settled")),
    LintRule("mutation-conflict", "advice", "policies that write different values to one place",
             "The later policy by name wins: let one of them write it.", ("overlaps.overlapping",)),
    LintRule("newer-policy-api", "advice",
             "a policy in an API version that is newer than the target version",
             "policyd evaluates it from a file on every version; reported with --target only.",
             ("version_needs.newer",)),
    LintRule("newer-than-target", "error",
             "a function, macro or syntax that is newer than the target version",
             "`policyd lint --target VERSION` sets the oldest Kubernetes version that policies "
             "must run on; docs/reference/kubernetes-versions.md lists the version of each.",
             ("version_needs.newer",)),
    # Found while policies are read, compiled and tested.
    LintRule("cel", "error", "an expression does not compile",
             "The caret is where the compiler stopped."),
    LintRule("duplicate-name", "error", "two documents of one kind and name",
             "Give one of them another name; a Policy shares its names with the VAPs and MAPs."),
    LintRule("invalid", "error", "a field that Kubernetes or policyd refuses",
             "The message is the API server's where it has one."),
    LintRule("lint-comment", "error", "a comment of policyd-lint that names no rule of advice",
             "Write `# policyd-lint: disable=RULE`; `policyd lint --rules` lists the rules."),
    LintRule("missing-schema", "error",
             "an ApplyConfiguration or overlay of a kind whose schema is not known",
             "Add the CustomResourceDefinition to the policies, or write a JSONPatch."),
    LintRule("not-an-object", "error", "a document that is no Kubernetes object",
             "Each document has apiVersion, kind and metadata."),
    LintRule("not-idempotent", "error", "mutations that change their own result (with --strict)",
             "Mutate only what is not so already, or say `idempotent: false` in the case."),
    LintRule("pattern", "error", "a pattern that cannot be read",
             "docs/write/patterns.md has the forms."),
    LintRule("suite", "error", "a suite of tests that cannot be run",
             "docs/test/suites.md has the fields."),
    LintRule("syntax", "error", "text that is neither YAML nor JSON",
             "The caret is where reading stopped."),
    LintRule("unknown-field", "error", "a field that its kind does not have",
             "The hint has the nearest name; the API server would drop the field without a word."),
    LintRule("unreadable", "error", "a file that cannot be read",
             "Look at its path and permissions."),
    LintRule("unused-disable", "advice", "a comment that disables nothing (with --strict)",
             "Remove it."),
)  # fmt: skip

RULES: Mapping[str, LintRule] = {rule.name: rule for rule in _RULES}


def nearest(name: str) -> str:
    """``did you mean X?`` for a name that is no rule's."""
    found = difflib.get_close_matches(name, RULES, n=1)
    return f"did you mean {found[0]}?" if found else "policyd lint --rules lists them"


def refused(name: str) -> str:
    """Why a rule of that name cannot be disabled; empty if it can."""
    rule = RULES.get(name)
    if rule is None:
        return f"there is no rule {name!r}"
    return "" if rule.severity == "advice" else f"{name} is an error: only advice can be disabled"
