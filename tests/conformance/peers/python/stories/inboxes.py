"""Inboxes, a beta feature: threads, labels, replies, drafts and the agent's settings."""

import base64

import resend

from .support import NOTHING, email, eventually, ids, receive, refused

FILE = base64.b64encode(b"a note").decode()


async def story(call):
    host = f"{resend.api_key.replace('_', '-')}.test"
    address = f"support@{host}"
    domain = (await call(resend.Domains, "create", {"name": host, "capabilities": {"receiving": "enabled"}}))["id"]
    await call(resend.Domains, "verify", domain)
    await eventually(lambda: call(resend.Domains, "get", domain), lambda record: record["status"] == "verified")
    inbox = (await call(resend.Inboxes, "create", {"email_address": address, "name": "Support", "from_name": "Acme"}))["id"]
    await call(resend.Inboxes, "update", {"id": inbox, "name": "Help"})
    record = await call(resend.Inboxes, "get", address)
    assert (record["id"], record["name"], record["domain_id"]) == (inbox, "Help", domain), record
    assert ids(await call(resend.Inboxes, "list", {"limit": 5})) == [inbox]

    settings = {"instructions": "Be kind.", "tone": "concise_casual", "actions": ["draft_reply", "archive"]}
    await call(resend.InboxAgent, "update", {"inbox_id": inbox, **settings})
    agent = await call(resend.InboxAgent, "get", address)
    assert {name: agent[name] for name in settings} == settings, agent

    label = (await call(resend.InboxLabels, "create", {"inbox_id": inbox, "name": "Urgent", "color": "#E93D82"}))["id"]
    other = (await call(resend.InboxLabels, "create", {"inbox_id": address, "name": "Later"}))["id"]
    await call(resend.InboxLabels, "update", {"inbox_id": inbox, "id": label, "name": "Now"})
    assert [one["name"] for one in (await call(resend.InboxLabels, "list", inbox))["data"]] == ["Now", "Later"]

    threads, replies = resend.InboxThreads, resend.InboxThreadEmails
    receive({**email("A question", address), "attachments": [{"filename": "note.txt", "content": FILE}]})
    unread = {"folders": ["inbox"], "read": False}
    [thread] = (await eventually(lambda: call(threads, "list", inbox, unread), lambda page: page["data"]))["data"]
    assert (thread["subject"], thread["email_count"], thread["has_attachment"]) == ("A question", 1, True), thread
    at = thread["id"]
    assert ids(await call(threads, "search", address, {"query": "works", "from": ["hi@acme.test"], "has_attachment": True})) == [at]
    assert (await call(threads, "update", {"inbox_id": inbox, "id": at, "read": True}))["read"] is True
    assert (await call(threads, "get", inbox, at))["folder"] == "inbox"

    marks, place = resend.InboxThreadLabels, {"inbox_id": inbox, "thread_id": at}
    names = lambda answer: sorted(one["name"] for one in answer["data"])  # noqa: E731
    assert names(await call(marks, "add", {**place, "labels": [label]})) == ["Now"]
    assert names(await call(marks, "set", {**place, "labels": [label, other]})) == ["Later", "Now"]
    assert names(await call(marks, "remove", inbox, at, label)) == ["Later"]

    [mail] = ids(await call(replies, "list", inbox, at, {"limit": 5}))
    shown = await call(replies, "get", inbox, at, mail)
    assert (shown["direction"], shown["to"], len(shown["attachments"])) == ("inbound", [address], 1), shown
    answer = {**place, "email_id": mail, "text": "On its way.", "reply_all": True}
    reply = (await call(replies, "reply", answer, {"idempotency_key": "reply"}))["id"]
    assert (await call(replies, "reply", answer, {"idempotency_key": "reply"}))["id"] == reply
    await call(replies, "forward", {**place, "email_id": mail, "to": "bob@example.com", "text": "For you"})
    subjects = [one["subject"] for one in (await call(resend.Emails, "list", {"limit": 2}))["data"]]
    assert subjects == ["Fwd: A question", "Re: A question"], subjects

    drafts = resend.InboxDrafts
    plan = {"filename": "plan.txt", "content": FILE, "content_type": "text/plain"}
    draft = {"inbox_id": inbox, "to": ["ada@example.com"], "subject": "Plan", "text": "Draft", "attachments": [plan]}
    draft = (await call(drafts, "create", draft))["id"]
    follow_up = {**place, "reply_to_email_id": mail, "text": "More"}
    follow_up = (await call(drafts, "create", follow_up, {"idempotency_key": "draft"}))["id"]
    assert sorted(ids(await call(drafts, "list", inbox))) == sorted([draft, follow_up])
    await call(drafts, "update", {"inbox_id": inbox, "id": draft, "text": "The plan"})
    record = await call(drafts, "get", inbox, draft)
    assert (record["type"], record["text"], len(record["attachments"])) == ("standalone", "The plan", 1), record
    await call(drafts, "send", inbox, draft)
    assert (await call(resend.Emails, "list", {"limit": 1}))["data"][0]["subject"] == "Plan"
    assert (await call(drafts, "remove", inbox, follow_up))["deleted"] is True

    assert (await call(threads, "remove", inbox, at))["deleted"] is True
    assert (await call(resend.InboxLabels, "remove", inbox, label))["deleted"] is True
    await refused(call(threads, "get", inbox, NOTHING), "not_found")
    assert (await call(resend.Inboxes, "remove", address))["deleted"] is True
