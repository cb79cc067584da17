"""Events about denied requests."""
