"""PyPI `Authlib` on Flask as an authorization server, as its documentation builds one: code with PKCE, the device flow, rotating refresh tokens,
revocation and the issuer in the redirect; and an API of one route, which accepts an access token once, as if it had expired in between."""

import logging
import os
import time

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from authlib.oauth2.rfc9207 import IssuerParameter
from flask import Flask, jsonify, request
from werkzeug.serving import make_server

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
logging.getLogger("werkzeug").setLevel(logging.ERROR)
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
app = Flask(__name__)
app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
app.config["OAUTH2_TOKEN_EXPIRES_IN"] = {"authorization_code": 900, "refresh_token": 900, DEVICE: 900}
counted = {"refreshed": 0, "sent": 0}
codes, tokens, devices, decided, used = {}, [], {}, {}, set()


class Client(ClientMixin):
    def get_client_id(self):
        return "idempost"

    def get_default_redirect_uri(self):
        return None

    def get_allowed_scope(self, scope):
        return scope if scope == "emails:send" else ""

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri.startswith(("http://127.0.0.1:", "http://[::1]:"))

    def check_client_secret(self, client_secret):
        return False

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "none"

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type in ("authorization_code", "refresh_token", DEVICE)


class Code(AuthorizationCodeMixin):
    def __init__(self, asked):
        data = asked.payload.data
        self.redirect_uri, self.scope = data.get("redirect_uri"), asked.payload.scope
        self.code_challenge, self.code_challenge_method = data.get("code_challenge"), data.get("code_challenge_method")

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope


class Token(TokenMixin):
    revoked = False

    def __init__(self, data):
        self.data, self.issued = data, time.time()

    def check_client(self, client):
        return True

    def get_scope(self):
        return self.data["scope"]

    def get_expires_in(self):
        return self.data["expires_in"]

    def is_expired(self):
        return time.time() > self.issued + self.data["expires_in"]

    def is_revoked(self):
        return self.revoked

    def get_user(self):
        return "ada"

    def get_client(self):
        return Client()


def find(value, *kinds):
    return next((token for token in tokens if any(token.data.get(kind) == value for kind in kinds)), None)


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

    def save_authorization_code(self, code, request):
        codes[code] = Code(request)

    def query_authorization_code(self, code, client):
        return codes.get(code)

    def delete_authorization_code(self, authorization_code):
        for code in [code for code, known in codes.items() if known is authorization_code]:
            del codes[code]

    def authenticate_user(self, authorization_code):
        return "ada"


class RefreshGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token):
        token = find(refresh_token, "refresh_token")
        return token if token and not token.revoked else None

    def authenticate_user(self, refresh_token):
        return "ada"

    def revoke_old_credential(self, refresh_token):
        refresh_token.revoked = True
        counted["refreshed"] += 1


class Devices(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

    def query_device_credential(self, device_code):
        return devices.get(device_code)

    def query_user_grant(self, user_code):
        return decided.get(user_code)

    def should_slow_down(self, credential):
        # Once, to show that the client obeys.
        return not credential.setdefault("slowed", False) and not credential.update(slowed=True)


class DeviceEndpoint(DeviceAuthorizationEndpoint):
    CLIENT_AUTH_METHODS = ["none"]
    INTERVAL = 1

    def get_verification_uri(self):
        return f"{base}/device"

    def save_device_credential(self, client_id, scope, data):
        devices[data["device_code"]] = DeviceCredentialDict(
            data, client_id=client_id, scope=scope, expires_at=time.time() + data["expires_in"]
        )


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = ["none"]

    def query_token(self, token_string, token_type_hint):
        return find(token_string, "access_token", "refresh_token")

    def revoke_token(self, token, request):
        for known in tokens:
            known.revoked = True


class Issuer(IssuerParameter):
    def get_issuer(self):
        return base


server = AuthorizationServer(
    app, query_client=lambda name: Client() if name == "idempost" else None, save_token=lambda data, _: tokens.append(Token(data))
)
server.register_grant(CodeGrant, [CodeChallenge(required=True)])
server.register_grant(RefreshGrant)
server.register_grant(Devices)
server.register_endpoint(Revocation)
server.register_endpoint(DeviceEndpoint)
server.register_extension(Issuer())


@app.get("/.well-known/oauth-authorization-server")
def metadata():
    endpoints = {f"{name}_endpoint": f"{base}/{name}" for name in ("authorization", "token", "revocation", "device_authorization")}
    return jsonify(
        issuer=base, **endpoints, response_types_supported=["code"], code_challenge_methods_supported=["S256"],
        authorization_response_iss_parameter_supported=True,
    )


@app.route("/authorization", methods=["GET", "POST"])
def authorize():
    if request.method == "GET":
        server.get_consent_grant(end_user="ada")
        return '<form method="post"><button name="decision" value="allow">Allow</button></form>'
    return server.create_authorization_response(grant_user="ada", grant=server.get_consent_grant(end_user="ada"))


@app.post("/token")
def token():
    return server.create_token_response()


@app.post("/revocation")
def revoke():
    return server.create_endpoint_response(Revocation.ENDPOINT_NAME)


@app.post("/device_authorization")
def authorize_device():
    return server.create_endpoint_response(DeviceEndpoint.ENDPOINT_NAME)


@app.route("/device", methods=["GET", "POST"])
def device():
    if request.method == "GET":
        return f'<form method="post"><input name="user_code" value="{request.args["user_code"]}"><button>Allow</button></form>'
    decided[request.form["user_code"]] = ("ada", True)
    return "You can close this page."


@app.post("/emails")
def send():
    value = request.headers.get("authorization", "").removeprefix("Bearer ")
    known = find(value, "access_token")
    if not known or known.revoked or known.is_expired() or value in used:
        return jsonify(statusCode=401, name="invalid_access_token", message="The access token is invalid."), 401
    used.add(value)
    counted["sent"] += 1
    return jsonify(id="49a3999c-0ce1-4ea6-ab68-afcd6dc2e794")


@app.get("/_/counted")
def count():
    return jsonify(counted)


listener = make_server("127.0.0.1", 0, app)
base = f"http://127.0.0.1:{listener.port}"
print(base, flush=True)
listener.serve_forever()
