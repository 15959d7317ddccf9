"""Templates, events and automations."""

import resend


async def story(call):
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
    copy = (await call(resend.Automations, "duplicate", automation))["id"]
    await call(resend.Automations, "remove", copy)
    await call(resend.Automations, "stop", automation)
    await call(resend.Automations, "remove", automation)
    await call(resend.Events, "remove", event)
