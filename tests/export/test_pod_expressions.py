"""How expressions about a Pod are written for the template that it comes from."""

import pytest

from policyd.export.controllers import TEMPLATES, with_pod
from policyd.export.expressions.occurrences import Untranslatable
from policyd.versions import NEWEST

TEMPLATE, CRON_JOB = TEMPLATES
OLD = "(oldObject == null ? oldObject : oldObject.spec.template)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object.spec.hostNetwork", "object.spec.template.spec.hostNetwork"),
        ("object.?spec.?a", "object.spec.template.?spec.?a"),
        ("has(object.spec)", "has(object.spec.template.spec)"),
        ("has(oldObject.spec)", f"has({OLD}.spec)"),
        ("oldObject.?spec", "oldObject.?spec.?template.?spec"),
        ("oldObject[?'spec']", f"{OLD}[?'spec']"),
        ("oldObject.spec", "oldObject.spec.template.spec"),
        ("object == null || null != oldObject", "object == null || null != oldObject"),
        ("object.metadata.labels.a", "object.spec.template.?metadata.orValue({}).labels.a"),
        ("object.?metadata.?labels", "object.spec.template.?metadata.?labels"),
        ("object.kind", "dyn({'kind': 'Pod'}).kind"),
        (
            "object.metadata.namespace",
            "dyn({'metadata': {'namespace': dyn(request.namespace)}}).metadata.namespace",
        ),
        (
            "(object != null ? object : oldObject).spec",
            "(object != null ? object.spec.template : oldObject.spec.template).spec",
        ),
        ("[1].exists(object, object > 0)", "[1].exists(object, object > 0)"),
        ("request.object", "request.object"),
    ],
)
def test_the_pod_is_read_in_its_template(text: str, expected: str) -> None:
    assert with_pod(text, TEMPLATE, NEWEST) == expected


def test_a_cron_job_has_it_in_its_job() -> None:
    expected = "object.spec.jobTemplate.spec.template.spec.a"
    assert with_pod("object.spec.a", CRON_JOB, NEWEST) == expected


def test_a_macro_that_hides_request_is_refused() -> None:
    with pytest.raises(Untranslatable, match="the name request"):
        with_pod("[1].exists(request, object.metadata.namespace == 'a')", TEMPLATE, NEWEST)
    assert with_pod("[1].exists(request, object.spec.a == 1)", TEMPLATE, NEWEST)
