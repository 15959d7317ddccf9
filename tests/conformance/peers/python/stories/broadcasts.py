import resend


async def story(call):
    segment = (await call(resend.Segments, "create", {"name": "Readers"}))["id"]
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
