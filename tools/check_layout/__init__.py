"""Check the contracts of the architecture that ``tools/layout.toml`` declares.

``python -m tools.check_layout``, which is part of ``make check``:

=============== ================================================================================
``cycles``      no two modules import each other, directly or through others
``layers``      imports only go down the layers of the table
``forbidden``   what a package must not reach, not even through other modules
``third_party`` which package may import which library
``sizes``       lines of a file, modules of a folder
``names``       a public class or type alias is defined once
``starred``     no literal is starred to lay out the one around it
``references``  files that prose names exist
``commits``     the length of commit subjects
=============== ================================================================================

Every import counts: for typing (``TYPE_CHECKING`` and stubs), in a function, and ``cimport``. A
``.pyx``, its ``.pxd`` and its ``.pyi`` are one module; the ``__init__`` files of a package are one
module with the name of the package. ``from policyd.x import y`` imports the module policyd.x.y if
it exists, else policyd.x. A module name in a string is not an import.

An import of policyd.x.y does not count as an import of policyd and policyd.x, although Python runs
their ``__init__`` first: a package that re-exports its modules would otherwise be in a cycle with
each of them.
"""
