"""PyPI Authlib, as its documentation uses it: the code flow with PKCE, a refresh, a revocation."""

import os

import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session

from consent import allow

# Allows plain http for loopback; other hosts would use https.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
base = os.environ["PEER_BASE_URL"]
redirect = "http://127.0.0.1:4711/callback"

metadata = requests.get(f"{base}/.well-known/oauth-authorization-server", timeout=10).json()
verifier = generate_token(64)
session = OAuth2Session(
    "idempost-cli",
    scope="full_access",
    redirect_uri=redirect,
    code_challenge_method="S256",
    token_endpoint_auth_method="none",
    revocation_endpoint_auth_method="none",
)
address, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
tokens = session.fetch_token(
    metadata["token_endpoint"], authorization_response=allow(address), state=state, code_verifier=verifier
)
assert tokens["expires_in"] == 900 and tokens["scope"] == "full_access", tokens
assert session.get(f"{base}/emails").status_code == 200

before = tokens["refresh_token"]
after = session.refresh_token(metadata["token_endpoint"], refresh_token=before)
assert after["refresh_token"] != before
assert session.get(f"{base}/emails").status_code == 200

# Refresh token reuse revokes the whole grant.
try:
    session.refresh_token(metadata["token_endpoint"], refresh_token=before)
    raise AssertionError("a refresh token was good twice")
except OAuthError as error:
    assert error.error == "invalid_grant", error
session.token = after
assert session.get(f"{base}/emails").status_code == 401
print("PyPI Authlib: code with PKCE, refresh, reuse")
