"""API keys and the log."""

import resend


async def story(call):
    key = await call(resend.ApiKeys, "create", {"name": "Python"})
    await call(resend.ApiKeys, "update", {"id": key["id"], "name": "Build"})
    assert "Build" in [one["name"] for one in (await call(resend.ApiKeys, "list"))["data"]]
    await call(resend.ApiKeys, "remove", key["id"])

    log = (await call(resend.Logs, "list"))["data"][0]
    assert (await call(resend.Logs, "get", log["id"]))["endpoint"] == log["endpoint"]
