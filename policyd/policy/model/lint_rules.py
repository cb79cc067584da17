"""The names of what ``policyd lint`` tells, with what each is about. Only data and its lookup.

The names are stable: comments in policies, ``--disable`` and reports refer to them. The page
docs/reference/lint-rules.md is made of this table by ``tools/make_lint_docs.py``.
"""

import difflib
from collections.abc import Mapping
from typing import NamedTuple

from policyd.errors import Severity


class LintRule(NamedTuple):
    """What a rule is about, in a line; and what to write instead, or why it is told."""

    severity: Severity
    about: str
    remedy: str


RULES: Mapping[str, LintRule] = {
    name: LintRule("error", about, remedy)
    for name, about, remedy in (
        ("cel", "an expression does not compile", "The caret is where the compiler stopped."),
        ("duplicate-name", "two documents of one kind and name",
         "Give one of them another name; a Policy shares its names with the VAPs and MAPs."),
        ("invalid", "a field that Kubernetes or policyd refuses",
         "The message is the API server's where it has one."),
        ("lint-comment", "a comment of policyd-lint that names no rule of advice",
         "Write `# policyd-lint: disable=RULE`; `policyd lint --rules` lists the rules."),
        ("missing-schema", "an ApplyConfiguration or overlay of a kind whose schema is not known",
         "Add the CustomResourceDefinition to the policies, or write a JSONPatch."),
        ("newer-than-target", "a function, macro or syntax that is newer than the target version",
         "`policyd lint --target VERSION` sets the oldest Kubernetes version that policies must "
         "run on; docs/reference/kubernetes-versions.md lists the version of each."),
        ("not-an-object", "a document that is no Kubernetes object",
         "Each document has apiVersion, kind and metadata."),
        ("not-idempotent", "mutations that change their own result (with --strict)",
         "Mutate only what is not so already, or say `idempotent: false` in the case."),
        ("pattern", "a pattern that cannot be read", "docs/write/patterns.md has the forms."),
        ("suite", "a suite of tests that cannot be run", "docs/test/suites.md has the fields."),
        ("syntax", "text that is neither YAML nor JSON", "The caret is where reading stopped."),
        ("unknown-field", "a field that its kind does not have",
         "The hint has the nearest name; the API server would drop the field without a word."),
        ("unreadable", "a file that cannot be read", "Look at its path and permissions."),
    )
} | {
    name: LintRule("advice", about, remedy)
    for name, about, remedy in (
        ("broad-exception", "an exception that exempts every request",
         "Say for which namespaces, names, users, groups, operations or labels it is."),
        ("constant-expression", "a condition that is always true or always false",
         "Write `true` or `false` if that is meant: those are not told."),
        ("dangling-binding", "a binding of a policy that is not there", "Correct policyName."),
        ("duplicate-variable", "two variables of one name", "Give each a name of its own."),
        ("exact-version", "a rule with matchPolicy Exact that leaves out a version which is served",
         "Name all versions, or leave matchPolicy at Equivalent: then one stands for all."),
        ("expensive-expression", "an expression that may cost more than an evaluation may",
         "Avoid lists within lists; match patterns and ask the authorizer outside of loops."),
        ("expired-exception", "an exception whose `until` has passed", "Remove it."),
        ("expiring-exception", "an exception that ends within 30 days", "Prepare for its end."),
        ("foreign-policy", "a policy of another engine, which is not evaluated here",
         "Write it as a Policy; here it can only be a parameter."),
        ("missing-message", "a validation without message and messageExpression",
         "Say what to do: users see `failed expression: …` otherwise."),
        ("missing-update", "a validation of CREATE only, of what an UPDATE can change",
         "Add UPDATE to the operations, or disable the rule with the reason."),
        ("mutation-conflict", "policies that write different values to one place",
         "The later policy by name wins: let one of them write it."),
        ("newer-policy-api", "a policy in an API version that is newer than the target version",
         "policyd evaluates it from a file on every version; reported with --target only."),
        ("no-binding", "a VAP or MAP without a binding, which does nothing",
         "Add one, or write a policyd.dev/v1 Policy, which needs none."),
        ("no-such-resource", "a rule that matches nothing that exists",
         "Name group, version, resource and operation as `kubectl api-resources -o wide` does."),
        ("null-object", "`oldObject`, `object` or `namespaceObject` used where it is null",
         "On CREATE, or DELETE: ask `request.operation` or `oldObject != null` first. "
         "Without namespace, and in matchConditions, there is no `namespaceObject`."),
        ("pattern-type", "a pattern that does not fit the schema of its kind",
         "The hint has the nearest field or the right form."),
        ("removed-version", "a rule that names an API version which Kubernetes removed",
         "Name the version that is served; with matchPolicy Equivalent it stands for all others."),
        ("type-check", "an expression that does not fit the schema of its kind",
         "For kinds that rules name without `*` (at most ten): as `status.typeChecking` of the API "
         "server has it, without its false alarms, and for mutations too: "
         "`Object.spec{containerz}`, `/spec/containerz`, atomic lists in an ApplyConfiguration."),
        ("unguarded-field", "a field that may be absent, read without has(), `.?` or `in`",
         "Write `has(a.b) && a.b …`, `a.?b.orValue(…)` or `'key' in map && …`."),
        ("unknown-namespace-labels", "a namespaceSelector with labels of no known Namespace",
         "Give the Namespace objects as documents, or let policyd ask the cluster."),
        ("unused-disable", "a comment that disables nothing (with --strict)", "Remove it."),
        ("unused-variable", "a variable that nothing uses", "Remove it."),
        ("variable-name", "a variable named like something else", "Choose another name."),
        ("wildcard", "a rule of all resources with failurePolicy Fail",
         "Name groups and resources: if the webhook is down, nothing could change."),
    )
}  # fmt: skip


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
