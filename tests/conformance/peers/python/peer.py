"""The PyPI client `resend`, unchanged but for its base address."""

import base64
import os

import resend
from resend.exceptions import ResendError

resend.api_key = "re_python"
resend.api_url = os.environ["PEER_BASE_URL"]


def email(subject):
    return {
        "from": "Acme <hi@acme.test>",
        "to": ["ada@example.com"],
        "subject": subject,
        "html": "<p>It <b>works</b></p>",
    }


def refused(call, name):
    try:
        call()
    except ResendError as error:
        assert error.error_type == name, (error.error_type, name)
    else:
        raise AssertionError(f"not refused as {name}")


sent = resend.Emails.send(
    {
        **email("single"),
        "reply_to": "help@acme.test",
        "headers": {"X-Order": "17"},
        "tags": [{"name": "kind", "value": "peer"}],
        "attachments": [
            {"filename": "bytes.txt", "content": list(b"bytes")},
            {"filename": "base64.txt", "content": base64.b64encode(b"base64").decode()},
        ],
    },
    {"idempotency_key": "single"},
)
refused(
    lambda: resend.Emails.send(email("another body"), {"idempotency_key": "single"}),
    "invalid_idempotent_request",
)

batch = resend.Batch.send([email("first"), email("second")])
assert len(batch["data"]) == 2, batch
mixed = [email("third"), {**email("wrong"), "from": "nobody"}]
permissive = resend.Batch.send(mixed, {"batch_validation": "permissive"})
assert [error["index"] for error in permissive["errors"]] == [1], permissive
refused(lambda: resend.Batch.send(mixed), "validation_error")

page = resend.Emails.list({"limit": 10})
assert page["object"] == "list" and page["has_more"] is False, page
assert [item["subject"] for item in page["data"]] == ["third", "second", "first", "single"], page
rest = resend.Emails.list({"limit": 2, "after": batch["data"][1]["id"]})
assert [item["subject"] for item in rest["data"]] == ["first", "single"], rest

record = resend.Emails.get(sent["id"])
assert record["subject"] == "single" and record["reply_to"] == ["help@acme.test"], record
refused(lambda: resend.Emails.get("4ef9a417-02e9-4d39-ad75-9611e0fcc33c"), "not_found")

print(f"PyPI resend: sent {sent['id']}")
