"""OAuth grants: a user allows a program access to the account, and the account revokes it."""

import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

import requests
import resend

from .support import NOTHING, email, refused


def login():
    """The login itself is no part of the client. The redirect returns to the sandbox, which doesn't serve that path: only the URL matters."""
    base, verifier = resend.api_url, "v" * 64
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
    client = {"client_id": "idempost-cli", "redirect_uri": f"{base}/callback"}
    query = {**client, "response_type": "code", "scope": "emails:send", "state": "python", "code_challenge": challenge}
    browser = requests.Session()
    page = browser.get(f"{base}/oauth/authorize", params={**query, "code_challenge_method": "S256"}, timeout=10)
    [token] = re.findall(r'name=token value="([^"]*)"', page.text)
    back = browser.post(page.url, data={"token": token, "account": resend.api_key, "decision": "allow"}, timeout=10)
    [code] = parse_qs(urlsplit(back.url).query)["code"]
    exchange = {**client, "grant_type": "authorization_code", "code": code, "code_verifier": verifier}
    answer = requests.post(f"{base}/oauth/token", data=exchange, timeout=10)
    assert answer.status_code == 200, answer.text
    return answer.json()["access_token"]


async def story(call):
    headers = {"authorization": f"Bearer {login()}"}
    send = lambda: requests.post(f"{resend.api_url}/emails", json=email("Granted"), headers=headers, timeout=10)  # noqa: E731
    assert send().status_code == 200
    [grant] = (await call(resend.OAuthGrants, "list"))["data"]
    assert grant["scopes"] == ["emails:send"] and grant["revoked_at"] is None, grant
    assert (await call(resend.OAuthGrants, "revoke", grant["id"]))["revoked_at"]
    assert send().status_code == 401
    await refused(call(resend.OAuthGrants, "revoke", NOTHING), "not_found")
