"""Every method of the PyPI client `resend` whose operation the sandbox has, in both its forms: `send` and `send_async`."""

import asyncio
import base64
import inspect
import os

import requests
import resend
from resend.exceptions import ResendError

resend.api_url = os.environ["PEER_BASE_URL"]
called = set()


async def sync_call(owner, method, *args, **kwargs):
    return getattr(owner, method)(*args, **kwargs)


async def async_call(owner, method, *args, **kwargs):
    return await getattr(owner, f"{method}_async")(*args, **kwargs)


async def account(call):
    key = await call(resend.ApiKeys, "create", {"name": "Python"})
    await call(resend.ApiKeys, "update", {"id": key["id"], "name": "Build"})
    assert "Build" in [one["name"] for one in (await call(resend.ApiKeys, "list"))["data"]]
    await call(resend.ApiKeys, "remove", key["id"])

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

    log = (await call(resend.Logs, "list"))["data"][0]
    assert (await call(resend.Logs, "get", log["id"]))["endpoint"] == log["endpoint"]
    assert (await call(resend.OAuthGrants, "list"))["data"] == []


async def domains(call):
    domain = (await call(resend.Domains, "create", {"name": "python.test"}))["id"]
    await call(resend.Domains, "update", {"id": domain, "open_tracking": True})
    await call(resend.Domains, "verify", domain)
    assert (await call(resend.Domains, "get", domain))["name"] == "python.test"
    assert [one["id"] for one in (await call(resend.Domains, "list"))["data"]] == [domain]
    await call(resend.Domains, "remove", domain)


def email(subject):
    return {"from": "Acme <hi@acme.test>", "to": "ada@example.com", "subject": subject, "text": "It works"}


async def emails(call):
    sent = await call(resend.Emails, "send", email("now"), {"idempotency_key": "now"})
    assert (await call(resend.Emails, "send", email("now"), {"idempotency_key": "now"}))["id"] == sent["id"]
    assert (await call(resend.Emails, "get", sent["id"]))["subject"] == "now"
    later = {**email("later"), "scheduled_at": "in 1 hour"}
    later = (await call(resend.Emails, "send", later))["id"]
    await call(resend.Emails, "update", {"id": later, "scheduled_at": "in 2 hours"})
    await call(resend.Emails, "cancel", later)
    batch = await call(resend.Batch, "send", [email("first"), email("second")])
    assert len(batch["data"]) == 2
    subjects = [one["subject"] for one in (await call(resend.Emails, "list", {"limit": 2}))["data"]]
    assert subjects == ["second", "first"], subjects
    try:
        await call(resend.Emails, "get", "4ef9a417-02e9-4d39-ad75-9611e0fcc33c")
    except ResendError as error:
        assert error.error_type == "not_found", error.error_type
    else:
        raise AssertionError("not refused")

    # Only the sandbox defines how mail arrives.
    mail = {**email("A question"), "attachments": [{"filename": "a.txt", "content": base64.b64encode(b"a").decode()}]}
    headers = {"authorization": f"Bearer {resend.api_key}"}
    got = requests.post(f"{resend.api_url}/_/received", json=mail, headers=headers, timeout=10).json()["id"]
    assert [one["id"] for one in (await call(resend.EmailsReceiving, "list"))["data"]] == [got]
    received = await call(resend.EmailsReceiving, "get", got)
    assert received["subject"] == "A question" and len(received["attachments"]) == 1, received
    attachments = resend.EmailsReceiving.Attachments
    file = (await call(attachments, "list", got))["data"][0]["id"]
    assert (await call(attachments, "get", got, file))["filename"] == "a.txt"


