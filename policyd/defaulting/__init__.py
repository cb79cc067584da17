"""The defaults that the API server adds to a manifest before admission.

    defaults = Defaults(schemas)
    seen = defaults.applied(manifest)                 # the object that webhooks are sent
    after = ...                                       # the same with the changes of mutations
    defaults.written(manifest, seen, after)           # the manifest with these changes only

Pure functions of plain dicts, for commands; the server gets objects that already have defaults.
"""
