from __future__ import annotations

import builtins
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import quote

from ._times import rfc3339, seconds
from ._clock import Clock
from ._errors import SandboxError, WaitTimeout
from ._http import call, send
from ._mail import Mail, Summary, fields, mail

# The time that a response may take beyond the wait, in seconds.
GRACE = 30.0
MAX_SHOWN = 10


class Server(Protocol):
    """What an inbox needs of its sandbox."""

    url: str
    timeout: float | str
    _clocks: builtins.set[Clock]

    def _env_of(self, key: str) -> dict[str, str]: ...

    def _request(self, method: str, path: str, **options: Any) -> Any: ...


class Inbox:
    """The mails sent with one API key. Every key is an account of its own."""

    def __init__(self, sandbox: Server, key: str) -> None:
        self._sandbox = sandbox
        self.key = key
        #: The clock of this key.
        self.clock = Clock(self._request, sandbox._clocks, all_accounts=False)

    @property
    def env(self) -> dict[str, str]:
        """The variables for an application that sends to this inbox."""
        return self._sandbox._env_of(self.key)

    def address(self, name: str = "test") -> str:
        """A unique address, for an application whose key several tests share."""
        return f"{name}+{secrets.token_hex(6)}@example.com"

    def wait_for(
        self,
        *,
        to: str | None = None,
        from_: str | None = None,
        subject: str | None = None,
        query: str | None = None,
        tag: Mapping[str, str] | None = None,
        after: Summary | str | datetime | None = None,
        timeout: float | str | None = None,
    ) -> Mail:
        """Returns the newest matching mail, at once if there is one, else as soon as it arrives.

        All given conditions must match: ``to``, ``from_`` and ``subject`` are substrings, ignoring case; ``query`` is a search as in the inbox
        page; only mails after ``after``, a mail, its ID or a time, count. ``timeout`` is in seconds or text such as ``2m``.
        """
        limit = seconds(self._sandbox.timeout if timeout is None else timeout)
        which = _conditions(to, from_, subject, query, tag)
        if after is not None:
            which.append(("after", _reference(after)))
        parameters = [*which, ("timeout", f"{limit:g}")]
        try:
            return mail(self, self._request("GET", "/_/messages/wait", query=parameters, timeout=limit + GRACE))
        except SandboxError as error:
            if error.status != 408:
                raise
        raise WaitTimeout("timeout", self._missing(which, limit), 408)

    def list(
        self,
        *,
        to: str | None = None,
        from_: str | None = None,
        subject: str | None = None,
        query: str | None = None,
        tag: Mapping[str, str] | None = None,
    ) -> list[Summary]:
        """All matching mails, newest first."""
        mails: list[Summary] = []
        parameters = [*_conditions(to, from_, subject, query, tag), ("limit", "100")]
        more = True
        while more:
            cursor = [("after", mails[-1].id)] if mails else []
            try:
                page = self._request("GET", "/_/messages", query=[*parameters, *cursor])
            except SandboxError as error:
                if error.status != 422 or not mails:
                    raise
                mails.pop()  # It was deleted meanwhile: continue after the mail before it.
                continue
            mails.extend(Summary(**fields(item)) for item in page["data"])
            more = page["has_more"] and bool(page["data"])
        return mails

    def get(self, id: str) -> Mail:
        """A mail by its ID, or by the ID that sending it returned."""
        return mail(self, self._request("GET", f"/_/messages/{quote(id, safe='')}"))

    def clear(self) -> None:
        """Deletes the captured mails."""
        self._request("DELETE", "/_/messages")

    def reset(self) -> None:
        """Deletes everything of this key: mails, domains, templates, webhooks, …"""
        self._request("POST", "/_/reset")

    def receive(
        self,
        mail: Mapping[str, Any] | bytes | str,
        *,
        to: str | Iterable[str] = (),
        spf: str | None = None,
        dkim: str | None = None,
        dmarc: str | None = None,
    ) -> str:
        """Simulates an incoming email: the fields of a send, or a whole message (RFC 5322). Returns its ID.

        ``to`` is the envelope recipients, by default those of the headers. ``spf``, ``dkim`` and ``dmarc`` are ``pass``, ``fail``, ``gray``,
        ``processing_failed`` or ``unknown``.
        """
        recipients = [to] if isinstance(to, str) else to
        checks = [("spf", spf), ("dkim", dkim), ("dmarc", dmarc)]
        query = [*(("to", one) for one in recipients), *((name, result) for name, result in checks if result is not None)]
        if isinstance(mail, (str, bytes)):
            content: dict[str, Any] = {"raw": mail.encode() if isinstance(mail, str) else mail}
        else:
            content = {"body": dict(mail)}
        return str(self._request("POST", "/_/received", query=query, **content)["id"])

    def trigger(self, type: str, data: Mapping[str, Any] | None = None) -> builtins.list[dict[str, str]]:
        """Sends a simulated event to the subscribed webhooks of this key. ``data`` is merged over the sample.

        Returns ``webhook_id`` and ``event_id`` of each delivery.
        """
        body = {"type": type, "data": dict(data or {})}
        deliveries: builtins.list[dict[str, str]] = self._request("POST", "/_/events", body=body)["deliveries"]
        return deliveries

    def _request(self, method: str, path: str, **options: Any) -> Any:
        return call(self._sandbox.url, method, path, key=self.key, **options)

    def _source(self, id: str) -> bytes:
        return send(self._sandbox.url, "GET", f"/_/messages/{quote(id, safe='')}/raw", key=self.key)

    def _missing(self, which: Iterable[tuple[str, str]], limit: float) -> str:
        """What a timeout reports: the filter, and what is there instead."""
        wanted = ", ".join(f"{name} {value!r}" for name, value in which)
        lines = [f"No mail{' with ' if wanted else ''}{wanted} within {limit:g} s."]
        sent = self._request("GET", "/_/messages", query=[("limit", "100")])
        unsent = self._request("GET", "/_/messages", query=[("state", "unsent"), ("limit", "100")])
        if sent["data"]:
            lines += ["Mails of this inbox, newest first:", *_listed(sent)]
        if unsent["data"]:
            lines += ["Emails that were not sent:", *_listed(unsent)]
        if len(lines) == 1:
            lines.append(f"This inbox is empty: the application must send to {self._sandbox.url} with the key of `inbox.env`.")
            # With a password, the list of accounts needs it, which the key of one account isn't.
            accounts: builtins.list[dict[str, Any]] = []
            with suppress(SandboxError):
                accounts = self._sandbox._request("GET", "/_/tenants")["data"]
            others = [one for one in accounts if one["sent"] > 0][:MAX_SHOWN]
            if others:
                lines += ["Other keys of the sandbox have mails:", *(f"  {one['label']} {one['sent']}" for one in others)]
        return "\n".join(lines)


def _listed(page: Mapping[str, Any]) -> Iterable[str]:
    for mail in page["data"][:MAX_SHOWN]:
        reason = f": {mail['reason']}" if mail.get("reason") else ""
        state = f" ({mail['state']}{reason})" if "state" in mail else ""
        yield f"  {mail['subject']!r} from {mail['from']} to {', '.join(mail['to'])}{state}"
    hidden = len(page["data"]) - MAX_SHOWN
    if hidden > 0:
        yield f"  and {'at least ' if page['has_more'] else ''}{hidden} more"


def _conditions(
    to: str | None, from_: str | None, subject: str | None, query: str | None, tag: Mapping[str, str] | None
) -> list[tuple[str, str]]:
    texts = [(name, text) for name, text in (("to", to), ("from", from_), ("subject", subject), ("query", query)) if text is not None]
    for name, text in texts:
        if not isinstance(text, str):
            raise SandboxError("usage", f"`{name}` must be text; found {text!r}.")
    tags = [("tag", f"{name}={value}") for name, value in (tag or {}).items()]
    return texts + tags


def _reference(after: Summary | str | datetime) -> str:
    """A mail's ID, or a time."""
    if isinstance(after, datetime):
        return rfc3339(after)
    return after if isinstance(after, str) else after.id
