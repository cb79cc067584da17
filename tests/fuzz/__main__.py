"""``python -m tests.fuzz [COUNT] [SEED]``: random expressions until they are used up; shows what differs."""

import sys

from tests import kubernetes
from tests.fuzz import compare, go_values, questions

MAKERS = (
    questions.typed,
    questions.untyped,
    questions.misfits,
    questions.admission,
    questions.spliced,
    *([go_values.questions] if kubernetes.chosen() != "1.36" else []),
)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    wrong = 0
    for make in MAKERS:
        for difference in compare.differences(list(make(count // len(MAKERS), seed))):
            wrong += 1
            print(f"{difference}\n", flush=True)
    print("Not counted as differences:")
    for name, reason in compare.ALLOWED.items():
        print(f"  {name}: {reason}")
    version = kubernetes.chosen()
    print(f"{wrong} of {count} expressions differ from Kubernetes {version} (seed {seed})")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
