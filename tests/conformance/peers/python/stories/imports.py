import resend

from .support import NOTHING, eventually, ids, refused


async def story(call):
    imports = resend.Contacts.Imports
    segment = (await call(resend.Segments, "create", {"name": "Imported"}))["id"]
    topic = (await call(resend.Topics, "create", {"name": "News", "default_subscription": "opt_out"}))["id"]
    await call(resend.ContactProperties, "create", {"key": "city", "type": "string"})

    async def done(params):
        made = (await call(imports, "create", params))["id"]
        record = await eventually(lambda: call(imports, "get", made), lambda record: record["completed_at"])
        assert record["status"] == "completed", record
        return made, record["counts"]

    mapped, counts = await done({
        "file": b"Mail,Given,Town\nada@example.com,Ada,London\nnobody,,\n",
        "filename": "contacts.csv",
        "column_map": {"email": "Mail", "first_name": "Given", "properties": {"city": {"column": "Town"}}},
        "segments": [{"id": segment}],
        "topics": [{"id": topic, "subscription": "opt_in"}],
    })
    assert counts == {"total": 2, "created": 1, "updated": 0, "skipped": 0, "failed": 1}, counts
    ada = await call(resend.Contacts, "get", email="ada@example.com")
    assert (ada["first_name"], ada["properties"]["city"]["value"]) == ("Ada", "London"), ada
    assert ids(await call(resend.Contacts.Segments, "list", {"contact_id": ada["id"]})) == [segment]
    file = b"email,first_name\nada@example.com,Augusta\nbob@example.com,Bob\n"
    skipping, counts = await done({"file": file, "on_conflict": "skip"})
    assert counts == {"total": 2, "created": 1, "updated": 0, "skipped": 1, "failed": 0}, counts
    assert ids(await call(imports, "list", {"status": "completed"})) == [skipping, mapped]
    assert ids(await call(imports, "list", {"limit": 1})) == [skipping]
    await refused(call(imports, "create", {"file": b"E-Mail\nada@example.com\n"}), "validation_error")
    await refused(call(imports, "get", NOTHING), "not_found")
