"""Load tests with locust; the scripts run in locust's processes, never inside the tests."""
