"""The environment and the object of traced expressions."""

from typing import Any

from policyd.cel.env import Environment

ENVIRONMENT = Environment.kubernetes()
CONTAINERS = [{"name": "web", "image": "web:1"}, {"name": "log"}, {"name": "db", "image": "db:2"}]
OBJECT: dict[str, Any] = {"spec": {"containers": CONTAINERS, "replicas": 3}}
