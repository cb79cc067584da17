"""Documents, and the mistakes in them that lint answers. No tests here."""

POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: m}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  failurePolicy: Fail
  validations:
  - expression: object.metadata.name != 'x'
    message: the name x is taken
"""
VALIDATING = POLICY.replace("policyd.dev/v1", "admissionregistration.k8s.io/v1").replace(
    "kind: Policy", "kind: ValidatingAdmissionPolicy"
)
SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: s}
policies: [policy.yaml]
cases:
- name: a
  request:
    object: {apiVersion: v1, kind: Pod, metadata: {name: web}}
  expect: {allowed: true}
"""
EXCEPTION = """\
apiVersion: policyd.dev/v1
kind: PolicyException
metadata: {name: e}
spec:
  policies: [{name: m}]
  reason: legacy
  resources:
  - {kinds: [Pod], namespaces: [a]}
"""
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec:
  policyName: m
  validationActions: [Deny]
"""
ROLLOUT = """\
apiVersion: policyd.dev/v1
kind: Rollout
metadata: {name: r}
spec:
  policyName: m
  enforce: {percent: 5}
"""
POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n"
)
FAIL = "  failurePolicy: Fail\n"
MESSAGE = "message: the name x is taken"
PARAM_KIND = "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"

# A document, what is replaced in it by what, the place that is named, and the remedy.
DOCUMENTS = [
    (POLICY, "matchConstraints:", "matchConstraint:", "5:3", "did you mean matchConstraints?"),
    (POLICY, "resourceRules:", "rules:", "6:5", "write resourceRules"),
    (POLICY, "{name: m}", "{name: My_Policy}", "3:18", "write my-policy"),
    (POLICY, "failurePolicy: Fail", "failurePolicy: Deny", "8:18", "write Fail"),
    (POLICY, "failurePolicy: Fail", "failurePolicy: open", "8:18", "write Ignore"),
    (POLICY, FAIL, "  matchPolicy: Exact\n", "8:3", "move it to matchConstraints"),
    (POLICY, FAIL, "  validationActions: [Warning]\n", "8:23", "write Warn"),
    (POLICY, FAIL, "  validationActions: [Dney]\n", "8:23", "did you mean Deny?"),
    (POLICY, "[CREATE, UPDATE]", "[CREAT]", "7:57", "did you mean CREATE?"),
    (POLICY, FAIL, "  reinvocationPolicy: Always\n", "8:23", "write IfNeeded"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    reason: Unauthorized", "12:13", "write Forbidden"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    reason: Forbiden", "12:13", "did you mean Forbidden?"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    reason: BadRequest", "12:13", "write Invalid"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    reason: TooLarge", "12:13", "write RequestEntityTooLarge"),
    (POLICY, FAIL, f"{PARAM_KIND}  paramRef: {{name: a, parameterNotFoundAction: Ignore}}\n",
     "9:48", "write Allow"),
    (POLICY, FAIL, PARAM_KIND.replace("ConfigMap", "configmap"), "8:37", "write ConfigMap"),
    (POLICY, FAIL, PARAM_KIND.replace("ConfigMap", "ConfigMaps"), "8:37", "write ConfigMap"),
    (POLICY, FAIL, PARAM_KIND.replace("ConfigMap", "Confgmap"), "8:37", "did you mean ConfigMap?"),
    (POLICY, FAIL, PARAM_KIND.replace("ConfigMap", "Ingress"), "8:27", "write networking.k8s.io/v1"),
    (POLICY, FAIL, PARAM_KIND.replace("v1", "core/v1"), "8:27", "write v1"),
    (POLICY, FAIL, "  validationActions: Deny\n", "8:22", "write [Deny]"),
    (POLICY, "[CREATE, UPDATE]", "'CREATE,UPDATE'", "7:57", "write [CREATE, UPDATE]"),
    (POLICY, "[CREATE, UPDATE]", "'*'", "7:57", 'write ["*"]'),
    (POLICY, FAIL, "  validationActions: [Deny, Warn]\n", "8:22", "remove Warn"),
    (POLICY, FAIL, "  timeoutSeconds: 60\n", "8:19", "Invalid value: 60: must be more than 0"),
    (POLICY, FAIL, "  params: [a]\n", "8:11", "write NAME: VALUE"),
    (POLICY, FAIL, "  variables: [{name: my-team, expression: '1'}]\n", "8:22", "write my_team"),
    (POLICY, FAIL, "  rollout: {percent: 25}\n", "8:13", "write enforce: {percent: …}"),
    (POLICY, "apiVersions: [v1], ", "", "7:7", "write apiVersions: [v1]"),
    (POLICY, 'apiGroups: [""], ', "", "7:7", 'write apiGroups: [""], the core group'),
    (POLICY, "operations: [CREATE, UPDATE], ", "", "7:7", "write operations: [CREATE, UPDATE]"),
    (POLICY, ", resources: [pods]", "", "7:7", "write plurals in lower case: resources: "),
    (POLICY, FAIL, "  objectSelector: {}\n", "8:3", "move it to matchConstraints"),
    (POLICY, "  resourceRules:", "  objectSelector: {env: a}\n    resourceRules:", "6:22",
     "write matchLabels: {env: …}"),
    (POLICY, FAIL, "  mutations: [{patchType: JSONPatch, jsonPatch: [{op: add}]}]\n", "8:49",
     "write expression: '[JSONPatch{op: \"add\""),
    (POLICY, FAIL, "  mutations: [{patchType: MergePatch}]\n", "8:27", "write Overlay"),
    (POLICY, "  resourceRules:", "  objectSelector: {matchLabels: {y: a}}\n    resourceRules:", "6:36",
     'matchLabels.y: YAML reads y as true [unquoted-value]'),
    (POLICY, "  resourceRules:", "  objectSelector: {matchLabels: {1.10: a}}\n    resourceRules:",
     "6:36", 'write "1.10", in quotes'),
    (POLICY, "  resourceRules:", "  objectSelector: {matchLabels: {no: {}}}\n    resourceRules:", "6:40",
     "matchLabels.no: expected a string, got an object"),
    (POLICY, "{name: m}", "{name: m, labels: {on: a b}}", "3:34", "labels.on: Invalid value"),
    (POLICY, "{name: m}", "{name: m, labels: {on: 1}}", "3:30", 'write "on", in quotes'),
    (POLICY, "{name: m}", "{name: m, labels: {y: a, on: b}}", "3:36", "put on in quotes"),
    (POLICY, FAIL, "  off: Fail\n", "8:3", 'unknown field "off"'),
    (SUITE, "name: web", "name: web, labels: {y: a}", "8:72", 'write "y", in quotes'),
    (POLICY, "the name x is taken", "|\n      one\n      two", "12:7", "write >- instead of |"),
    (SUITE, "[policy.yaml]", "policy.yaml", "4:11", "write [policy.yaml]"),
    (SUITE, "object: {", "manifest: {", "8:5", "write object"),
    (SUITE, "cases:", "tests:", "5:1", "write cases"),
    (EXCEPTION, "[{name: m}]", "[m]", "5:14", 'write {name: "m"}'),
    (EXCEPTION, "policies: [{name: m}]", "policyName: m", "5:3", "write policies: [{name: …}]"),
    (EXCEPTION, "reason: legacy", "match: {}", "6:3", "write resources, a list of {kinds, "),
    (EXCEPTION, "[Pod]", "[pods]", "8:14", "write Pod"),
    (EXCEPTION, "[Pod]", "[apps/deployment]", "8:14", "write apps/Deployment"),
    (POLICY, FAIL, "  exceptions: [{name: e, reason: r, validations: [length]}]\n", "8:51",
     "write name: length in it"),
    (ROLLOUT, "policyName: m", "policyName: mm", "5:15", "did you mean m?"),
    (EXCEPTION, "[{name: m}]", "[{name: mm}]", "5:21", "did you mean m?"),
    (BINDING, "  policyName: m", "  policyName: m\n  namespaceSelector: {}", "6:3",
     "move it to matchResources"),
    (POLICY, "object.metadata.name != 'x'", "authorizer.check('get', 'pods')", "10:33",
     "write authorizer.group('apps').resource('deployments').check('get').allowed()"),
    (POLICY, "object.metadata.name != 'x'", "\"'${object.metadata.name}' != 'x'\"", "10:18",
     "nothing is replaced in a string: write object.metadata.name without quotes"),
    (BINDING, "\n  validationActions: [Deny]", "", "5:3", "write validationActions: [Deny]"),
    (POLICY, "- expression: object", "  expression: object", "10:5",
     "write '- ' before its first field: - expression: …"),
    (POLICY, "  validations:", "  auditAnnotations: {images: a}\n  validations:", "9:21",
     "write a list of auditAnnotations: - {key: images, valueExpression: …}"),
    (POLICY, FAIL, "  auditAnnotations: [{key: a, value: b}]\n", "8:31", "write valueExpression"),
    (POLICY, "    resourceRules:\n    -", "  -", "6:3", "write resourceRules: before the list"),
    (POLICY, "[CREATE, UPDATE]", "['create,UPDATE']", "7:58", "write CREATE, UPDATE, each as"),
    (POLICY, "resources: [pods]", "kinds: [Pod]", "7:74", "write resources, the plurals"),
    (POLICY, "    resourceRules:", "    objectSelector: app=web,tier!=db\n    resourceRules:", "6:21",
     "write {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: NotIn, "),
    (POLICY, "    resourceRules:", "    excludedNamespaces: [a]\n    resourceRules:", "6:5",
     "key: kubernetes.io/metadata.name, operator: NotIn"),
    (POLICY, "expression: object.metadata.name != 'x'", "pattern: 'spec.hostNetwork: false'", "10:15",
     "write {spec: {hostNetwork: false}}"),
    (POLICY, "expression: object.metadata.name != 'x'", "anyPattern: {spec: {a: b}}", "10:17",
     "write '- ' before its first field: - spec: …"),
    (POLICY, FAIL, "  mutations: [{overlay: {metadata: {}}}]\n", "8:15", "write patchType: Overlay"),
    (POLICY, FAIL, "  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {spec: {}}}]\n",
     "8:68", "write expression: 'Object{…}', or in a Policy an Overlay"),
    (POLICY, FAIL, "  paramRef: {name: a, parameterNotFoundAction: Deny}\n", "5:3",
     "write paramKind, such as {apiVersion: v1, kind: ConfigMap}"),
    (POLICY, FAIL, "  exceptions: [{name: a, reason: b, resources: []}]\n", "8:37",
     "write namespaces and names here"),
    (POLICY, "  validations:", "validations:", "9:1", "indent it: it belongs below spec"),
    (POLICY, "metadata: {name: m}", "name: m", "3:1", "indent it: it belongs below metadata"),
    (POLICY, "    resourceRules:",
     "    objectSelector: {matchLabels: {a: 'b-*'}}\n    resourceRules:", "6:40",
     "labels have no wildcards: write matchExpressions, operator: In and each value"),
    (POLICY, "    resourceRules:",
     "    objectSelector: {matchExpressions: [{key: a, operator: In}]}\n    resourceRules:", "6:41",
     "write values: [VALUE], or operator: Exists for any value"),
    (POLICY, "    resourceRules:",
     "    objectSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}\n"
     "    resourceRules:", "6:76", "write operator: In"),
    (POLICY, "    resourceRules:",
     "    objectSelector: {matchExpressions: [{key: a, operator: Equals, values: [b]}]}\n"
     "    resourceRules:", "6:60", "write In"),
    (POLICY, FAIL, "  matchConditions: [{name: not me, expression: 'true'}]\n", "8:28",
     "write not-me"),
    (POLICY, FAIL, "  timeoutSeconds: 10s\n", "8:19", "write 10, without s and quotes"),
    (POLICY, FAIL, "  mutations:\n  - patchType: Overlay\n    overlay: |\n      spec: {}\n", "11:7",
     "write its fields without '|' and quotes"),
    (POLICY, FAIL, "  mutations: [{patchType: Overlay, overlay: {'+(spec': {}}}]\n", "8:47",
     "the marks are (key)"),
    (POLICY, FAIL, "  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "
     "'[{\"op\": \"add\", \"path\": \"/a\", \"value\": 1}]'}}]\n", "8:101",
     "write JSONPatch{op: 'add', path: …, value: …} in place of the map"),
    (POLICY, "expression: object.metadata.name != 'x'", "pattern: {metadata: {name: '!= a'}}", "10:33",
     "write !a"),
    (POLICY, "object.metadata.name != 'x'", "object.spec.containers.all(item, iten.name != '')", "10:50",
     "did you mean item?"),
    (POLICY, "object.metadata.name != 'x'", "object.metadata.labels.exists('a')", "10:46",
     "write 'a' in object.metadata.labels"),
    (POLICY, FAIL, "  exceptions: [{name: [a], reason: b, namespaces: [c]}]\n", "8:23",
     "write a, without [ ] and '- '"),
    (POLICY, FAIL, "  exceptions: [{name: a, reason: b, validations: [0]}]\n", "8:51",
     "write the name of a validation; only a PolicyException takes indexes"),
    (POLICY, FAIL, "  paramKind: v1/ConfigMap\n", "8:14", "write {apiVersion: v1, kind: ConfigMap}"),
    (POLICY, FAIL, "  paramKind: {group: '', kind: ConfigMap}\n", "8:15",
     "write apiVersion: GROUP/VERSION, or v1 for the core group"),
    (POLICY, FAIL, "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
     "  paramRef: {name: a, parameterNotFoundAction: Fail}\n", "9:48", "write Deny"),
    (BINDING, "policyName: m", "policyName: m\n  # the kind needs none", "5:15",
     "remove it: a Policy has no binding"),
    (ROLLOUT, "policyName: m", "policyName: mm", "5:15", "did you mean m?"),
    (ROLLOUT, "spec:\n  policyName: m\n  enforce", "policyName: m\nenforce", "4:1", "indent it: "),
    (SUITE, "policies: [policy.yaml]", "spec: {policies: [policy.yaml]}", "4:1",
     "write cases and policies beside metadata"),
    (SUITE, "  request:", "  request:\n    resource: pods", "8:15",
     'write {group: "", version: v1, resource: pods}'),
    (POLICY, "  validations:", "\u00a0\u00a0validations:", "9:1",
     "write blanks for the invisible character U+00A0"),
    (POLICY, "    message", "    \u200bmessage", "11:5", "the invisible character U+200B"),
    (EXCEPTION, "{name: m}", "{name: m, validations: 0}", "5:37", "write [0]"),
    (EXCEPTION, "  reason", "  subjects: [alice]\n  reason", "6:14",
     'write {kind: User, name: "alice"}'),
    (EXCEPTION, "  reason", "  subjects: ['system:serviceaccount:ci:deployer']\n  reason", "6:15",
     "write {kind: ServiceAccount, namespace: ci, name: deployer}"),
    (EXCEPTION, "  reason", "  subjects: [{kind: ServiceAccount, name: 'ci:a'}]\n  reason", "6:14",
     "write namespace: ci, name: a"),
    (SUITE, "object: {apiVersion: v1, kind: Pod, metadata: {name: web}}", "object: pod.yaml", "8:13",
     "write objectFile: pod.yaml"),
    (SUITE, "policies: [policy.yaml]", "params: limits.yaml", "4:9", "write paramsFile: limits.yaml"),
    (SUITE, "{allowed: true}", "deny", "9:11", "write {allowed: false}"),
    (SUITE, "expect:", "table: [{spec.replicas: 3}]\n  expect:", "9:12", "write set: {spec.replicas"),
    (SUITE, "  expect:", "    userInfo: bob\n  expect:", "9:15", 'write {username: "bob"}'),
    (SUITE, "  expect:", "    namespaceLabels: env=prod\n  expect:", "9:22", "write {env: prod}"),
    (SUITE, "- name: a\n  request", "  a:\n    request", "6:3", "write a list of cases: - {name: a, …}"),
    (POLICY, FAIL, "  validationActions: Enforce\n", "8:22", "write [Deny]"),
    (POLICY, FAIL, "  validationActions: warn, audit\n", "8:22", "write [Warn, Audit]"),
    (POLICY, "[CREATE, UPDATE]", "create", "7:56", "write [CREATE]"),
    (POLICY, FAIL, "  mutations: [{patchType: StrategicMerge}]\n", "8:27", "write Overlay"),
    (POLICY, FAIL, "  excludeNamespaces: [a]\n", "8:3", "operator: NotIn, values: […]}]}}"),
    (POLICY, FAIL, "  namespaces: [a]\n", "8:3", "write matchConstraints: {namespaceSelector: "),
    (POLICY, FAIL, "  operations: [CREATE]\n", "8:3", "move it to matchConstraints.resourceRules"),
    (POLICY, FAIL, "  expression: 'true'\n", "8:3", "move it to validations: - {expression: …, "),
    (POLICY, FAIL, "  severity: high\n", "8:3", "metadata: {annotations: {policyd.dev/severity: …}}"),
    (POLICY, FAIL, "  name: a\n", "8:3", "move it to metadata"),
    (POLICY, FAIL, "  action: deny\n", "8:3", "write validationActions: [Deny], [Warn] or "),
    (POLICY, FAIL, "  rollout: {enforce: {namespaces: [a]}}\n", "8:23",
     "write namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: …}}"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    validationActions: [Warn]", "12:5", "move it to spec"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    if: 'true'", "12:5", "write it into the expression: !("),
    (EXCEPTION, "  reason", "  namespaces: [a]\n  reason", "6:3", "move it to resources"),
    (EXCEPTION, "  reason", "  kinds: [Pod]\n  reason", "6:3", "move it to resources"),
    (BINDING, "  policyName", "  operations: [CREATE]\n  policyName", "5:3",
     "move it to matchResources.resourceRules"),
    (ROLLOUT, "enforce: {percent: 5}", "enforce: {until: 2027-01-01T00:00:00Z}", "6:13",
     "move it to spec"),
    (SUITE, "  expect:", "    allowed: true\n  expect:", "9:5", "move it to expect"),
    (SUITE, "  expect:", "  userInfo: {}\n  expect:", "9:3", "move it to request"),
    (POLICY, MESSAGE, "messageExpression: Pods must have a label", "11:24",
     "write 'Pods must have a label', in quotes, or move it to message"),
    (POLICY, MESSAGE, "messageExpression: images must not use latest", "11:24",
     "write 'images must not use latest', in quotes, or move it to message"),
    (POLICY, MESSAGE, "messageExpression: no latest", "11:27", "quotes around a text"),
    (POLICY, "object.metadata.name != 'x'", "object.metadata.name == my good name", "10:41",
     "write quotes around it"),
    (POLICY, "object.metadata.name != 'x'", "object.spec.image != 'x'", "10:28",
     "write object.spec.containers.all(x, x.image …)"),
    (POLICY, "object.metadata.name != 'x'", "object.spec.labels == {}", "10:28",
     "did you mean object.metadata.labels?"),
    (POLICY, "object.metadata.name != 'x'", "object.spec.template.spec.hostname != 'x'", "10:28",
     "write object.spec.containers and the like: a Pod has no template"),
    (POLICY, "object.metadata.name != 'x'", "object.spec.priority", "10:17",
     "write a comparison: object.spec.priority > 0"),
    (POLICY, "object.metadata.name != 'x'", "object.spec.hostNetwork", "10:17",
     "write a comparison: object.spec.hostNetwork == true"),
    (POLICY, "object.metadata.name != 'x'", "object.metadata.app != 'x'", "10:32",
     "write object.metadata.labels['app'] for a label"),
    (POLICY, "object.metadata.name != 'x'",
     "object.spec.containers.all(c, c.resources.memory != '')", "10:58",
     "write c.resources.limits.memory, or c.resources.requests.memory"),
    (POLICY, "object.metadata.name != 'x'", "object.metadata.labels.all(l, l.value != 'x')", "10:48",
     "l is a key: write l == …, and object.metadata.labels[l] for its value"),
    (POLICY, "object.metadata.name != 'x'", "object.metadata.labels.has('x')", "10:43",
     "write 'x' in object.metadata.labels"),
    (POLICY, "object.metadata.name != 'x'", "object.metadata.labels.x.exists()", "10:48",
     "write has(object.metadata.labels.x) for a field"),
    *((POLICY, FAIL, f"  mutations: [{{patchType: Overlay, overlay: {overlay}}}]\n", place, remedy)
      for overlay, place, remedy in [
          ("{spec: {template: {}}}", "8:53", "a Pod has no template: write here what is below "),
          ("{spec: {image: a}}", "8:53", "write it below containers[]"),
          ("{spec: {runAsUser: 1}}", "8:53", "write it below securityContext"),
          ("{spec: {labels: {}}}", "8:53", "write it below metadata of the object"),
          ("{spec: {foo: 1}}", "8:53", "known fields: activeDeadlineSeconds, affinity, "),
          ("{metadata: {team: a}}", "8:57", "write it below labels or annotations; known fields"),
      ]),
    (POLICY, FAIL, "  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "
     "\"{'metadata': {'labels': {}}}\"}}]\n", "8:81", "write Object{metadata: Object.metadata{…}}"),
    (POLICY, FAIL, "  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "
     "\"Object{metadata: {'labels': {}}}\"}}]\n", "8:109",
     "write Object.metadata{…} in place of the map around it"),
    (POLICY, FAIL, "  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "
     "\"[JSONPatch{op: 'add', path: '/metadata/labels', value: 'a'}]\"}}]\n", "8:118",
     "write a map: {'NAME': VALUE}"),
    (SUITE, "apiVersion: v1, kind: Pod", "kind: Pod", "8:13", "write apiVersion: v1 for a Pod"),
    (SUITE, "apiVersion: v1, kind: Pod", "apiVersion: v1", "8:13", "write kind, such as"),
    (SUITE, "  expect:", "  table: [{name: b, request: {oldObject: {kind: Pod}}}]\n  expect:", "9:42",
     "write apiVersion: v1 for a Pod"),
    (POLICY, "resources: [pods]", "resources: [pods], namespaces: [a]", "7:93",
     "key: kubernetes.io/metadata.name, operator: In, values: […]}]}"),
    (POLICY, "resources: [pods]", "kinds: [Deployment]", "7:74", "as in [pods] or [deployments]"),
    (POLICY, FAIL, "  matchConditions: request.namespace != 'a'\n", "8:20",
     "write [{name: NAME, expression: …}]"),
    (POLICY, FAIL, "  variables: object.spec\n", "8:14", "write [{name: NAME, expression: …}]"),
    (EXCEPTION, "[{name: m}]", "m", "5:13", 'write [{name: "m"}]'),
    (POLICY, FAIL, "  podControllers: [Deployment]\n", "8:19",
     "write true, for every kind of Pod controller; to choose some, add matchConditions: "),
    (POLICY, FAIL, f"{PARAM_KIND}  paramRef: {{kind: ConfigMap, name: a}}\n", "9:14",
     "write paramKind: {apiVersion: v1, kind: ConfigMap} beside paramRef"),
    (POLICY, "resources: [pods]", "resources: [pods], kind: Pod", "7:93", "write resources, the "),
    (POLICY, MESSAGE, f"{MESSAGE}\n    kind: Pod", "12:5", "known fields: "),
    (POLICY.replace(FAIL, "  params: {type: object, properties: {max: {}}}\n").replace("m}", "o}"),
     "object.metadata.name != 'x'", "object.metadata.name != params.max", "10:47",
     "write the values below params, such as max: 5: they are constants, not a schema"),
    (SUITE, "cases:", "results: []\ncases:", "5:1", "each with request: {objectFile: …} and expect"),
    (SUITE, "cases:", "resources: [pod.yaml]\ncases:", "5:1", "write request: {objectFile: …} in "),
    (SUITE, "  expect:", "  params: {max: 2}\n  expect:", "9:11",
     "write a list of objects that a paramRef selects; params of a Policy are constants of it"),
    (SUITE, "{allowed: true}", "{warnings: true}", "9:22", "write a list of strings, such as [TEXT]"),
    (SUITE, "  expect:", "  table: [{name: b, image: a}]\n  expect:", "9:21",
     "write set: {PATH: VALUE} for what differs in the object; known fields"),
    (SUITE, "  expect:", "  webhook: both\n  expect:", "9:12", "remove it: both is the default"),
    (VALIDATING, "  failurePolicy: Fail", "  validationFailureAction: Enforce", "8:3",
     "write validationActions: [Deny] in spec of the binding"),
    (POLICY, "matchConstraints:", "matchResources:", "5:3", "write matchConstraints"),
    (POLICY, "    resourceRules:", "    objectSelector: {matchAnnotations: {a: b}}\n    resourceRules:",
     "6:22", "write matchConditions with object.metadata.annotations: a selector sees labels only"),
    (POLICY, "    resourceRules:", "    namespaceSelector: {matchNames: [a]}\n    resourceRules:",
     "6:25", "write matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: […]}]"),
    (POLICY, "resources: [pods]", "resources: [pods], resourceNames: ['a-*']", "7:110",
     "names have no wildcards here: write matchConditions with request.name.startsWith('a-')"),
    (POLICY.replace("{name: m}", "{name: o}"), "kind: Policy", "kind: PolicyBinding", "2:7",
     "remove it: a Policy has no binding"),
    (POLICY, "expression: object.metadata.name != 'x'", "pattern: {metadata: {name: '^[a-z]+$'}}", "10:33",
     "write expression with matches(): a pattern has * and ? only"),
    (POLICY, "expression: object.metadata.name != 'x'", "pattern: {metadata: {name: '/[a-z]+/'}}", "10:33",
     "write expression with matches(): a pattern has * and ? only"),
    (POLICY, "object.metadata.name != 'x'", "object.spec.containers.all(c, c != 'a')", "10:49",
     "write c.name != 'a'"),
    (SUITE, "    object:", "    apiVersion: admission.k8s.io/v1\n    object:", "8:5",
     "write review, or reviewFile, for a whole AdmissionReview"),
    (SUITE, "  request:", "  request: {request: {object: {}}}\n  idempotent: true\n  old:", "7:13",
     "write review, or reviewFile, for a whole AdmissionReview"),
    (SUITE, "  expect:", "    namespaceObject: {}\n  expect:", "9:5", "write namespaceLabels: {KEY: VALUE}"),
    (SUITE, "{allowed: true}", "{mutated: true}", "9:12", "write patched, the whole object, or patch"),
    (SUITE, "{allowed: true}", "{object: {}}", "9:12", "write patched, the whole object, or patch"),
    (POLICY, FAIL, "  mutations: [{patchType: Overlay, overlay: {spec: {containers: "
     "[{name: a, $patch: merge, tty: true}]}}}]\n", "8:84", "remove it: maps and items are merged"),
    (VALIDATING, "  failurePolicy: Fail", "  parameters: {a: b}", "8:3",
     "write paramKind, and paramRef in spec of the binding"),
    *((POLICY, MESSAGE, f"{MESSAGE}\n    messageExpression: \"'pod {text} is bad'\"", "12:25", remedy)
      for text, remedy in [
          ("${object.metadata.name}", "write 'pod ' + string(object.metadata.name) + ' is bad'"),
          ("{{object.metadata.name}}", "write 'pod ' + string(object.metadata.name) + ' is bad'"),
          ("{object.metadata.name}", "write 'pod ' + string(object.metadata.name) + ' is bad'"),
          ("%s", "write 'pod %s is bad'.format([…])"),
      ]),
    *((POLICY, "expression: object.metadata.name != 'x'", f"pattern: {{spec: {{priority: '{text}'}}}}",
       "10:33", remedy)
      for text, remedy in [
          (">=2 and <=5", 'write ">=2 & <=5"'),
          ("<2 or >5", 'write "<2 | >5"'),
          (">=2 && <=5", 'write ">=2 & <=5"'),
          ("<2, >5", 'write "<2 | >5"'),
      ]),
    (POLICY, "expression: object.metadata.name != 'x'", "pattern: {metadata: {name: 'a*, b*'}}", "10:33",
     'write "a* | b*"'),
    *((POLICY, FAIL, "  mutations: [{patchType: JSONPatch, jsonPatch: {expression: \"[JSONPatch{"
       f"op: 'add', path: '{path}', value: 'y'}}]\"}}}}]\n", "8:91", remedy)
      for path, remedy in [
          ("/spec/containers[0]/image", "write /spec/containers/0: every step is behind a slash"),
          ("/spec.hostname", "write /spec/hostname: every step is behind a slash"),
      ]),
    (EXCEPTION, "  reason", "  until: 31.03.2027\n  reason", "6:10", "write 2027-03-31"),
    (EXCEPTION, "  reason", "  until: 2027/3/1\n  reason", "6:10", "write 2027-03-01"),
    (EXCEPTION, "{name: m}", "{name: m, validations: [7]}", "5:38", "the only index is 0"),
    (EXCEPTION, "  reason", "  subjects: [{kind: ServiceAccount, name: a}]\n  reason", "6:14",
     "write namespace: …"),
    (SUITE, "  request:", "  request:\n    operation: DELETE", "9:5", "write oldObject for what is deleted"),
    (SUITE, "  expect:", "    operation: CREATE\n    oldObject: {apiVersion: v1, kind: Pod}\n  expect:",
     "10:5", "write operation: UPDATE"),
    (POLICY, FAIL, "  reads: [{name: a, apiVersion: v1, kind: Pod, namespace: all}]\n", "8:59",
     "write any, for all namespaces"),
    (POLICY.replace(FAIL, f"{PARAM_KIND}  paramRef: {{name: a, parameterNotFoundAction: Deny}}\n")
     .replace("{name: m}", "{name: o}"), "object.metadata.name != 'x'",
     "object.metadata.name != params.limit", "11:47", "write params.data.limit; known fields: "),
]  # fmt: skip
