"""What became of emails and broadcasts, and the account's usage."""

import resend

from .support import NOTHING, email, eventually, refused


async def story(call):
    await call(resend.Emails, "send", email("Counted"))
    await call(resend.Emails, "send", email("Counted", "bounced@example.com"))
    counted = await eventually(
        lambda: call(resend.Emails, "metrics", {"metrics": ["sent", "delivered", "bounced", "delivery_rate"]}),
        lambda answer: answer["totals"]["delivered"] == 1 and answer["totals"]["bounced"] == 1,
    )
    assert counted["totals"] == {"sent": 2, "delivered": 1, "bounced": 1, "delivery_rate": 50}, counted
    daily = {"dimensions": ["period"], "granularity": "daily", "timezone": "Europe/Paris", "metrics": ["sent"]}
    rows = (await call(resend.Emails, "metrics", daily))["data"]
    assert sum(row["sent"] for row in rows) == 2, rows
    await refused(call(resend.Emails, "metrics", {"start_date": "yesterday"}), "validation_error")

    segment = (await call(resend.Segments, "create", {"name": "Readers"}))["id"]
    for address in ("clicked@example.com", "bounced+2@example.com"):
        await call(resend.Contacts, "create", {"email": address, "segments": [{"id": segment}]})
    html = '<a href="https://acme.test/pricing">Prices</a> <a href="{{{SERVICE_UNSUBSCRIBE_URL}}}">Unsubscribe</a>'
    draft = {"segment_id": segment, "from": "news@acme.test", "subject": "News", "html": html}
    broadcast = (await call(resend.Broadcasts, "create", {**draft, "send": True}))["id"]

    async def recipients(**filters):
        return await eventually(lambda: call(resend.Broadcasts, "recipients", broadcast, filters), lambda page: page["data"])

    [reader] = (await recipients(type="clicked"))["data"]
    assert (reader["email"], reader["count"]) == ("clicked@example.com", 1), reader
    assert reader["clicked_links"] == [{"url": "https://acme.test/pricing", "clicks": 1}], reader
    bounced = await recipients(type="bounced", bounce_type="permanent", email="bounced")
    assert bounced["data"][0]["bounce_type"] == "permanent", bounced
    first = await recipients(type="sent", limit=1)
    second = await recipients(type="sent", limit=1, after=first["data"][0]["id"])
    assert first["has_more"] and second["data"][0]["email"] != first["data"][0]["email"], second
    [link] = (await call(resend.Broadcasts, "clicked_links", broadcast, {"limit": 5}))["data"]
    assert (link["url"], link["clicks"], link["unique_clicks"]) == ("https://acme.test/pricing", 1, 1), link
    await refused(call(resend.Broadcasts, "clicked_links", NOTHING), "not_found")
    of_broadcast = {"dimensions": ["broadcast"], "broadcast_id": [broadcast], "metrics": ["unique_clicked"]}
    [row] = (await call(resend.Emails, "metrics", of_broadcast))["data"]
    assert (row["broadcast_id"], row["unique_clicked"]) == (broadcast, 1), row

    usage = await call(resend.Usage, "get")
    assert (usage["emails"]["daily"]["sent"], usage["contacts"]["used"]) == (2, 2), usage
