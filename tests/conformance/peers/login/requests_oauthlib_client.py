"""PyPI requests-oauthlib, as its documentation uses it: the code flow with PKCE, and refreshes by itself."""

import os

import requests
from requests_oauthlib import OAuth2Session

from consent import allow

# Allows plain http for loopback; other hosts would use https.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
base = os.environ["PEER_BASE_URL"]
metadata = requests.get(f"{base}/.well-known/oauth-authorization-server", timeout=10).json()
saved = []
session = OAuth2Session(
    "idempost-cli",
    scope="full_access",
    redirect_uri="http://127.0.0.1:4711/callback",
    pkce="S256",
    auto_refresh_url=metadata["token_endpoint"],
    auto_refresh_kwargs={"client_id": "idempost-cli"},
    token_updater=saved.append,
)
address, _ = session.authorization_url(metadata["authorization_endpoint"])
# Without a secret, it authenticates with HTTP Basic, using its client ID and an empty password.
session.fetch_token(metadata["token_endpoint"], authorization_response=allow(address))
assert session.get(f"{base}/emails").status_code == 200
before = session.token["refresh_token"]
session.token = {**session.token, "expires_in": "-30", "expires_at": 1}
assert session.get(f"{base}/emails").status_code == 200
assert saved and saved[0]["refresh_token"] != before, saved
print("PyPI requests-oauthlib: code with PKCE, refresh by itself")
