"""Creates Pods at a steady rate, good and bad in turn, until it is told to stop. No tests here.

``python -m tests.node.stream PKI RATE --denied TEXT``, in the network of the node: ``load.py`` starts
it. It prints ``ready`` after the first answers, and on SIGTERM one row of JSON for each create:
``[start, seconds, outcome, status, message]``. The Pods fit no node, so they stay Pending; they are
deleted at the end. A bad Pod asks for the network of its node.
"""

import argparse
import http.client
import json
import signal
import ssl
import sys
import threading
import time
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

ADDRESS = ("10.77.0.1", 6443)
WORKERS = 64
TIMEOUT = 40.0  # longer than any webhook may take
FIRST = 4  # answers before the stream counts as running

Row = tuple[float, float, str, int, str]


class Caller:
    """Calls to the API server; each thread has a connection of its own."""

    def __init__(self, pki: Path) -> None:
        self._context = ssl.create_default_context(cafile=pki / "ca.crt")
        self._context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._local = threading.local()

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and document; tried again once if the connection was closed while idle."""
        try:
            return self._once(method, path, body)
        except (http.client.HTTPException, OSError):
            self._local.connection = None
            return self._once(method, path, body)

    def _once(self, method: str, path: str, body: object) -> tuple[int, Any]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                *ADDRESS, context=self._context, timeout=TIMEOUT
            )
            self._local.connection = connection
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")


class Stream:
    """One run: the Pods carry its label."""

    def __init__(self, caller: Caller, namespace: str, denied: str) -> None:
        self._caller = caller
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._denied = denied
        self._run = uuid.uuid4().hex[:6]
        self._stop = threading.Event()

    def stop(self, *_: object) -> None:
        self._stop.set()

    def run(self, rate: float) -> list[Row]:
        """Create Pods until stopped; each create begins at its time, however long others take."""
        begin, futures = time.time(), list[Future[Row]]()
        with ThreadPoolExecutor(WORKERS) as pool:
            while not self._stop.is_set():
                futures.append(pool.submit(self._create, len(futures)))
                if len(futures) == FIRST:
                    for each in futures:
                        each.result()
                    print("ready", flush=True)
                    begin = time.time() - len(futures) / rate
                self._stop.wait(max(0.0, begin + len(futures) / rate - time.time()))
            return [each.result() for each in futures]

    def remove(self) -> None:
        query = f"labelSelector=stream%3D{self._run}&gracePeriodSeconds=0"
        self._caller.call("DELETE", f"{self._path}?{query}")

    def _create(self, number: int) -> Row:
        bad, begin = number % 2 == 1, time.time()
        try:
            status, answer = self._caller.call("POST", self._path, self._pod(number, bad))
        except (http.client.HTTPException, OSError) as error:
            status, answer = 0, {"message": repr(error)}
        message = str(answer.get("message", ""))
        return begin, time.time() - begin, self._outcome(bad, status, message), status, message

    def _outcome(self, bad: bool, status: int, message: str) -> str:
        if status == 201:
            return "wrongly admitted" if bad else "admitted"
        if self._denied in message:
            return "denied" if bad else "wrongly denied"
        return "lost"

    def _pod(self, number: int, bad: bool) -> dict[str, Any]:
        spec: dict[str, Any] = {
            "nodeSelector": {"nowhere": "at-all"},
            "containers": [{"name": "c", "image": "busybox:node"}],
        }
        if bad:
            spec["hostNetwork"] = True
        metadata = {"name": f"s-{self._run}-{number}", "labels": {"stream": self._run}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pki", type=Path)
    parser.add_argument("rate", type=float)
    parser.add_argument("--denied", required=True)
    parser.add_argument("--namespace", default="default")
    given = parser.parse_args()
    stream = Stream(Caller(given.pki), given.namespace, given.denied)
    signal.signal(signal.SIGTERM, stream.stop)
    json.dump(stream.run(given.rate), sys.stdout)
    sys.stdout.flush()
    stream.remove()


if __name__ == "__main__":
    main()
