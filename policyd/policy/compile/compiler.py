"""Compile documents into CompiledPolicy objects and a CompiledPolicySet. Runs when policies load;
reads no files and evaluates nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from policyd._core.eval.program import Program
from policyd._core.eval.tracing import Tracer
from policyd._core.match.equivalents import Equivalents
from policyd._core.plan.mutation import ExpressionStep, MutationPlan, OverlayStep
from policyd._core.plan.validation import PlannedValidation, ValidationPlan
from policyd.defaulting.defaults import Defaults
from policyd.errors import PolicyError, Problem
from policyd.json_types import FieldPath, JSONObject
from policyd.mutation.schemas.schemas import Gvk
from policyd.pattern import Pattern, compile_any_pattern, compile_pattern
from policyd.policy.compile.bindings import PolicyBindings, problems_of
from policyd.policy.compile.broken.quarantine import quarantined
from policyd.policy.compile.compiled import (
    Binding,
    CompiledMutation,
    CompiledParamRef,
    CompiledPolicy,
)
from policyd.policy.compile.exemptions import Attachments, ends_of, own_exemptions
from policyd.policy.compile.expressions import Expressions
from policyd.policy.compile.match_rules import SharedRules, controller_rules
from policyd.policy.compile.missing_schemas import merges, missing
from policyd.policy.compile.overlays import KnownKinds, OverlayCompiler, bind, needed
from policyd.policy.compile.params import Namespaces, ParamStore, stored
from policyd.policy.compile.policy_set import CompiledPolicySet, CounterRegistry
from policyd.policy.compile.repeated import RepeatedExpressions
from policyd.policy.compile.reuse import made_of, reusable
from policyd.policy.compile.rollouts import PolicyRollouts, rollout_of
from policyd.policy.kinds.definitions import definitions
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.model import kinds as model
from policyd.policy.model.expressions import CONDITION, mutations_of
from policyd.policy.model.kinds import POLICY_KINDS, AnyBinding, AnyPolicy
from policyd.policy.model.match import ParamRef
from policyd.policy.model.match import Validation as ValidationModel
from policyd.policy.source.background_pace import full_speed
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.losses import held
from policyd.versions import KubernetesVersion

_DEFAULT_REASON = "Invalid"
_PARAMS = ("params", "paramKind")  # fields of a policy that sees ``params``


def compile_strict(sources: Sources) -> CompiledPolicySet:
    """Compile sources without errors; raises PolicyError with every problem of every document."""
    policies = compile_sources(sources)
    errors = [problem for problem in policies.problems if problem.severity == "error"]
    if errors:
        raise PolicyError(errors)
    return policies


def check(sources: Sources) -> list[Problem]:
    """Return every problem of the sources: of their form, and of their expressions."""
    return list(compile_sources(sources).problems)


def compile_sources(
    sources: Sources,
    former: CompiledPolicySet | None = None,
    *,
    breathe: Callable[[], None] = full_speed,
    tracer: Tracer | None = None,
) -> CompiledPolicySet:
    """Compile all documents; every problem is in ``problems`` of the set.

    A policy with problems is quarantined in the set if its name and matchConstraints can be read;
    so is one with a broken binding. The counters of the ``former`` set and its unchanged policies
    are reused. ``breathe`` is called after each policy. A ``tracer`` records every evaluation, for
    explanations: not for serving.
    """
    registry = former.registry if former is not None else CounterRegistry()
    known = reusable(former)
    others = [document for document in sources.documents if not document.is_policy]
    defined = definitions(sources)
    crds = [document.raw for document in defined.documents]
    kinds = KnownKinds(defined.documents, sources.version)
    rollouts = PolicyRollouts(sources)
    problems = [*sources.problems, *defined.problems, *rollouts.problems()]
    policies = []
    bindings, attachments = PolicyBindings(sources), Attachments(sources)
    documents = [each for each in sources.of_kind(*POLICY_KINDS) if each.is_policy]
    repeated = RepeatedExpressions(each.raw for each in documents)
    rules, version = SharedRules(), sources.version
    shared = _Shared(registry, kinds, repeated, rules, bindings, rollouts, version, tracer)
    for document in documents:
        compiler = _Compiler(document, shared)
        policy = known.get(compiler.made_of) or compiler.compile()
        problems += compiler.problems
        if policy is not None:
            policies.append(_exempted(policy, document, attachments))
        breathe()
    mapper, defaults = BUILT_IN.with_definitions(crds), Defaults(kinds.schemas)
    return CompiledPolicySet(
        tuple(policies),
        generation=sources.generation,
        params=ParamStore(_params(others, policies, mapper, defaults), crds),
        namespaces=Namespaces(document.raw for document in others if document.kind == "Namespace"),
        schemas=kinds.schemas,
        equivalents=Equivalents.of_crds(crds),
        registry=registry,
        mapper=mapper,
        problems=tuple(problems),
        suites=sources.of_kind("PolicyTest"),
        exemption_ends=ends_of(sources),
        version=sources.version,
        files=held((*sources.documents, *sources.unused)),
    )


def _params(
    documents: Iterable[Document],
    policies: Iterable[CompiledPolicy],
    mapper: ResourceMapper,
    defaults: Defaults,
) -> Iterator[JSONObject]:
    """Yield the objects among the documents, as the API server stores them if policies have params
    of their kinds. A kind may be written in another version.
    """
    kinds = {each.param_kind for each in policies if each.param_kind is not None}
    kinds |= {(read.api_version, read.kind) for each in policies for read in each.reads}
    wanted = {(home.rpartition("/")[0], kind) for home, kind in kinds}
    for each in documents:
        is_param = (each.group, each.kind) in wanted
        yield stored(each.raw, mapper, defaults) if is_param else each.raw


def _exempted(
    policy: CompiledPolicy, document: Document, attachments: Attachments
) -> CompiledPolicy:
    """Return the policy with the PolicyExceptions that name it now; nothing else changes."""
    attached, made_of = attachments.of(document)
    if policy.problem or policy.exempted_by == made_of:
        return policy
    own = (each for each in policy.exemptions if not each.document)
    return replace(policy, exemptions=(*own, *attached), exempted_by=made_of)


@dataclass(frozen=True, slots=True)
class _Shared:
    """The state that the policies of one load share."""

    registry: CounterRegistry
    kinds: KnownKinds
    expressions: RepeatedExpressions
    rules: SharedRules
    bindings: PolicyBindings
    rollouts: PolicyRollouts
    version: KubernetesVersion
    tracer: Tracer | None


class _Compiler:
    """Compiles one policy document with its bindings into a CompiledPolicy."""

    def __init__(self, document: Document, shared: _Shared) -> None:
        self.document = document
        self.shared = shared
        kinds, bindings, rollouts = shared.kinds, shared.bindings, shared.rollouts
        others = kinds.definitions if merges(document) else needed(document, kinds)
        usable, staged = bindings.of(document), rollouts.of(document)
        self.bindings = [each.model for each in usable if isinstance(each.model, AnyBinding)]
        self.bound = bindings.may_bind(document)
        unstaged = rollouts.broken(document)
        self.broken = [*problems_of(bindings.broken(document)), *unstaged]
        self.rollout = None if unstaged else rollout_of(document, staged)
        sources = (*usable, *staged, *others)
        self.made_of = b"" if self.broken else made_of(document, sources, shared.version)
        self.counters = shared.registry.get(document.name)
        self.problems: list[Problem] = []

    def compile(self) -> CompiledPolicy | None:
        """Return the policy, quarantined if it, a binding or its rollout is broken; None if its
        name or its matchConstraints cannot be read.
        """
        policy = self.document.readable
        if not isinstance(policy, AnyPolicy):
            raise TypeError(f"{self.document.label} has no model")
        param_kind = _param_kind(policy)
        expressions = Expressions(
            self.document,
            has_params=any(self.document.spec.get(each) is not None for each in _PARAMS),
            params_kind=None if param_kind is None else (*Gvk.of(*param_kind),),
            reads=policy.spec.reads if isinstance(policy, model.Policy) else (),
            version=self.shared.version,
            tracer=self.shared.tracer,
            repeated=self.shared.expressions,
        )
        try:
            compiled = self._compile(policy, expressions)
        except PolicyError as error:
            reported = {problem.path for problem in self.document.problems}
            self.problems += (each for each in error.problems if each.path not in reported)
            return self._quarantined((*self.document.problems, *self.problems))
        finally:
            expressions.close()
        return self._quarantined(self.broken) if self.broken else compiled

    def _compile(self, policy: AnyPolicy, expressions: Expressions) -> CompiledPolicy:
        spec = policy.spec
        mutation, mutations = self._mutation_plan(policy, expressions)
        if expressions.problems or self.document.problems:
            raise PolicyError(expressions.problems)
        validation = self._validation_plan(policy, expressions)
        rules = self.shared.rules
        constraints = spec.match_constraints.plain()
        if isinstance(policy, model.Policy):
            own = _own_fields(policy.spec, constraints, rules)
        else:
            own = {"bindings": tuple(_binding(each, rules) for each in self.bindings)}
        reinvocation = getattr(spec, "reinvocation_policy", "Never")
        return CompiledPolicy(
            kind=policy.kind,
            name=policy.metadata.name,
            source=self.document.file,
            fail=spec.failure_policy != "Ignore",
            rules=rules.match_rules(constraints),
            counters=self.counters,
            validation=validation,
            mutation=mutation,
            mutations=mutations,
            reinvoke=reinvocation == "IfNeeded",
            param_kind=_param_kind(policy),
            made_of=self.made_of,
            namespace_fields=expressions.namespace_fields,
            reads=expressions.reads,
            rollout=self.rollout,
            **own,
        )

    def _validation_plan(
        self, policy: AnyPolicy, expressions: Expressions
    ) -> ValidationPlan | None:
        if isinstance(policy, model.MutatingAdmissionPolicy):
            return None
        spec = policy.spec
        if not spec.validations and not spec.audit_annotations:
            return None
        validations = []
        for i, item in enumerate(spec.validations):
            validation = _validation(item, ("spec", "validations", i), expressions)
            if validation is not None:
                validations.append(validation)
        annotations = []
        for i, annotation in enumerate(spec.audit_annotations):
            program = expressions.program(("spec", "auditAnnotations", i, "valueExpression"))
            if program is not None:
                annotations.append((annotation.key, program))
        fail = spec.failure_policy != "Ignore"
        conditions = expressions.of_role(CONDITION)
        return ValidationPlan(
            conditions, expressions.frame, fail, self.counters, validations, annotations
        )

    def _mutation_plan(
        self, policy: AnyPolicy, expressions: Expressions
    ) -> tuple[MutationPlan | None, tuple[CompiledMutation, ...]]:
        if isinstance(policy, model.ValidatingAdmissionPolicy) or not policy.spec.mutations:
            return None, ()
        programs: list[Program] = []
        mutations: list[CompiledMutation] = []
        overlays = OverlayCompiler(self.document, expressions)
        for each in mutations_of(self.document.raw):
            patch_type = each.kind.patch_type
            if each.kind.mutator is None:
                overlay = overlays.compile(each.held, each.path)
                mutations.append(CompiledMutation(patch_type, OverlayStep(overlay), overlay))
                continue
            step = ExpressionStep(len(programs), each.kind.mutator)
            mutations.append(CompiledMutation(patch_type, step))
            program = expressions.program((*each.path, "expression"))
            if program is not None:
                programs.append(program)
        if isinstance(policy, model.Policy):
            bound = [each.overlay for each in mutations if each.overlay]
            bind(policy, bound, self.shared.kinds, overlays)
        expressions.report(missing(self.document, self.shared.kinds))
        if expressions.problems:
            return None, ()
        fail = policy.spec.failure_policy != "Ignore"
        conditions = expressions.of_role(CONDITION)
        plan = MutationPlan(conditions, expressions.frame, fail, self.counters, programs)
        return plan, tuple(mutations)

    def _quarantined(self, problems: Iterable[Problem]) -> CompiledPolicy | None:
        found = quarantined(self.document, self.counters, problems, bound=self.bound)
        if found is None or self.rollout is None:
            return found
        return replace(found, rollout=self.rollout)


def _validation(
    item: ValidationModel, path: FieldPath, expressions: Expressions
) -> PlannedValidation | None:
    """Compile one validation; None if its expression does not compile."""
    pattern = _pattern(item)
    program = expressions.program((*path, "expression"))
    message = expressions.program((*path, "messageExpression"))
    if program is None and pattern is None:
        return None
    reason = item.reason or _DEFAULT_REASON
    field = expressions.field((*path, "expression"))
    return PlannedValidation(
        program, item.expression, item.message, message, reason, pattern, field
    )


def _pattern(item: ValidationModel) -> Pattern | None:
    """Compile the pattern of a validation; its faults were reported with the document's form."""
    if not isinstance(item, model.PolicyValidation):
        return None
    if item.any_pattern is not None:
        return compile_any_pattern(list(item.any_pattern))
    return None if item.pattern is None else compile_pattern(item.pattern)


