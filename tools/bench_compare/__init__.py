"""``python -m tools.bench_compare``: how much slower or faster this tree is than another commit."""
