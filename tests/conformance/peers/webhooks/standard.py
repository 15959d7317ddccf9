"""PyPI standardwebhooks, as its documentation uses it: it verifies what the sandbox signs, and `idempost` verifies what it signs.

Usage: standard.py PROGRAM
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import urllib.request
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

program = sys.argv[1]
base = os.environ["PEER_BASE_URL"]
arrived = queue.Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        # The library reads `webhook-…`; the service sends `svix-…`.
        headers = {name.lower().replace("svix-", "webhook-"): value for name, value in self.headers.items()}
        arrived.put((body, headers))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def ask(method, path, body=None):
    headers = {"authorization": "Bearer re_standardwebhooks", "content-type": "application/json"}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(base + path, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def refused(verifier, body, headers):
    try:
        verifier.verify(body, headers)
    except WebhookVerificationError:
        return
    raise AssertionError("not refused")


# The library verifies the sandbox's signatures.
receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
types = ask("GET", "/_/events")["data"]
endpoint = f"http://127.0.0.1:{receiver.server_address[1]}/"
made = ask("POST", "/webhooks", {"endpoint": endpoint, "events": types})
first = Webhook(made["signing_secret"])
for kind in types:
    ask("POST", "/_/events", {"type": kind, "data": {"note": "é 漢 🚀 <&>"}})
deliveries = [arrived.get(timeout=10) for _ in types]
assert sorted(first.verify(body, headers)["type"] for body, headers in deliveries) == sorted(types)
body, headers = deliveries[0]
refused(first, body[:-1] + b" }", headers)
refused(Webhook("whsec_AAAA"), body, headers)

rotated = ask("POST", f"/webhooks/{made['id']}/signing-secret/rotate")
ask("POST", "/_/events", {"type": "email.opened"})
body, headers = arrived.get(timeout=10)
for secret in (made["signing_secret"], rotated["signing_secret"]):
    assert Webhook(secret).verify(body, headers)["type"] == "email.opened"
receiver.shutdown()

# `idempost` verifies the library's signatures, with the standard's header names.
theirs = Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
work = Path(tempfile.mkdtemp())
(work / "secret").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")


def verify(signed, sent):
    now = datetime.now(timezone.utc)
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": theirs.sign("msg_1", now, signed),
    }
    arguments = ["webhooks", "verify", "--secret-file", work / "secret", "--payload", "-", "--jq", ".id"]
    for name, value in headers.items():
        arguments += ["--header", f"{name}: {value}"]
    return subprocess.run([program, *arguments], input=sent.encode(), capture_output=True, check=False)


for payload in ("{}", '{"type":"email.sent","data":{"subject":"é 漢 🚀"}}', "no JSON\r\n", ""):
    done = verify(payload, payload)
    assert (done.returncode, done.stdout) == (0, b"msg_1\n"), done
    assert verify(payload, payload + "\n").returncode == 3
print(f"PyPI standardwebhooks: {len(types)} types of events, a rotation, tampering; and its own signatures")
