from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from ._errors import SandboxError
from ._times import parsed


class Account(Protocol):
    """What a mail needs of its inbox."""

    def _request(self, method: str, path: str, **options: Any) -> Any: ...

    def _source(self, id: str) -> bytes: ...


@dataclass(frozen=True)
class Attachment:
    filename: str
    content_type: str
    size: int


@dataclass(frozen=True)
class Link:
    text: str
    url: str


@dataclass(frozen=True)
class Header:
    name: str
    value: str


@dataclass
class Summary:
    """A captured mail in a list."""

    id: str
    #: The ID that sending it returned.
    email_id: str
    from_: str
    to: list[str]
    cc: list[str]
    bcc: list[str]
    subject: str
    created_at: datetime
    #: The size of the message in bytes.
    size: int
    last_event: str | None
    tags: dict[str, str]
    attachments: list[Attachment]


@dataclass
class Mail(Summary):
    """A captured mail with its content."""

    html: str | None
    text: str | None
    headers: list[Header]
    #: Verification codes in the text.
    codes: list[str]
    links: list[Link]
    _inbox: Account = field(repr=False, compare=False)

    @property
    def code(self) -> str:
        """The first code."""
        if not self.codes:
            raise SandboxError("no_code", f"{self._name()} contains no code. Its text:\n{self.text or ''}")
        return self.codes[0]

    def link(self, which: str | re.Pattern[str] | None = None) -> str:
        """The URL of the first link whose text or URL contains this text or matches this expression."""
        for link in self.links:
            if which is None:
                return link.url
            if isinstance(which, re.Pattern):
                if which.search(link.text) or which.search(link.url):
                    return link.url
            elif which.lower() in link.text.lower() or which in link.url:
                return link.url
        wanted = "" if which is None else f" that matches {getattr(which, 'pattern', which)!r}"
        found = "".join(f"\n  {link.text!r} {link.url}" for link in self.links)
        raise SandboxError("no_link", f"{self._name()} contains no link{wanted}. Its links:{found or ' none'}")

    def header(self, name: str) -> str | None:
        """The value of a header, ignoring the case of its name."""
        return next((header.value for header in self.headers if header.name.lower() == name.lower()), None)

    def source(self) -> bytes:
        """The message (RFC 5322)."""
        return self._inbox._source(self.id)

    def record(self, type: str, detail: dict[str, Any] | None = None) -> None:
        """Records an event of this email, such as ``bounced``, ``opened`` or ``clicked``, and sends it to the subscribed webhooks."""
        body = {"type": type, "detail": detail or {}}
        self.last_event = self._inbox._request("POST", f"/_/messages/{self.id}/events", body=body)["last_event"]

    def _name(self) -> str:
        return f"The mail {self.subject!r} to {', '.join(self.to)}"


def fields(item: dict[str, Any]) -> dict[str, Any]:
    """The fields of a summary, from JSON."""
    names = ("id", "email_id", "to", "cc", "bcc", "subject", "size", "last_event")
    return {
        **{name: item[name] for name in names},
        "from_": item["from"],
        "created_at": parsed(item["created_at"]),
        "tags": {tag["name"]: tag["value"] for tag in item["tags"]},
        "attachments": [Attachment(one["filename"], one["content_type"], one["size"]) for one in item["attachments"]],
    }


def mail(inbox: Account, details: dict[str, Any]) -> Mail:
    return Mail(
        **fields(details),
        html=details["html"],
        text=details["text"],
        headers=[Header(one["name"], one["value"]) for one in details["headers"]],
        codes=details["codes"],
        links=[Link(one["text"], one["url"]) for one in details["links"]],
        _inbox=inbox,
    )
