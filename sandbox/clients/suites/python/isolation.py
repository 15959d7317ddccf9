"""What each of four workers does, at once."""

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import resend
from app import sign_up

from idempost_sandbox import Inbox, Sandbox, WaitTimeout


@pytest.fixture(scope="module", autouse=True)
def together():
    """Proves that four workers run at once: each waits for the others."""
    workers = Path(os.environ["SUITE_WORKERS"])
    (workers / os.environ["PYTEST_XDIST_WORKER"]).mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 20
    while len(os.listdir(workers)) < 4:
        assert time.monotonic() < end, f"only the workers {os.listdir(workers)} run"
        time.sleep(0.02)


def test_a_test_sees_only_its_own_mails(idempost_inbox: Inbox) -> None:
    codes = []
    for _ in range(25):
        code, url = sign_up("ada@example.com")
        mail = idempost_inbox.wait_for(to="ada@example.com", subject="Welcome", query=code)
        assert mail.code == code
        assert mail.link("Verify") == url
        assert mail.link(re.compile("help$")) == "https://acme.test/help"
        codes.append(code)
    assert idempost_inbox.wait_for(to="ada@example.com").code == codes[-1]
    assert [idempost_inbox.get(mail.id).code for mail in idempost_inbox.list()] == codes[::-1]


def test_a_wait_ends_with_the_next_mail(idempost_inbox: Inbox) -> None:
    sign_up("bob@example.com")
    first = idempost_inbox.wait_for(to="bob@example.com")
    with ThreadPoolExecutor() as threads:
        following = threads.submit(idempost_inbox.wait_for, to="bob@example.com", after=first)
        code, _ = sign_up("bob@example.com")
        assert following.result().code == code


def test_an_inbox_is_empty_at_the_start_of_a_test(idempost_inbox: Inbox) -> None:
    assert idempost_inbox.list() == []
    with pytest.raises(WaitTimeout, match=r"No mail with to 'nobody@example.com' within 0.1 s"):
        idempost_inbox.wait_for(to="nobody@example.com", timeout=0.1)


@pytest.mark.skipif("SUITE_SHARED" in os.environ, reason="the workers share a sandbox")
def test_a_fault_stays_in_its_worker(idempost_sandbox: Sandbox, idempost_inbox: Inbox) -> None:
    idempost_sandbox.fail("POST /emails", status=422, always=True)
    with pytest.raises(resend.exceptions.ResendError):
        sign_up("ada@example.com")
    idempost_sandbox.clock.advance("1h")
    assert idempost_inbox.list() == []


def test_a_fault_ends_with_its_test(idempost_sandbox: Sandbox, idempost_inbox: Inbox) -> None:
    code, _ = sign_up("ada@example.com")
    assert idempost_inbox.wait_for().code == code
    assert abs(idempost_sandbox.clock.show().ahead_seconds) < 60
