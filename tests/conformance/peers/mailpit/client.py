"""PyPI `mailpit-api-client`, whose URL is the sandbox's, with an API key as its user. Every public method is called."""

import inspect
import os

import httpx
from mailpit.client.api import API

BASE_URL = os.environ["PEER_BASE_URL"]
KEY = "re_mailpit_pypi"
MAIL = """From: Ada <ada@example.com>\r
To: hi@acme.test\r
Delivered-To: hi@acme.test\r
Date: Mon, 02 Mar 2026 12:00:00 +0000\r
Message-ID: <one@example.com>\r
Subject: Hello\r
MIME-Version: 1.0\r
Content-Type: multipart/mixed; boundary=x\r
\r
--x\r
Content-Type: text/plain\r
\r
It works\r
--x\r
Content-Type: text/csv\r
Content-Disposition: attachment; filename=a.csv\r
\r
a,b\r
--x--\r
"""


class Recorder(API):
    """Records the called methods."""

    called = set()

    def __getattribute__(self, name):
        if name in METHODS:
            Recorder.called.add(name)
        return super().__getattribute__(name)


METHODS = {name for name, value in vars(API).items() if inspect.isfunction(value) and name[0] != "_"}
client = Recorder(BASE_URL.replace("://", f"://{KEY}:x@"))

for _ in range(3):
    received = httpx.post(
        f"{BASE_URL}/_/received", content=MAIL,
        headers={"authorization": f"Bearer {KEY}", "content-type": "message/rfc822"},
    )
    assert received.status_code == 201, received.text

messages = client.get_messages(limit=2)
assert (messages.total, messages.count, len(messages.messages)) == (3, 2, 2)
summary = messages.messages[0]
assert (summary.subject, summary.from_.address, summary.read) == ("Hello", "ada@example.com", False)
message = client.get_message(summary.id)
assert (message.message_id, message.text.strip(), len(message.attachments)) == ("one@example.com", "It works", 1)
assert client.get_message_attachment(summary.id, message.attachments[0].part_id).strip() == "a,b"
headers = client.get_message_headers(summary.id)
assert headers.delivered_to == ["hi@acme.test"] and headers.from_ == ["Ada <ada@example.com>"]
client.put_messages([summary.id], "Read", True)
assert client.get_messages().unread == 2
client.delete_messages([summary.id])
assert client.get_messages().total == 2
client.delete_messages([])
assert client.get_messages().total == 0

print(f"PyPI mailpit-api-client: {len(Recorder.called)} of {len(METHODS)} methods called, all ok")
assert Recorder.called == METHODS, METHODS - Recorder.called
