import resend

from .support import NOTHING, email, refused


async def story(call):
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
    await refused(call(resend.Emails, "get", NOTHING), "not_found")
