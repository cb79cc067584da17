"""Traces of requests by OpenTelemetry (``serve --trace-sample``); see docs/run/tracing.md.

Only ``switch`` is imported without that flag. A request takes these steps: ``requests`` decides
whether it is traced, ``record`` collects what happens to it, ``export`` queues the record after the
response, and on the thread of the export ``spans`` makes spans of it.
"""
