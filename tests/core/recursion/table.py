"""What bounds each recursive function: reviewed by hand. The keys are groups of functions that call
each other, named by what they have in common.
"""

from typing import NamedTuple

# The bounds. Whatever walks over values without a limit of its own asks the C stack for room.
STACK = "asks c_stack.descend() for room at each container"
EXPRESSION = "the tree of an expression (1,000 levels); variables ask c_stack.has_room()"
MADE = "values that expressions make (cel/plan/nesting.py: 500 levels)"
POLICY = "a pattern or overlay of a policy (100 levels), a schema (200 levels)"
LOOP = "calls itself later, from the event loop"
DEEP = "an expression or a document (1,000 levels), within deep_recursion()"


class Bound(NamedTuple):
    """A group of functions, as a pattern of their names, and its bound."""

    functions: str
    bound: str


COMPILED = (
    Bound(r"eval\.access:_as_map", STACK),
    Bound(r"eval\.(access|calls|construct|folds|fused|logic|program|tracing):.+", EXPRESSION),
    Bound(r"eval\.functions:_traversal", "1,000 levels: deeper ones cost 1 unit"),
    Bound(r"json\.sizes:(counted|members_bytes)", "1,000 levels: deeper is too large"),
    Bound(r"json\.equality:same", "1,000 levels: PatchError"),
    Bound(r"json\.sendable:problem_of", "250 levels: it cannot be sent"),
    Bound(r"json\.tree:_?normal(_dict|_list)?", "1,002 levels: the review is unreadable"),
    Bound(r"json\.tree:contains", STACK),
    Bound(r"lib\.string_format:format_(list|literal|map|string)", "1,000 levels: an error"),
    Bound(r"patch\.containers:equal(_members)?", STACK),
    Bound(r"patch\.diff:Differ\.\w+", "1,000 levels: PatchError"),
    Bound(r"patch\.json_patch:is_within", "1,000 levels: too deep"),
    Bound(r"pattern\.\w+:\w+\.(test|explain|fits|test_item)|pattern\.leaves:has_item", POLICY),
    Bound(r"plan\.mutators:_Configured\.\w+", MADE),
    Bound(r"plan\.mutated_tree:EditedObject\.\w+", "the patch, which is merged before"),
    Bound(r"plan\.overlay:change_of", STACK),
    Bound(r"plan\.overlay:(\w+\.)?(merged|applied|keyed|key_of)", POLICY),
    Bound(r"plan\.typed_values:(note|same_(members|order|value))", STACK),
    Bound(r"schema\.decode:(Decoder\.\w+|note_maps|note_unknown)", STACK),
    Bound(r"schema\.go_json:write", STACK),
    Bound(r"schema\.(list_items|merge|problems):\w+", STACK),
    Bound(r"values\.printing:\w+", "100 levels: deeper ones are cut"),
    Bound(r"values\.equality:\w+", STACK),
    Bound(r"values\.(mutation_json|read_trees):\w+(\.\w+)?", STACK),
    Bound(r"values\.overlay_json:\w+", STACK),
)
INTERPRETED = (
    Bound(r"_core\.go\.printing:(plain|syntax)", "100 levels: deeper ones are cut"),
    Bound(r"_core\.regex\.program:.+", "a pattern of 64 groups, and 1,000 characters of syntax"),
    Bound(r"admission\.partial:.+", "the table of wanted members"),
    Bound(r"policy\.compile\.reads\.item_fields:.+", "the tree of an expression: 1,000 levels"),
    Bound(r"cel\.\w+(\.\w+)?:.+", DEEP),
    Bound(r"(cli|export|importers)\..+", DEEP),
    Bound(r"cluster\.namespaces:.+", "the fields that expressions read"),
    Bound(
        r"controllers\.registration\.\w+:_unordered",
        "fields of a webhook configuration: a few levels",
    ),
    Bound(r"defaulting\.\w+:.+", DEEP),
    Bound(r"mutation\.overlays\.\w+:.+", POLICY),
    Bound(r"mutation\.schemas\.\w+:.+", POLICY),
    Bound(r"pattern\.\w+:.+", POLICY),
    Bound(r"placement\.comparing:_without_empty", "fields of a policy: a few levels"),
    Bound(r"policy\.compile\.fields:.+", DEEP),
    Bound(r"policy\.kinds\.controllers:_replaced", "the path of a Pod template"),
    Bound(r"policy\.kinds\.(definitions|object_types|wanted_definitions):.+", POLICY),
    Bound(r"policy\.(lint|source|suite)\..+", DEEP),
    Bound(r"policy\.model\.\w+:.+", "types of models; documents within deep_recursion()"),
    Bound(r"webhooks\.rendering\.safety:.+", DEEP),
    Bound(r"webhooks\.validation\.decoding:.+", "types of a webhook configuration: a few levels"),
    Bound(r"(http|server\.network|server\.workers)\.\w+:.+", LOOP),
    Bound(r"bounded_text:encodable_tree", "answers and Events that policyd writes itself"),
)
