"""Webhooks and their deliveries, which the client verifies."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import resend

from .support import email, eventually


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        payload = self.rfile.read(int(self.headers["content-length"])).decode()
        headers = {name: self.headers[f"svix-{name}"] for name in ("id", "timestamp", "signature")}
        self.server.arrived.append((payload, headers))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


async def delivered(call):
    with HTTPServer(("127.0.0.1", 0), Receiver) as receiver:
        receiver.arrived = []
        Thread(target=receiver.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{receiver.server_port}/"
        hook = await call(resend.Webhooks, "create", {"endpoint": endpoint, "events": ["email.sent"]})
        sent = (await call(resend.Emails, "send", email("delivered")))["id"]
        attempts = lambda: call(resend.Webhooks, "list_event_attempts", hook["id"], event)  # noqa: E731
        event = (await call(resend.Webhooks, "list_events", hook["id"]))["data"][0]["id"]
        await eventually(attempts, lambda page: page["data"])
        [(payload, headers)] = receiver.arrived
        options = {"payload": payload, "headers": headers, "webhook_secret": hook["signing_secret"]}
        assert (await call(resend.Webhooks, "verify", options))["data"]["email_id"] == sent
        try:
            await call(resend.Webhooks, "verify", {**options, "payload": payload.replace("sent", "lost")})
        except ValueError:
            pass
        else:
            raise AssertionError("verified although it was changed")
        await call(resend.Webhooks, "remove", hook["id"])
        receiver.shutdown()


async def story(call):
    hook = await call(resend.Webhooks, "create", {"endpoint": "https://acme.test/hooks", "events": ["email.sent"]})
    assert hook["id"] in [one["id"] for one in (await call(resend.Webhooks, "list"))["data"]]
    await call(resend.Webhooks, "rotate_signing_secret", hook["id"])
    await call(resend.Emails, "send", email("for the webhook"))
    events = (await call(resend.Webhooks, "list_events", hook["id"]))["data"]
    event = events[0]["id"]
    await call(resend.Webhooks, "get_event", hook["id"], event)
    await call(resend.Webhooks, "replay_event", hook["id"], event)
    await call(resend.Webhooks, "list_event_attempts", hook["id"], event)
    await call(resend.Webhooks, "update", {"webhook_id": hook["id"], "status": "disabled"})
    assert (await call(resend.Webhooks, "get", hook["id"]))["status"] == "disabled"
    await call(resend.Webhooks, "remove", hook["id"])
    await delivered(call)
