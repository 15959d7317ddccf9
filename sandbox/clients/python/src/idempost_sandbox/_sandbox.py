from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from ._clock import Clock
from ._errors import SandboxError
from ._http import call
from ._inbox import Inbox
from ._program import Program
from ._times import seconds

DEFAULT_KEY = "sb_local"
DEFAULT_TIMEOUT = 10.0


@dataclass(frozen=True)
class Fault:
    """A rule that makes requests fail."""

    id: str
    #: What the client of an affected request gets, in one line.
    client_gets: str
    _sandbox: Sandbox = field(repr=False, compare=False)

    def remove(self) -> None:
        self._sandbox._remove_fault(self.id)


class Sandbox:
    """A sandbox, started by this process or joined. Create it by :meth:`start` or :meth:`join`."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        smtp: tuple[str, int] | None = None,
        timeout: float | str = DEFAULT_TIMEOUT,
        program: Program | None = None,
    ) -> None:
        #: The base URL of the API.
        self.url = url
        #: The API key of the sandbox's default account.
        self.key = key
        #: Host and port of its SMTP server, if it was started with ``--smtp-port``.
        self.smtp = smtp
        #: Default of the timeout of ``wait_for``: seconds, or text such as ``2m``.
        self.timeout = timeout
        self._clocks: set[Clock] = set()
        #: The clocks of all keys.
        self.clock = Clock(self._request, self._clocks, all_accounts=True)
        self._program = program
        self._faults: set[str] = set()

    @classmethod
    def start(
        cls,
        *,
        binary: str | os.PathLike[str] | None = None,
        args: Sequence[str] = (),
        password: str | None = None,
        timeout: float | str = DEFAULT_TIMEOUT,
    ) -> Sandbox:
        """Starts a sandbox on a free port. It stops with this process, even if that is killed.

        The program is ``binary``, else the variable ``IDEMPOST_BINARY``, else ``idempost`` in ``PATH``; ``args`` are further arguments of
        ``idempost sandbox serve``, such as ``--beta`` or ``--smtp-port=0``.
        """
        program = Program(binary, args, password)
        address = urlsplit(program.description.get("smtp", ""))
        smtp = (address.hostname, address.port) if address.hostname and address.port else None
        return cls(program.description["base_url"], program.description["api_key"], smtp=smtp, timeout=timeout, program=program)

    @classmethod
    def join(
        cls,
        url: str | None = None,
        *,
        key: str | None = None,
        password: str | None = None,
        timeout: float | str = DEFAULT_TIMEOUT,
    ) -> Sandbox:
        """Connects to a running sandbox, by default that of ``IDEMPOST_BASE_URL``.

        The key is ``key``, else that of ``password`` (``sandbox serve --auth``), else ``IDEMPOST_API_KEY`` beside ``IDEMPOST_BASE_URL``, else
        ``sb_local``.
        """
        named = os.environ.get("IDEMPOST_BASE_URL")
        url = url or named
        if not url:
            raise SandboxError("usage", "Sandbox.join needs a URL: as its argument, or in IDEMPOST_BASE_URL.")
        if not url.startswith(("http://", "https://")):
            raise SandboxError("usage", f"The URL of a sandbox must begin with http:// or https://; found {url!r}.")
        given = os.environ.get("IDEMPOST_API_KEY", "")
        usable = given if url == named and given.startswith(("sb_", "re_")) else DEFAULT_KEY
        own = key or (usable if password is None else f"sb_{password}")
        sandbox = cls(url.rstrip("/"), own, timeout=timeout)
        try:
            # Without a key: the URL may be Resend's.
            ready = call(sandbox.url, "GET", "/_/ready", key=DEFAULT_KEY).get("ready")
        except SandboxError as error:
            if error.code == "unreachable":
                raise
            ready = False
        if not ready:
            message = f"{url} isn't a sandbox: GET /_/ready failed. Unset IDEMPOST_BASE_URL to start one."
            raise SandboxError("not_a_sandbox", message)
        try:
            sandbox.clock.show()
        except SandboxError as error:
            if error.status not in (401, 403):
                raise
            message = f"The sandbox at {url} rejects the key: {error} Pass its password: Sandbox.join(url, password=…)."
            raise SandboxError("key_rejected", message, error.status) from error
        return sandbox

    @property
    def env(self) -> dict[str, str]:
        """The variables for an application that uses the default account, as ``idempost sandbox env`` prints them."""
        return self._env_of(self.key)

    def inbox(self, *, key: str | None = None) -> Inbox:
        """Creates an inbox with a key of its own; with ``key``, opens that of an application which has its key already."""
        return Inbox(self, key or f"{self.key}_{secrets.token_hex(8)}")

    def fail(
        self,
        rule: str = "",
        *,
        status: int | None = None,
        code: int | None = None,
        name: str | None = None,
        drop: bool = False,
        lose: bool = False,
        truncate: int | None = None,
        stall: bool = False,
        slow: float | str | None = None,
        rate_limit: bool = False,
        retry_after: float | str | None = None,
        rotate_then_lose: bool = False,
        times: int | None = None,
        percent: int | None = None,
        always: bool = False,
        after: int | None = None,
    ) -> Fault:
        """Makes requests of all keys fail, in the words of ``idempost sandbox fail``.

        ``rule`` is a method, a path, or both, such as ``POST /emails``; or ``SMTP`` and a stage, such as ``SMTP RCPT``, with ``code``. By default,
        the next matching request fails with 500. ``slow`` is in seconds, or text such as ``2s``.
        """
        failures: list[tuple[str, bool, dict[str, Any]]] = [
            ("status", status is not None, {"action": "answer", "status": status}),
            ("code", code is not None, {"action": "answer", "code": code}),
            ("drop", drop, {"action": "drop"}),
            ("lose", lose, {"action": "lose"}),
            ("truncate", truncate is not None, {"action": "truncate", "bytes": truncate}),
            ("stall", stall, {"action": "stall"}),
            ("slow", slow is not None, {"action": "slow", "delay_ms": None if slow is None else round(seconds(slow) * 1000)}),
            ("rate_limit", rate_limit, {"action": "rate_limit"}),
            ("rotate_then_lose", rotate_then_lose, {"action": "lose"}),
        ]
        given = [(option, action) for option, is_given, action in failures if is_given]
        if len(given) > 1:
            raise SandboxError("usage", f"`{given[0][0]}` and `{given[1][0]}` can't be used together.")
        body = {**(given[0][1] if given else {"action": "answer"}), **_selection("POST /oauth/token" if rotate_then_lose else rule)}
        others = {"name": name, "retry_after": retry_after, "times": times, "percent": percent, "always": always or None, "after": after}
        body.update((field, value) for field, value in others.items() if value is not None)
        body["all_accounts"] = True
        fault = self._request("POST", "/_/faults", body=body)
        self._faults.add(fault["id"])
        return Fault(fault["id"], fault["client_gets"]["summary"], self)

    def restore(self) -> None:
        """Removes the faults that this object added, and sets the clocks that it or its inboxes changed back to the system's time."""
        for id in list(self._faults):
            self._remove_fault(id)
        for clock in list(self._clocks):
            clock._restore()

    def stop(self) -> None:
        """Stops the sandbox if this object started it."""
        program, self._program = self._program, None
        if program is not None:
            program.stop()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _env_of(self, key: str) -> dict[str, str]:
        env = {
            "IDEMPOST_BASE_URL": self.url,
            "IDEMPOST_API_KEY": key,
            # Ruby's client appends a path without a slash.
            "RESEND_BASE_URL": f"{self.url}/",
            "RESEND_API_URL": self.url,
            "RESEND_API_KEY": key,
            **_exceptions(self.url),
        }
        if self.smtp is not None:
            env.update(SMTP_HOST=self.smtp[0], SMTP_PORT=str(self.smtp[1]))
        return env

    def _remove_fault(self, id: str) -> None:
        self._faults.discard(id)
        try:
            self._request("DELETE", f"/_/faults/{id}")
        except SandboxError as error:
            # Used up.
            if error.status != 404:
                raise

    def _request(self, method: str, path: str, **options: Any) -> Any:
        return call(self.url, method, path, key=self.key, **options)


def _exceptions(url: str) -> dict[str, str]:
    """Lets an application reach the sandbox past the proxy that the environment names; many clients use it even for this machine."""
    if not any(os.environ.get(name) for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")):
        return {}
    given = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    host = urlsplit(url).hostname or ""
    if not {"*", host}.intersection(one.strip() for one in given.split(",")):
        given = f"{given},{host}".lstrip(",")
    return {"NO_PROXY": given, "no_proxy": given}


def _selection(rule: str) -> dict[str, str]:
    """The requests that a rule selects: ``POST /emails``, ``POST``, or ``/emails``; or a stage of SMTP sessions: ``SMTP RCPT``."""
    words = rule.split()
    if words and words[0].upper() == "SMTP":
        return {"smtp": " ".join(words[1:]).upper()}
    path = words.pop() if words and words[-1].startswith("/") else None
    method = words.pop(0) if words else None
    if words:
        raise SandboxError("usage", f"A rule must be a method, a path, or both, such as `POST /emails`; found {rule!r}.")
    return {**({"method": method.upper()} if method else {}), **({"path": path} if path else {})}
