"""Traces of requests with OpenTelemetry (``serve --trace-sample``); see docs/observe/tracing.md.

Only ``switch`` and ``wrappers`` are imported without that flag. ``traced_requests`` decides whether
to trace a request, ``record`` collects its events, ``export`` queues the record after the response,
and on the export thread ``spans`` converts it to spans.
"""
