"""Load tests with locust; the scripts run in locust's own processes, never inside the tests."""
