"""Mistakes that are not CEL: what people are told, where, and what to write instead."""

import pytest

from policyd.cel.env import Environment
from policyd.errors import CelSyntaxError, Problem
from policyd.versions import KubernetesVersion


def problems(expression: str, version: KubernetesVersion | None = None) -> tuple[Problem, ...]:
    environment = Environment.admission()
    if version is not None:
        environment = Environment.admission(version=version)
    with pytest.raises(CelSyntaxError) as raised:
        environment.check(expression)
    return raised.value.problems


# The expression, with » before the place of the mistake; words of the summary, words of the hint.
MISTAKES = [
    # Operators of other languages
    ("object.spec.replicas »= 3", "cannot contain '='", "write == to compare"),
    ("object.spec.replicas »=== 3", "no operator ===", "write =="),
    ("object.spec.replicas »!== 3", "no operator !==", "write !="),
    ("object.spec.replicas »<> 3", "no operator <>", "write !="),
    ("object.spec.replicas »=< 3", "no operator =<", "write <="),
    ("object.spec.replicas »=> 3", "no operator =>", "write >="),
    ("x »:= object.spec", "cannot assign with :=", "declare it under variables"),
    ("has(object.a) »& has(object.b)", "no operator &", "write && "),
    ("has(object.a) »| has(object.b)", "no operator |", "write || "),
    ("object.name »=~ 'a'", "no operator =~", "string.matches('PATTERN')"),
    ("object.spec»?.replicas == 1", "is .? and not ?.", "write object.spec.?replicas.orValue(…)"),
    ("object.spec.a »?? 'b'", "no operator ??", "write object.spec.?a.orValue('b')"),
    ("object.spec.a »?: 'b'", "no operator ?:", "write object.spec.?a.orValue('b')"),
    ("object.spec.a»?[0]", "is [?0] and not ?[0]", "write object.spec.a[?0].orValue(…)"),
    ("object.a »? 'b'", "needs a value for false", "write CONDITION ? VALUE : OTHER"),
    (
        "object.a in »('a', size(object.b))",
        "no list in parentheses",
        "write in ['a', size(object.b)]",
    ),
    ("'a' »!in object.list", "no operator !in", "write !('a' in object.list)"),
    ("object.a »! 1", "'!' cannot follow a value", "write !="),
    # Words
    ("has(object.a) »and has(object.b)", "no operator 'and'", "write &&"),
    ("has(object.a) »OR has(object.b)", "no operator 'OR'", "write ||"),
    ("»not has(object.a)", "no operator 'not'", "write !(…)"),
    ("»not object.spec.hostNetwork", "no operator 'not'", "write !object.spec.hostNetwork"),
    ("'a' »not in ['a', 'b']", "no operator 'not in'", "write !('a' in ['a', 'b'])"),
    (
        "object.list»[*].image.startsWith('a')",
        "no index [*]",
        "write object.list.all(l, l.image.startsWith('a')) for all items, .exists(l, …) for any, "
        ".map(l, l.image) for",
    ),
    (
        "object.list»[*].image.startsWith('registry.example.com/a/long/path')",
        "no index [*]",
        "write object.list.all(l, l.image.startsWith(…)) for all items, .exists(l, …) for any, "
        ".map(l, l.image) for",
    ),
    ("object.list.map(c»: c.a).size() > 0", "a ':' cannot follow", "write object.list.map(c, c.a)"),
    ("object.list.every(c»: c.a == 1)", "cannot follow", "write object.list.all(c, c.a == 1)"),
    ("'a' »not in object.list", "no operator 'not in'", "write !('a' in object.list)"),
    ("object.a »is null", "no operator 'is'", "write =="),
    ("object.a »is not null", "no operator 'is not'", "write !="),
    ("object.a »matches '^x'", "no operator 'matches'", "write object.a.matches('^x')"),
    ("object.a »startsWith 'x'", "no operator 'startsWith'", "write object.a.startsWith('x')"),
    ("object.a »contains 'x'", "no operator 'contains'", "'x' in object.a for a list"),
    ("1 »if object.a else 2", "no if … else", "write object.a ? 1 : 2"),
    ("»if (object.a) 1 else 2", "no 'if'", "write CONDITION ? VALUE : OTHER"),
    ("»return object.a", "no 'return'", "remove it"),
    ("»let x = 1", "no 'let'", "declare the value under variables"),
    ("»some c in object.list", "no 'some'", "write list.exists(x, CONDITION)"),
    ("»every c in object.list", "no 'every'", "write list.all(x, CONDITION)"),
    ("»exists object.a", "no 'exists'", "write has(object.a)"),
    ("»var.replicas > 1", "'var' is a word that CEL reserves", "write variables.NAME"),
    ("»namespace == 'x'", "'namespace' is a word", "write request.namespace"),
    # Lambdas, loops, pipes
    ("object.list.all(c »=> c.a != '')", "written with =>", "write object.list.all(c, c.a != '')"),
    (
        "object.list.all((c) »=> c.a != '')",
        "written with =>",
        "write object.list.all(c, c.a != '')",
    ),
    ("object.list.reduce((a, b) »=> a + b)", "written with =>", "sum(), min(), max() or join()"),
    (
        "object.list.any(»|c| c.a != '')",
        "written with | |",
        "write object.list.exists(c, c.a != '')",
    ),
    ("object.a »between 1 and 5", "no operator 'between'", "write object.a >= 1 && object.a <= 5"),
    ("object.a.»in(['b', 'c'])", "in is an operator", "write object.a in ['b', 'c']"),
    ("object.list.every(c »=> c.a)", "written with =>", "write object.list.all(c, c.a)"),
    ("object.list.some(c »-> c.a)", "written with ->", "write object.list.exists(c, c.a)"),
    (
        "!object.spec.?list.orValue([]).filter((c) »=> c.a == 1).size() > 0",
        "written with =>",
        "write object.spec.?list.orValue([]).filter(c, c.a == 1)",
    ),
    (
        "object.pods.every(p »=> p.list.some(c => c.a))",
        "written with =>",
        "write object.pods.all(p, …)",
    ),
    ("every(c »=> c.a)", "written with =>", "write list.all(c, c.a)"),
    ("[c.image »for c in object.list]", "with for", "write object.list.map(c, c.image)"),
    ("all(c.a »for c in object.list)", "with for", "write object.list.all(c, c.a)"),
    ("object.list »| length", "no pipes", "write size(object.list)"),
    ("object.a »| default('x')", "no pipes", "a.?b.orValue(…)"),
    # Paths
    ("object.list»[*].image", "no index [*]", "write object.list.all(l, l.image …) for all items"),
    ("object.containers»[].image", "no index []", ".map(c, c.image) for a list of values"),
    ("object.list»[1:3]", "no slices", "list.slice(1, 3)"),
    ("object.list».*.image", "no wildcard .*", ".exists(l, …) for any"),
    ("object.containers».0.image", "written in brackets", "write object.containers[0]"),
    ("object.labels».'app'", "not in quotes", "write object.labels['app']"),
    ("object.».name", "no operator ..", "write the whole path"),
    ("object.»in", "'in' is a keyword", "write object['in']"),
    ("»{{ object.name }}", "a template {{ … }}", "without braces: object.name"),
    ("»{{ .Values.x }} == 1", "a template {{ … }}", "render the template first"),
    ("»${object.name}", "cannot contain ${…}", "without it: object.name"),
    ("»$(NAMESPACE) == 'x'", "cannot contain $(…)", "without it: NAMESPACE"),
    ("»$.spec.replicas > 1", "cannot contain '$.'", "without it: object.spec.replicas"),
    ("»@.image == ''", "cannot contain '@'", "write the name"),
    # Strings
    ("object.name == »“web”", "typographic quotes", "write \" or '"),
    ("object.name == »‘web’", "typographic quotes", "write ' or \""),
    ("object.name == »`web`", "backquotes do not make a string", "write 'web'"),
    ("object.name == 'it'»s'", "the string ends at its second '", "write \\' for '"),
    ('object.name == "a"»b"', 'the string ends at its second "', 'write \\" for "'),
    (r"object.name.matches('^a»\.b$')", r"no escape \.", r"an r before the string: r'^a\.b$'"),
    (r"object.name.matches('»\d+')", r"no escape \d", r"write \\d"),
    ("object.name == »'web", "never closed", "write '"),
    ("'a' »'b'", "two strings follow each other", "write + or ,"),
    ("»f'{object.name}'", "no strings that begin with f'", "'pod %s'.format([x])"),
    ("'don'»t use latest'", "the string ends at its second '", "write \\' for '"),
    ('Object.metadata{»"a": 1}', "a field is not in quotes", "write a, without quotes"),
    (
        "Object.metadata.labels{»'a/b': 'c'}",
        "a field is not in quotes",
        "write {'a/b': …} in place of Object.metadata.labels{…}: a map has no type",
    ),
    (
        "Pod ${object.name} is »not allowed here",
        "this is a text",
        "write 'Pod ' + string(object.name) + ' is not allowed here'",
    ),
    (
        "»Pods must have {{ object.name }}",
        "this is a text",
        "write 'Pods must have ' + string(object.name)",
    ),
    (".spec.containers»[].image", "no index []", "write object.spec.containers.all(c, c.image"),
    # Numbers
    ("object.memory > »5Gi", "5Gi is not a number", "write quantity('5Gi')"),
    ("object.age > »2d", "2d is not a number", "write duration('48h')"),
    ("object.age > »30s", "30s is not a number", "write duration('30s')"),
    ("object.version == »1.2.3", "1.2.3 is not a number", "semver('1.2.3') to compare"),
    ("object.ip == »10.0.0.1", "10.0.0.1 is not a number", "ip('10.0.0.1') to compare"),
    # Signs that are missing or too many
    ("object.a == 1»;", "cannot contain ';'", "combine conditions with &&"),
    ("object.a == 1 »# why", "cannot contain '#'", "write comments after //"),
    ("object.a == 1 »/* why */", "no comments /* */", "write // up to"),
    ("size(object.a»,)", "',' before ')'", "remove the ','"),
    ("object.a == 1»,", "cannot contain ','", "combine conditions with &&"),
    ("object.a == 1 »&&", "ends after &&", "write what follows &&"),
    ("»&& object.a", "begins with &&", "or remove it"),
    ("object.a && »|| object.b", "&& and || follow each other", "write a value between them"),
    ("»(object.a && object.b", "this ( is never closed", "write the missing )"),
    ("object.a && object.b»)", "this ) closes nothing", "remove it"),
    ("object.list[0»)", ") cannot close [", "write ] before it"),
    ("object.a »object.b", "missing between a and object", "write && or ||"),
    ("object.a»\u00a0== 1", "invisible character U+00A0", "write a blank"),
    ("object.a »≤ 1", "the sign ≤", "write <="),
    ("»", "there is no expression", "write one"),
    # Macros
    ("has(object.spec»['a'])", "has() takes the selection of a field", "write 'a' in object.spec"),
    ("has(object.list»[0])", "has() takes", "write size(object.list) > 0"),
    ("has(»object)", "has() takes", "write object != null"),
    ("has(object».?a)", "has() takes", "write object.?a.hasValue()"),
    ("has(object.a »== 1)", "has() takes", "has(a.b) && a.b == 1"),
    ("object.list.all(c».a, true)", "is the name of its variable", "write a name"),
]


