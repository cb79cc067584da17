"""The policies that tests are about: imported from the sources now, or imported before. Runs no
tests.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from policyd.importers.all import CONVERTERS, ConverterTable, convert
from policyd.importers.checking import CheckedImport, checked
from policyd.importers.kyverno.matching.autogen import generated_name
from policyd.importers.model import Imported, ImportedDocument
from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.kyverno_tests import substituted
from policyd.importers.proof.rows import TestUnusable
from policyd.importers.provenance import origin, provenance_of
from policyd.importers.reads import mapper_of
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.versions import KubernetesVersion

# The policy of a name that a test uses, with the values that the test gives in place of what the
# policy would get; None: there is none.
PolicyByName = Callable[[str, JSONObject], CheckedImport | None]


class ImportIndex:
    """All imports of the sources. ``documents`` are the documents of the sources, which a second
    import of one policy, with the exceptions of a test, needs again. ``mapper`` has the resources
    of the kinds that they define.
    """

    def __init__(
        self,
        imports: Iterable[CheckedImport],
        documents: Sequence[Document],
        version: KubernetesVersion,
        converters: ConverterTable = CONVERTERS,
    ) -> None:
        self._documents = documents
        self._version = version
        self._converters = converters
        self.mapper = mapper_of(documents)
        self._by_file: dict[str, list[CheckedImport]] = {}
        for each in imports:
            file = os.path.realpath(each.imported.source.file)
            self._by_file.setdefault(file, []).append(each)

    def named(
        self, test: Document, policies: Sequence[str], exceptions: Sequence[str], files: TestFiles
    ) -> PolicyByName:
        """Return the policies in the files that a test of Kyverno names, with its exceptions."""
        more = files.objects(test, exceptions)
        within = self._within(files.paths(test, policies))
        found = [self._again(each, each.imported.source, more) if more else each for each in within]
        made: dict[str, CheckedImport] = {}

        def policy(name: str, values: JSONObject) -> CheckedImport | None:
            one = _only(found, name)
            if one is None:
                return None
            raw = substituted(one.imported.source.raw, values)
            if raw == one.imported.source.raw:
                return one
            text = json.dumps(raw)
            if text not in made:
                made[text] = self._again(one, replace(one.imported.source, raw=raw), more)
            return made[text]

        return policy

    def constrained(
        self, test: Document, constraint: str, template: str, files: TestFiles
    ) -> CheckedImport | None:
        """Return what became of the constraint of a test of Gatekeeper, or of its template."""
        for name in filter(None, (constraint, template)):
            found = self._within(files.paths(test, [name]))
            if found:
                return found[0]
        return None

    def _within(self, paths: Iterable[str]) -> list[CheckedImport]:
        """Return the imports of the policies in these files and directories, by their real
        paths.
        """
        found: list[CheckedImport] = []
        for path in paths:
            directory = f"{path}{os.sep}"
            for file, imports in self._by_file.items():
                if file == path or file.startswith(directory):
                    found += imports
        return found

    def _again(
        self, one: CheckedImport, source: Document, exceptions: Sequence[Document]
    ) -> CheckedImport:
        others = [*self._documents, *exceptions]
        found = convert(source, others, self._converters)
        return checked(found[0], self._version) if found else one


class ImportedBefore:
    """Policies of policyd, found by the annotations that say where they were imported from. Has the
    methods of ImportIndex.
    """

    def __init__(self, sources: Sources) -> None:
        compiled = compiler.compile_strict(sources)
        origins: dict[str, list[tuple[str, Document]]] = {}
        for each in sources.of_kind("Policy"):
            found, rule = provenance_of(each)
            if found.source:
                origins.setdefault(found.source, []).append((rule, each))
        self._imports = [_before(source, found, compiled) for source, found in origins.items()]
        self.mapper = compiled.mapper

    def named(
        self, test: Document, policies: Sequence[str], exceptions: Sequence[str], files: TestFiles
    ) -> PolicyByName:
        if exceptions:
            raise TestUnusable(
                "its exceptions are those of Kyverno: policyd import converts them with policies"
            )
        given = [each for each in policies if files.has(test, each)]
        known = {origin(each) for each in files.objects(test, given)}
        meant = [each for each in self._imports if origin(each.imported.source) in known]

        def policy(name: str, values: JSONObject) -> CheckedImport | None:
            one = _only(meant, name) or _only(self._imports, name)
            stands_in = any(each.partition(".")[0] != "request" for each in values)
            if one is not None and stands_in and _reads(one):
                raise TestUnusable(
                    "its values stand for objects that the policy reads: `policyd import --verify` "
                    "runs it with the policy of Kyverno"
                )
            return one

        return policy

    def constrained(
        self, test: Document, constraint: str, template: str, files: TestFiles
    ) -> CheckedImport | None:
        for each in files.objects(test, [constraint]) if constraint else ():
            for one in self._imports:
                if origin(one.imported.source) == origin(each):
                    return one
        return None


# Where tests find their policies.
TestedPolicies = ImportIndex | ImportedBefore


def _reads(one: CheckedImport) -> bool:
    """Whether a policy uses objects that Kyverno would get from the cluster."""
    specs = [each.raw["spec"] for each in one.imported.documents]
    return any(spec.get("reads") or "namespaceObject" in json.dumps(spec) for spec in specs)


def _only(imports: Iterable[CheckedImport], name: str) -> CheckedImport | None:
    """Return the import of the policy ``NAME`` or ``NAMESPACE/NAME``. Raises TestUnusable if there
    are several.
    """
    namespace, _, own = name.rpartition("/")
    found = [
        each
        for each in imports
        if each.imported.source.name == own and namespace in ("", each.imported.source.namespace)
    ]
    if len(found) > 1:
        listed = ", ".join(origin(each.imported.source) for each in found)
        raise TestUnusable(f"there are several policies {name}: {listed}")
    return found[0] if found else None


def _before(
    source: str, found: Sequence[tuple[str, Document]], compiled: CompiledPolicySet
) -> CheckedImport:
    """Return an import that was done before, from the Policies that it wrote, by their rules."""
    kind, _, name = source.partition("/")
    namespace, _, name = name.rpartition("/")
    first = found[0][1]
    rules: dict[str, tuple[str, ...]] = {}
    for rule, each in found:
        extended = bool(each.raw["spec"].get("podControllers"))
        known = [rule]
        if rule and extended:
            known += [generated_name(rule), generated_name(rule, cron=True)]
        for one in known:
            rules[one] = (*rules.get(one, ()), each.name)
    document = replace(first, kind=kind, namespace=namespace, name=name)
    documents = tuple(ImportedDocument(each.raw) for _, each in found)
    return CheckedImport(Imported(document, documents, rules=rules), compiled)
