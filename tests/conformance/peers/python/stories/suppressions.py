import resend

from .support import NOTHING, email, eventually, ids, refused


async def story(call):
    batch = resend.Suppressions.Batch
    made = (await call(resend.Suppressions, "add", {"email": "ada+news@example.com"}))["id"]
    record = await call(resend.Suppressions, "get", "ada+news@example.com")
    assert (record["id"], record["origin"], record["source_id"]) == (made, "manual", None), record
    sent = (await call(resend.Emails, "send", email("Bounces", "bounced@example.com")))["id"]
    bounces = await eventually(lambda: call(resend.Suppressions, "list", {"origin": "bounce"}), lambda page: page["data"])
    assert bounces["data"][0]["source_id"] == sent, bounces
    added = await call(batch, "add", {"emails": ["bob@example.com", "eve@example.com"]})
    bob, eve = (item["id"] for item in added["data"])
    assert (await call(resend.Suppressions, "list", {"limit": 2}))["has_more"] is True
    assert ids(await call(resend.Suppressions, "list", {"after": bob, "origin": "manual"})) == [made]
    removed = await call(batch, "remove", {"emails": ["bob@example.com", "unknown@example.com"]})
    assert [item["id"] for item in removed["data"]] == [bob], removed
    assert len((await call(batch, "remove", {"ids": [eve]}))["data"]) == 1
    assert (await call(resend.Suppressions, "remove", "bounced@example.com"))["deleted"] is True
    assert (await call(resend.Suppressions, "remove", made))["deleted"] is True
    assert ids(await call(resend.Suppressions, "list")) == []
    await refused(call(resend.Suppressions, "get", NOTHING), "not_found")
