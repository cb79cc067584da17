"""Kubernetes Events about denied requests (``serve --events``)."""
