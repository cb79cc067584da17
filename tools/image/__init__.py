"""Make the image of the webhook without docker and without a registry.

    make image                         build/image/policyd-VERSION.oci.tar, and its SBOM beside it
    python -m tools.image              the same; --output names another folder
    python -m tools.image lock         write requirements.lock again, with the newest versions

Debian's Python and the libraries that it needs are unpacked, without maintainer scripts and without
a shell; then come the wheels of ``requirements.lock`` and policyd's own, with compiled byte code.
Every step sorts and dates what it writes, so that the same sources, packages and compilers give the
same digest. The SBOM is in the image (/usr/share/sbom) and beside it.

Needs the package lists of Debian 12 (``apt-get update``), Python 3.11 and a C compiler; no root.
The layers: ``debian`` -> ``wheels`` -> ``tree`` -> ``bytecode`` -> ``sbom`` -> ``oci``.
"""
