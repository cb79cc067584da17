"""``python -m tests.fuzz.leftovers``: what a million evaluations leave behind: blocks, KB and references. No tests here."""

import gc
import resource
import sys

from policyd._core.eval.program import Program
from policyd.cel.env import Environment
from tests.fuzz.words import DOCUMENT

# Values, errors, panics, optionals, macros, calls of every number of arguments.
CHANGING = (
    "object.spec.containers.all(c, c.image.startsWith('nginx') || has(c.resources.limits))",
    "object.spec.?missing.?deeper.orValue('none') == 'none'",
    "object.spec.missing.deeper",
    "object.spec.list.map(x, x * 2).filter(x, x > 2).size() + object.spec.one.k",
    "quantity(object.spec.memory).add(1).isLessThan(quantity('1Gi'))",
    "dyn(object.spec.words.distinct()).join('-').replace('a', 'b', 1)",
    "object.spec.text.find('w[a-z]+') + string(object.spec.ratio)",
    "optional.of(object.spec.when).optMap(w, timestamp(w) + duration('1h')).value()",
    "object.spec.one.transformMap(k, v, {k: [v, object.spec.nothing]})",
    "object.missing.distinct()",
    "object.spec.list[9] == 1 || 1 / object.spec.zero == 2",
    "'%s %d'.format([object.spec.list, object.spec.replicas])",
)
VARIABLES = {"object": DOCUMENT, "params": {"max": 5}, "oldObject": None}


def evaluate(programs: list[Program], times: int) -> None:
    for _ in range(times):
        for program in programs:
            program.evaluate_with_cost(VARIABLES)


def state() -> tuple[int, int, list[int]]:
    """Blocks of Python's allocator, the highest memory in KB, references to what is shared."""
    gc.collect()
    shared = (None, True, DOCUMENT, DOCUMENT["spec"], DOCUMENT["spec"]["list"])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return sys.getallocatedblocks(), memory, [sys.getrefcount(each) for each in shared]


def main() -> None:
    """Evaluate, measure, evaluate a million times, measure, and print the differences."""
    environment = Environment.kubernetes()
    programs = [environment.compile(text) for text in CHANGING]
    evaluate(programs, 2_000)
    blocks, memory, references = state()
    evaluate(programs, 1_000_000 // len(programs))
    blocks_then, memory_then, references_then = state()
    changed = max(abs(a - b) for a, b in zip(references, references_then, strict=True))
    print(blocks_then - blocks, memory_then - memory, changed)


if __name__ == "__main__":
    main()