async def audience(call):
    segment = (await call(resend.Segments, "create", {"name": "Readers"}))["id"]
    await call(resend.Segments, "update", segment, {"name": "Weekly"})
    assert (await call(resend.Segments, "get", segment))["name"] == "Weekly"
    assert len((await call(resend.Segments, "list"))["data"]) == 1
    topic = (await call(resend.Topics, "create", {"name": "News", "default_subscription": "opt_in"}))["id"]
    await call(resend.Topics, "update", topic, {"name": "Offers"})
    assert (await call(resend.Topics, "get", topic))["name"] == "Offers"
    assert len((await call(resend.Topics, "list"))["data"]) == 1
    city = (await call(resend.ContactProperties, "create", {"key": "city", "type": "string"}))["id"]
    await call(resend.ContactProperties, "update", {"id": city, "fallback_value": "your town"})
    assert (await call(resend.ContactProperties, "get", city))["fallback_value"] == "your town"
    assert len((await call(resend.ContactProperties, "list"))["data"]) == 1

    ada = {"email": "ada@example.com"}
    person = (await call(resend.Contacts, "create", {**ada, "properties": {"city": "London"}}))["id"]
    await call(resend.Contacts, "update", {**ada, "first_name": "Ada"})
    assert (await call(resend.Contacts, "get", id=person))["first_name"] == "Ada"
    await call(resend.Contacts.Segments, "add", {"contact_id": person, "segment_id": segment})
    assert len((await call(resend.Contacts.Segments, "list", {"contact_id": person}))["data"]) == 1
    assert len((await call(resend.Contacts, "list", segment_id=segment))["data"]) == 1
    await call(resend.Contacts.Topics, "update", {"id": person, "topics": [{"id": topic, "subscription": "opt_out"}]})
    assert (await call(resend.Contacts.Topics, "list", contact_id=person))["data"][0]["subscription"] == "opt_out"
    await call(resend.Contacts.Segments, "remove", {"contact_id": person, "segment_id": segment})
    await call(resend.Contacts, "remove", email="ada@example.com")

    # The deprecated routes.
    old = (await call(resend.Audiences, "create", {"name": "Old"}))["id"]
    assert (await call(resend.Audiences, "get", old))["name"] == "Old"
    assert len((await call(resend.Audiences, "list"))["data"]) == 2
    await call(resend.Contacts, "create", {"audience_id": old, "email": "bob@example.com"})
    await call(resend.Contacts, "update", {"audience_id": old, "email": "bob@example.com", "last_name": "B"})
    assert (await call(resend.Contacts, "get", old, email="bob@example.com"))["last_name"] == "B"
    assert len((await call(resend.Contacts, "list", old))["data"]) == 1
    await call(resend.Contacts, "remove", old, email="bob@example.com")
    await call(resend.Audiences, "remove", old)

    draft = {"segment_id": segment, "from": "hi@acme.test", "subject": "Your week", "text": "Hello"}
    broadcast = (await call(resend.Broadcasts, "create", draft))["id"]
    await call(resend.Broadcasts, "update", {"broadcast_id": broadcast, "subject": "Your next week"})
    assert (await call(resend.Broadcasts, "get", broadcast))["name"] == "Your next week"
    copy = (await call(resend.Broadcasts, "duplicate", broadcast))["id"]
    await call(resend.Broadcasts, "send", {"broadcast_id": copy, "scheduled_at": "in 1 hour"})
    await call(resend.Broadcasts, "cancel", copy)
    await call(resend.Broadcasts, "remove", copy)
    await call(resend.Broadcasts, "send", {"broadcast_id": broadcast})
    assert len((await call(resend.Broadcasts, "list"))["data"]) == 1

    await call(resend.ContactProperties, "remove", city)
    await call(resend.Topics, "remove", topic)
    await call(resend.Segments, "remove", segment)


async def automations(call):
    template = {"name": "Welcome", "html": "<p>Hello</p>", "subject": "Welcome", "from": "hi@acme.test"}
    template = (await call(resend.Templates, "create", template))["id"]
    await call(resend.Templates, "update", {"id": template, "name": "Welcome again"})
    await call(resend.Templates, "publish", template)
    assert (await call(resend.Templates, "get", template))["name"] == "Welcome again"
    copy = (await call(resend.Templates, "duplicate", template))["id"]
    await call(resend.Templates, "remove", copy)
    assert len((await call(resend.Templates, "list"))["data"]) == 1

    event = (await call(resend.Events, "create", {"name": "user.created"}))["id"]
    await call(resend.Events, "update", {"identifier": event, "schema": {"plan": "string"}})
    assert (await call(resend.Events, "get", "user.created"))["id"] == event
    assert len((await call(resend.Events, "list"))["data"]) == 1
    steps = [
        {"key": "start", "type": "trigger", "config": {"event_name": "user.created"}},
        {"key": "send", "type": "send_email", "config": {"template": {"id": template}}},
    ]
    definition = {"name": "Welcome", "status": "enabled", "steps": steps, "connections": [{"from": "start", "to": "send"}]}
    automation = (await call(resend.Automations, "create", definition))["id"]
    await call(resend.Events, "send", {"event": "user.created", "email": "ada@example.com", "payload": {"plan": "pro"}})
    runs = (await call(resend.Automations.Runs, "list", automation))["data"]
    assert (await call(resend.Automations.Runs, "get", automation, runs[0]["id"]))["id"] == runs[0]["id"]
    assert (await call(resend.Automations, "get", automation))["name"] == "Welcome"
    assert len((await call(resend.Automations, "list"))["data"]) == 1
    await call(resend.Automations, "update", {"automation_id": automation, "name": "Again"})
    await call(resend.Automations, "stop", automation)
    await call(resend.Automations, "remove", automation)
    await call(resend.Events, "remove", event)


def methods():
    """All methods that ask the service, by class and name."""
    seen = [value for value in vars(resend).values() if inspect.isclass(value)]
    found = set()
    while seen:
        owner = seen.pop()
        if not owner.__module__.startswith("resend."):
            continue
        seen += [value for value in vars(owner).values() if inspect.isclass(value) and value is not owner]
        found |= {(owner, name.removesuffix("_async")) for name in vars(owner) if name.endswith("_async")}
    return found


for form in (sync_call, async_call):
    called.clear()

    async def call(owner, method, *args, form=form, **kwargs):
        answer = await form(owner, method, *args, **kwargs)
        called.add((owner, method))
        return answer

    for story in (account, domains, emails, audience, automations):
        resend.api_key = f"re_{form.__name__}_{story.__name__}"
        asyncio.run(story(call))
    known = methods()
    left = sorted(f"{owner.__name__}.{name}" for owner, name in known - called)
    print(f"PyPI resend ({form.__name__.removesuffix('_call')}): {len(called)} of {len(known)} methods called, all ok")
print(f"  not called: {', '.join(left)}")
