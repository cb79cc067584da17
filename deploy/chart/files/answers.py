"""Run by `helm test`: sends a review to policyd, and fails if there is no answer from policyd.

That it wants a token, which only the API server has, is an answer. With `--client-ca` there is
none.
"""

import json
import ssl
import sys
import urllib.error
import urllib.request

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "test", "namespace": "default"},
    "spec": {"containers": [{"name": "test", "image": "registry.example/test:1"}]},
}
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "helm-test",
        "operation": "CREATE",
        "name": "test",
        "namespace": "default",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "helm-test"},
        "dryRun": True,
        "object": POD,
    },
}
CONTEXT = ssl.create_default_context()
# The API server verifies the certificate. This Pod has no copy of the authority.
CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE


def answer(url: str) -> str:
    """What policyd answers, in words; anything else raises an error."""
    request = urllib.request.Request(  # noqa: S310 - the Service of the release
        url, json.dumps(REVIEW).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, context=CONTEXT, timeout=20) as got:  # noqa: S310
            response = json.load(got)["response"]
    except urllib.error.HTTPError as error:
        if error.code == 401:
            return "policyd wants a token of the API server"
        raise
    if response["uid"] != REVIEW["request"]["uid"]:
        raise SystemExit(f"{url} answers another review: {response}")
    return f"policyd answers: allowed is {response['allowed']}"


if __name__ == "__main__":
    print(answer(sys.argv[1]))