@pytest.mark.parametrize(("marked", "summary", "hint"), MISTAKES)
def test_a_mistake_is_named_with_its_place_and_remedy(marked: str, summary: str, hint: str) -> None:
    text = marked.replace("»", "")
    (first, *_) = problems(text)
    assert summary in first.summary
    assert hint in first.hint
    assert first.column == marked.index("»") + 1
    assert first.text == f"{first.summary} ({first.message})"


def test_each_kind_of_mistake_is_reported_once() -> None:
    found = problems("object.a = 1 and object.b = 2 and not object.c")
    assert [(each.column, each.hint) for each in found] == [
        (10, "write == to compare"),
        (14, "write &&"),
        (35, "write !object.c"),
    ]


def test_what_follows_a_quote_inside_of_a_string_is_no_mistake_of_its_own() -> None:
    (found,) = problems("object.a == 'don't use latest' && object.b == 'x'")
    assert found.summary == "the string ends at its second '"


def test_the_text_of_kubernetes_keeps_every_message() -> None:
    with pytest.raises(CelSyntaxError) as raised:
        Environment.admission().check("a = b")
    assert raised.value.text == (
        "compilation failed: ERROR: <input>:1:3: Syntax error: token recognition error at: '= '\n"
        " | a = b\n | ..^\n"
        "ERROR: <input>:1:5: Syntax error: extraneous input 'b' expecting <EOF>\n"
        " | a = b\n | ....^"
    )


def test_names_in_backquotes_name_their_version() -> None:
    (found,) = problems("object.`a-b` == 1", KubernetesVersion(1, 36))
    assert (found.summary, found.hint) == (
        "names in backquotes need Kubernetes 1.37",
        "write ['a-b'] in place of .`…`",
    )
