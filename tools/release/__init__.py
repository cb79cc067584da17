"""Make the files of a release: the source distribution, and wheels for every Python and machine.

    make release                       dist/: nothing is tagged
    make release VERSION=1.2.3         the same of a clean tree, with notes and sums, and tags it
    python -m tools.release            the same as `make release`; --only 3.13-aarch64 builds a part
    python -m tools.release.trials     try what is in dist/ (`make release-trials`, as root)

Zig's C compiler, which PyPI has, compiles for every machine and an old glibc. The headers of each
Python come from Debian's packages. Files are sorted and dated, so that the same commit, compiler
and headers give the same bytes anywhere. docs/develop/release.md is the checklist.

The layers: ``settings`` -> ``suites`` -> ``headers`` -> ``compiling`` -> ``archives`` -> ``notes``.
"""
