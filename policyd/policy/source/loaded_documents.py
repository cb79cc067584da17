"""A loaded document with the place of each of its fields, and the set of all documents."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from policyd.cel.syntax.source import Source
from policyd.errors import Fix, Problem, Severity
from policyd.json_types import FieldPath, JSONObject, object_in
from policyd.pattern.scalar_hints import UNQUOTED
from policyd.policy.model.findings import FormProblem, path_text
from policyd.policy.model.kinds import (
    ADMISSION_GROUP,
    KINDS,
    POLICYD_GROUP,
    AnyPolicy,
    PolicyModel,
)
from policyd.policy.model.match import MatchResources
from policyd.policy.source.lint_comments import LintComment
from policyd.policy.source.places import Origin
from policyd.versions import NEWEST, KubernetesVersion

_GROUPS = (ADMISSION_GROUP, POLICYD_GROUP)


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a source file.

    ``readable`` is the model of all that has no problem of form (``Model.read``), None for
    parameters; ``raw`` is always the plain value. ``index`` is the document's number in its file,
    from 0. ``root`` is the real path of the source directory that contains the file; empty for a
    document given as a string. ``beside`` are the bytes of all files of its directory by name, if
    that directory is not on a disk. ``confined`` is the namespace that it was read from, and is
    about; empty if it is about all of them.
    """

    kind: str
    api_version: str
    name: str
    namespace: str
    file: str
    index: int
    raw: dict[str, Any]
    readable: PolicyModel | None = None
    problems: tuple[Problem, ...] = ()
    origin: Origin = field(default=Origin(), repr=False, compare=False)
    root: str = field(default="", repr=False, compare=False)
    beside: Mapping[str, bytes] | None = field(default=None, repr=False, compare=False)
    confined: str = ""

    @property
    def model(self) -> PolicyModel | None:
        """Return the model; None of parameters and of documents with problems."""
        return None if self.problems else self.readable

    @property
    def group(self) -> str:
        """Return the API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def is_policy(self) -> bool:
        """Whether policyd interprets the kind; objects of other kinds are parameters."""
        return self.kind in KINDS and self.group in _GROUPS

    @property
    def label(self) -> str:
        """Return the name to show: ``Kind namespace/name``."""
        prefix = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {prefix}{self.name}".rstrip()

    @property
    def spec(self) -> JSONObject:
        """Return the ``spec`` of the plain value; empty if there is none, or no object."""
        return object_in(self.raw, "spec")

    @property
    def failure_policy(self) -> str:
        """Return ``Ignore`` if the document sets it, else ``Fail``, despite any other problems."""
        return "Ignore" if self.spec.get("failurePolicy") == "Ignore" else "Fail"

    @property
    def match_constraints(self) -> MatchResources | None:
        """Return ``spec.matchConstraints`` if valid, even of a document with problems elsewhere."""
        path = "spec.matchConstraints"
        if any(problem.path.startswith(path) for problem in self.problems):
            return None
        policy = self.readable
        return policy.spec.match_constraints if isinstance(policy, AnyPolicy) else None

    def place(self, path: str = "") -> tuple[int, int]:
        """Return line and column (from 1) of the value at ``path``, or of its nearest parent.

        For a string, the place of its first character: after an opening quote, or on the first
        line of a block, so that offsets inside the string can be added.
        """
        return self.origin.find(path, at_key=False)

    def field_place(self, path: str = "") -> tuple[int, int]:
        """Return line and column (from 1) at which a field is written, or its nearest parent."""
        return self.origin.field(path)

    def placed(self, problem: Problem, path: str) -> Problem:
        """Convert the place of a problem in the string at ``path`` to its place in the file.

        A problem without a line is about the whole string.
        """
        line, column = self.origin.find_in(path, problem.line, problem.column)
        return replace(
            problem, file=self.file, line=line, column=column, path=path, document=self.label
        )

    def advice(self, path: str, rule: str, message: str, hint: str = "") -> Problem:
        """Return advice about the whole string at ``path``."""
        return self.placed(Problem(message, hint=hint, rule=rule, severity="advice"), path)

    def quoting(self, path: FieldPath) -> Fix | None:
        """Return the correction that puts the value at a path in quotes; None if it has some."""
        plain = next(self.origin.plain_scalars(path), None)
        return Fix(plain.text, plain.text) if plain is not None else None

    def problem(self, finding: FormProblem, severity: Severity = "error") -> Problem:
        """Return the problem with its place in the file and, where it helps, a marked excerpt."""
        found = Problem(
            message=finding.message,
            file=self.file,
            hint=finding.hint,
            rule=finding.rule,
            severity=severity,
            fix=finding.fix,
            document=self.label,
        )
        if finding.pos is not None:
            source = Source(string_at(self.raw, finding.path))
            return self.placed(source.at(finding.pos, found), path_text(finding.path))
        written = self.origin.written(finding.path)
        if finding.rule == "unknown-field":
            message = found.message.replace(f'"{finding.path[-1]}"', f'"{written[-1]}"')
            found = replace(found, message=message)
        if finding.hint == UNQUOTED:
            found = replace(found, fix=self.quoting(finding.path))
        path = path_text(written)
        line, column = self.origin.find(path, at_key=finding.at_key)
        excerpt = self.origin.chunk.excerpt(line, column)
        return replace(found, path=path, line=line, column=column, excerpt=excerpt)

    def with_problems(self, *more: Problem) -> "Document":
        """Return the document with more problems."""
        return replace(self, problems=(*self.problems, *more))


def string_at(raw: Mapping[str, Any], path: FieldPath) -> str:
    """Return the string at a path of a plain document."""
    value: Any = raw
    for step in path:
        value = value[step]
    text: str = value
    return text


@dataclass(frozen=True, slots=True)
class Sources:
    """All loaded documents. ``problems`` are about files and all documents; ``version`` is
    the Kubernetes version that the policies are written for; ``unused`` are the documents that are
    left out because another source has a policy of that name.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    generation: str
    lint_comments: tuple[LintComment, ...] = ()
    version: KubernetesVersion = NEWEST
    unused: tuple[Document, ...] = ()

    def of_kind(self, *kinds: str) -> tuple[Document, ...]:
        """Return the documents of these kinds in file order; policyd's kinds only of its groups."""
        return tuple(
            document
            for document in self.documents
            if document.kind in kinds and (document.is_policy or document.kind not in KINDS)
        )
