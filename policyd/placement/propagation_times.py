"""How long API servers may take to notice what was stored. Each follows changes by watches of its
own, and compiles policies once a second.
"""

# From when the webhook's rules are stored until every API server follows them.
WIDE_SECONDS = 5.0
# From when a policy is stored until its binding may be, so that no API server has the binding and a
# former policy.
BINDING_SECONDS = 2.0
# From when documents are stored until every API server enforces them: where a controller has
# reported that it has seen them, and where none reports.
SEEN_SECONDS = 5.0
UNSEEN_SECONDS = 10.0
