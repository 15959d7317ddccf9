from __future__ import annotations

import http.client
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode, urlsplit

from ._errors import SandboxError


def send(
    base: str,
    method: str,
    path: str,
    *,
    key: str,
    query: Iterable[tuple[str, str]] = (),
    body: Any = None,
    raw: bytes | None = None,
    timeout: float = 60.0,
) -> bytes:
    """Sends a request to a sandbox, past any proxy, and returns the body of a successful response."""
    url = urlsplit(base)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=timeout)
    headers = {"Authorization": f"Bearer {key}", "Connection": "close"}
    content = raw
    if raw is not None:
        headers["Content-Type"] = "message/rfc822"
    elif body is not None:
        headers["Content-Type"] = "application/json"
        content = json.dumps(body).encode()
    parameters = urlencode(list(query))
    target = url.path.rstrip("/") + path + (f"?{parameters}" if parameters else "")
    try:
        connection.request(method, target, content, headers)
        response = connection.getresponse()
        text = response.read()
    except (OSError, http.client.HTTPException) as error:
        message = f"The sandbox at {base} can't be reached ({method} {path}): {error or type(error).__name__}"
        raise SandboxError("unreachable", message) from error
    finally:
        connection.close()
    if response.status < 300:
        return text
    name, reason = "http", text[:200].decode(errors="replace")
    try:
        problem = json.loads(text)
        name, reason = problem["name"], problem["message"]
    except (ValueError, KeyError, TypeError):
        pass  # Not a response of a sandbox.
    raise SandboxError(name, f"{method} {path} failed with {response.status}: {reason}", response.status)


def call(base: str, method: str, path: str, **options: Any) -> Any:
    """The same, for JSON."""
    text = send(base, method, path, **options)
    try:
        return json.loads(text)
    except ValueError as error:
        message = f"{base} isn't a sandbox: {method} {path} returned no JSON"
        raise SandboxError("not_a_sandbox", message) from error
