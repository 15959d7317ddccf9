"""Fixtures for pytest: a sandbox per session, and so per worker of pytest-xdist, and an inbox per test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from ._inbox import Inbox
from ._sandbox import Sandbox


@pytest.fixture(scope="session")
def idempost_sandbox() -> Iterator[Sandbox]:
    """The sandbox of this session: that of ``IDEMPOST_BASE_URL``, else a new one."""
    sandbox = Sandbox.join() if os.environ.get("IDEMPOST_BASE_URL") else Sandbox.start()
    try:
        yield sandbox
    finally:
        sandbox.restore()
        sandbox.stop()


@pytest.fixture
def idempost_inbox(idempost_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    """An inbox with a key of its own, to which the environment points during the test.

    The module ``resend`` reads the environment when it is imported; if it has been, its settings are set, too. After the test, the faults and
    the clock of the sandbox are restored.
    """
    inbox = idempost_sandbox.inbox()
    for name, value in inbox.env.items():
        monkeypatch.setenv(name, value)
    resend = sys.modules.get("resend")
    if resend is not None:
        monkeypatch.setattr(resend, "api_key", inbox.key, raising=False)
        monkeypatch.setattr(resend, "api_url", idempost_sandbox.url, raising=False)
    yield inbox
    idempost_sandbox.restore()
    inbox.reset()
