import base64

import requests
import resend

from .support import NOTHING, email, ids, receive, refused


async def story(call):
    note = {"filename": "a.txt", "content": base64.b64encode(b"a").decode()}
    got = receive({**email("A question"), "attachments": [note]})
    assert ids(await call(resend.EmailsReceiving, "list")) == [got]
    received = await call(resend.EmailsReceiving, "get", got)
    assert received["subject"] == "A question" and len(received["attachments"]) == 1, received
    attachments = resend.EmailsReceiving.Attachments
    file = (await call(attachments, "list", got))["data"][0]["id"]
    file = await call(attachments, "get", got, file)
    assert file["filename"] == "a.txt" and requests.get(file["download_url"], timeout=10).content == b"a", file
    await refused(call(resend.EmailsReceiving, "get", NOTHING), "not_found")
