"""Traces of requests by OpenTelemetry (``serve --trace-sample``); see docs/observe/tracing.md.

Only ``switch`` and ``wrappers`` are imported without that flag. A request takes these steps:
``traced_requests`` decides whether it is traced, ``record`` collects what happens to it, ``export``
queues the record after the response, and on the thread of the export ``spans`` makes spans of it.
"""
