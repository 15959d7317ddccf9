import resend


async def story(call):
    domain = (await call(resend.Domains, "create", {"name": "python.test"}))["id"]
    await call(resend.Domains, "update", {"id": domain, "open_tracking": True})
    await call(resend.Domains, "verify", domain)
    assert (await call(resend.Domains, "get", domain))["name"] == "python.test"
    assert [one["id"] for one in (await call(resend.Domains, "list"))["data"]] == [domain]
    await call(resend.Domains, "remove", domain)
