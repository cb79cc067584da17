"""Make the image of the webhook without docker and without a registry.

    make image                         build/image/policyd-VERSION.oci.tar, SBOMs and provenance
    python -m tools.image              the same; --help lists the folders that can be named
    python -m tools.image lock         write requirements.lock again, with the newest versions

The archive has one index, with an image for amd64 and one for arm64. policyd's own wheels are those
of ``dist/``, if there are any (``wheels`` says which); without one for arm64 the index has only
amd64. Nothing of arm64 is run.

Debian's Python and the libraries that it needs are unpacked, without maintainer scripts and without
a shell; then come the wheels of ``requirements.lock`` and policyd's own, with compiled byte code.
Every step sorts and dates what it writes, so that the same sources, packages and compilers give the
same digest. The SBOM is in the image (/usr/share/sbom) and beside it.

Needs the package lists of Debian 12 (``apt-get update``), Python 3.11 and a C compiler; no root.
The layers: ``debian`` -> ``wheels`` -> ``tree`` -> ``bytecode`` -> ``sbom`` -> ``oci``; beside the
archive: ``spdx``, ``provenance``.
"""
