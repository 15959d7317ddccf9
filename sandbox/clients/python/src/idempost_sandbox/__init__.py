"""Tests of email with the sandbox of idempost."""

from ._clock import Clock, ClockState
from ._errors import SandboxError, WaitTimeout
from ._inbox import Inbox
from ._mail import Attachment, Header, Link, Mail, Summary
from ._sandbox import Fault, Sandbox

__all__ = [
    "Attachment",
    "Clock",
    "ClockState",
    "Fault",
    "Header",
    "Inbox",
    "Link",
    "Mail",
    "Sandbox",
    "SandboxError",
    "Summary",
    "WaitTimeout",
]
