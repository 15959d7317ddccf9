"""Claims of a domain that another account has verified."""

import resend

from .support import NOTHING, eventually, refused


async def story(call):
    key = resend.api_key
    name = f"{key.replace('_', '-')}.test"
    resend.api_key = f"{key}_owner"
    taken = (await call(resend.Domains, "create", {"name": name}))["id"]
    await call(resend.Domains, "verify", taken)
    await eventually(lambda: call(resend.Domains, "get", taken), lambda domain: domain["status"] == "verified")
    resend.api_key = key

    claims = resend.Domains.Claims
    params = {"name": name, "region": "eu-west-1", "custom_return_path": "outbound", "open_tracking": True}
    claim = await call(claims, "create", params)
    assert (claim["status"], claim["region"], claim["record"]["type"]) == ("pending", "eu-west-1", "TXT"), claim
    assert (await call(claims, "verify", claim["domain_id"]))["id"] == claim["id"]
    settled = await eventually(
        lambda: call(claims, "get", claim["domain_id"]), lambda record: record["status"] not in ("pending", "verified")
    )
    assert settled["status"] == "completed", settled
    await refused(call(claims, "get", NOTHING), "not_found")