def _own_fields(
    spec: model.PolicySpec, constraints: JSONObject, shared: SharedRules
) -> dict[str, Any]:
    """Return the fields of a compiled policy that only a ``Policy`` has, or otherwise."""
    binding = Binding(actions=spec.validation_actions, param_ref=_param_ref(spec.param_ref))
    controllers = None
    if spec.pod_controllers:
        controllers = controller_rules(constraints, shared.match_rules)
    return {
        "bindings": (binding,),
        "controllers": controllers,
        "exemptions": own_exemptions(spec),
        "params": spec.params,
        "timeout_ns": int((spec.timeout_seconds or 0) * 1e9),
    }


def _param_kind(policy: AnyPolicy) -> tuple[str, str] | None:
    kind = policy.spec.param_kind
    return None if kind is None else (kind.api_version, kind.kind)


def _param_ref(ref: ParamRef | None) -> CompiledParamRef | None:
    if ref is None:
        return None
    selector = None if ref.selector is None else ref.selector.plain()
    deny = ref.parameter_not_found_action == "Deny"
    return CompiledParamRef(ref.name, ref.namespace, selector, deny)


def _binding(binding: AnyBinding, shared: SharedRules) -> Binding:
    spec = binding.spec
    matches = spec.match_resources
    rules = None if matches is None else shared.match_rules(matches.plain())
    actions: tuple[str, ...] = ("Deny",)
    if isinstance(binding, model.ValidatingAdmissionPolicyBinding):
        actions = binding.spec.validation_actions
    return Binding(binding.metadata.name, rules, actions, _param_ref(spec.param_ref))
