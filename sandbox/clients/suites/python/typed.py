"""Checked by mypy, not run: the declarations fit the API."""

from datetime import datetime

from idempost_sandbox import Inbox, Mail, Sandbox


def types(inbox: Inbox) -> str | None:
    mail: Mail = inbox.wait_for(to="ada", tag={"kind": "a"}, after=datetime.now(), timeout="2s")
    with Sandbox.join("http://127.0.0.1:4010", password="correct-horse") as sandbox:
        sandbox.fail("POST /emails", status=503, times=2).remove()
        sandbox.fail("POST /emails", statuss=503)  # type: ignore[call-arg]
        inbox.wait_for(too="ada")  # type: ignore[call-arg]
    return mail.link("Verify") or mail.html
