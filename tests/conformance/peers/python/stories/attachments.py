"""The attachments of sent emails, and links to share an email."""

import base64

import requests
import resend

from .support import NOTHING, email, refused


async def story(call):
    files = resend.Emails.Attachments
    note = {"filename": "note.txt", "content": base64.b64encode(b"a note").decode()}
    logo = {"filename": "logo.png", "content": list(b"logo"), "content_id": "logo"}
    sent = (await call(resend.Emails, "send", {**email("Two files"), "attachments": [note, logo]}))["id"]
    found = (await call(files, "list", sent))["data"]
    assert [(file["filename"], file["content_disposition"]) for file in found] == [("note.txt", "attachment"), ("logo.png", "inline")]
    file = await call(files, "get", sent, found[0]["id"])
    assert (file["object"], file["size"]) == ("attachment", 6), file
    assert requests.get(file["download_url"], timeout=10).content == b"a note"
    await refused(call(files, "get", sent, NOTHING), "not_found")

    for params in (None, {"expires_in": "1h 30m"}):
        shared = await call(resend.Emails, "share", sent, params)
        assert shared["id"] == sent, shared
        assert "Two files" in requests.get(shared["url"], timeout=10).text
    await refused(call(resend.Emails, "share", sent, {"expires_in": "3 days"}), "validation_error")
