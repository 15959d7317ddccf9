"""Contacts, segments, topics and properties."""

import resend


async def story(call):
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

    await call(resend.ContactProperties, "remove", city)
    await call(resend.Topics, "remove", topic)
    await call(resend.Segments, "remove", segment)
