"""What the isolation suite leaves out: starting and stopping, joining, and errors."""

import http.client
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone

import pytest
import resend

from idempost_sandbox import Attachment, Sandbox, SandboxError, WaitTimeout

EMAIL = {"from": "Acme <hi@acme.test>", "to": "ada@example.com", "subject": "Welcome", "text": "Your code is 123456."}


def is_up(url):
    try:
        return urllib.request.urlopen(f"{url}/healthz", timeout=5).status == 200
    except OSError:
        return False


def gone(url):
    end = time.monotonic() + 10
    while is_up(url):
        assert time.monotonic() < end, f"{url} still runs"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox.start(args=["--smtp-port=0"]) as sandbox:
        yield sandbox


@pytest.fixture
def send(monkeypatch):
    def send(inbox, **fields):
        monkeypatch.setattr(resend, "api_key", inbox.key)
        monkeypatch.setattr(resend, "api_url", inbox.env["RESEND_API_URL"])
        return resend.Emails.send({**EMAIL, **fields})["id"]

    return send


STARTER = "import time; from idempost_sandbox import Sandbox; print(Sandbox.start().url, flush=True); {}"


def test_a_sandbox_stops_when_the_program_that_started_it_is_killed():
    with subprocess.Popen([sys.executable, "-c", STARTER.format("time.sleep(600)")], stdout=subprocess.PIPE, text=True) as starter:
        url = starter.stdout.readline().strip()
        assert is_up(url)
        starter.send_signal(signal.SIGKILL)
    gone(url)


def test_a_program_can_exit_while_its_sandbox_runs():
    gone(subprocess.check_output([sys.executable, "-c", STARTER.format("")], text=True, timeout=20).strip())


def test_a_forked_process_ends_and_leaves_the_sandbox_to_the_one_that_started_it():
    script = "import os; from idempost_sandbox import Sandbox; sandbox = Sandbox.start(); {}; os.waitpid(child, 0); print(sandbox.inbox().list())"
    # At its exit, the child runs the handlers that it has inherited.
    assert subprocess.check_output([sys.executable, "-c", script.format("child = os.fork() or exit()")], text=True, timeout=20) == "[]\n"
    assert subprocess.check_output([sys.executable, "-c", script.format("child = os.fork() or exit(sandbox.stop())")], text=True, timeout=20) == "[]\n"


def test_stop_ends_the_sandbox_and_can_be_repeated():
    sandbox = Sandbox.start()
    sandbox.stop()
    sandbox.stop()
    gone(sandbox.url)
    with pytest.raises(SandboxError, match="can't be reached .*refused") as failed:
        sandbox.inbox().list()
    assert failed.value.code == "unreachable"


def test_a_missing_program_is_an_error_that_says_how_to_install_it():
    with pytest.raises(SandboxError, match=r"^The program `no-such-program` doesn't exist\. Install it with `cargo install") as failed:
        Sandbox.start(binary="no-such-program")
    assert failed.value.code == "program_missing"


def test_another_program_and_wrong_arguments_are_errors_with_their_reasons(tmp_path, monkeypatch):
    with pytest.raises(SandboxError, match="^`echo` isn't the program of this package"):
        Sandbox.start(binary="echo")
    # With a child that holds the streams, as of a wrapper script.
    program = tmp_path / "other"
    program.write_text('#!/bin/sh\necho \'{"name":"another"}\'\nsleep 600; exit\n')
    program.chmod(0o755)
    start = time.monotonic()
    with pytest.raises(SandboxError, match=r'isn\'t the program of this package; it printed: {"name":"another"}$'):
        Sandbox.start(binary=program)
    program.write_text("#!/bin/sh\necho slow >&2\nsleep 600; exit\n")
    monkeypatch.setattr("idempost_sandbox._program.START_TIMEOUT", 0.5)
    with pytest.raises(SandboxError, match=r"other sandbox serve` wasn't ready after 0\.5 s: slow$"):
        Sandbox.start(binary=program)
    assert time.monotonic() - start < 60, "the children were awaited"
    monkeypatch.undo()
    with pytest.raises(SandboxError, match="unknown argument `--nope`$"):
        Sandbox.start(args=["--nope"])
    with pytest.raises(SandboxError, match="--auth.*--insecure"):
        Sandbox.start(args=["--host=0.0.0.0"])


def test_a_url_without_a_scheme_and_filters_that_are_no_text_are_rejected(sandbox):
    for url in ("localhost:4010", "127.0.0.1:4010"):
        with pytest.raises(SandboxError, match=f"^The URL of a sandbox must begin with http:// or https://; found '{url}'.$"):
            Sandbox.join(url)
    with pytest.raises(SandboxError, match=r"^`to` must be text; found \['ada@example.com'\]\.$") as failed:
        sandbox.inbox().wait_for(to=["ada@example.com"])
    assert failed.value.code == "usage"


def test_the_variables_of_a_shell_neither_forward_mail_nor_set_a_password(tmp_path, monkeypatch):
    program = tmp_path / "idempost"
    key = "${IDEMPOST_SANDBOX_FORWARD-none}${IDEMPOST_SANDBOX_RELEASE-none}${IDEMPOST_SANDBOX_AUTH-none}"
    program.write_text("#!/bin/sh\necho '{\"base_url\":\"http://127.0.0.1:9\",\"api_key\":\"'\"" + key + "\"'\"}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("IDEMPOST_SANDBOX_FORWARD", "smtp://mail.example")
    monkeypatch.setenv("IDEMPOST_SANDBOX_RELEASE", "smtp://mail.example")
    monkeypatch.setenv("IDEMPOST_SANDBOX_AUTH", "correct-horse")
    with Sandbox.start(binary=program) as sandbox:
        assert sandbox.key == "nonenonenone"


def test_a_sandbox_with_a_password_is_joined_with_it_and_its_inboxes_have_keys_with_it(send):
    # As in a container: on all addresses, under a name.
    with Sandbox.start(password="correct-horse", args=["--host=0.0.0.0", "--allow-host=mail"]) as started:
        with pytest.raises(SandboxError, match="Pass its password") as failed:
            Sandbox.join(started.url)
        assert failed.value.code == "key_rejected"
        with Sandbox.join(started.url, password="correct-horse") as joined:
            inbox = joined.inbox()
            assert inbox.key.startswith("sb_correct-horse_")
            send(inbox)
            assert inbox.wait_for().code == "123456"
        assert is_up(started.url), "only the program that started a sandbox stops it"


def test_a_proxy_is_not_used(sandbox, send, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    inbox = sandbox.inbox()
    assert inbox.list() == []
    # The application doesn't use it either.
    for before, after in [(None, "127.0.0.1"), ("corp.test", "corp.test,127.0.0.1"), ("corp.test, 127.0.0.1", "corp.test, 127.0.0.1"), ("*", "*")]:
        monkeypatch.delenv("no_proxy", raising=False)
        if before:
            monkeypatch.setenv("no_proxy", before)
        assert [inbox.env[name] for name in ("NO_PROXY", "no_proxy")] == [after, after]
    monkeypatch.delenv("no_proxy")
    for name, value in inbox.env.items():
        monkeypatch.setenv(name, value)
    send(inbox)
    assert inbox.wait_for().code == "123456"


def test_the_variables_are_those_of_sandbox_run(sandbox):
    assert sandbox.env == {
        "IDEMPOST_BASE_URL": sandbox.url,
        "IDEMPOST_API_KEY": "sb_local",
        "RESEND_BASE_URL": f"{sandbox.url}/",
        "RESEND_API_URL": sandbox.url,
        "RESEND_API_KEY": "sb_local",
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(sandbox.smtp[1]),
    }


def test_the_environment_points_to_the_inbox_during_a_test(idempost_inbox):
    assert {name: os.environ[name] for name in idempost_inbox.env} == idempost_inbox.env
    assert resend.api_key == idempost_inbox.key


def test_a_mail_has_its_fields_and_filters_find_it(sandbox, send):
    inbox = sandbox.inbox()
    address = inbox.address("ada")
    assert address != inbox.address("ada")
    email_id = send(
        inbox,
        to=address,
        subject="Grüße & more",
        html="<p>Code: 123456</p>",
        tags=[{"name": "kind", "value": "a_b"}],
        attachments=[{"filename": "a.txt", "content": "aGVsbG8="}],
    )
    for filter in ({"to": address}, {"from_": "Acme"}, {"subject": "GRÜß"}, {"tag": {"kind": "a_b"}}, {"query": "code grüße"}):
        assert inbox.wait_for(**filter, timeout="2s").email_id == email_id, filter
    mail = inbox.get(email_id)
    assert (mail.from_, mail.to, mail.subject, mail.tags) == (EMAIL["from"], [address], "Grüße & more", {"kind": "a_b"})
    assert mail.attachments == [Attachment("a.txt", "text/plain", 5)]
    assert abs(mail.created_at - datetime.now(timezone.utc)) < timedelta(minutes=1)
    assert mail.source().startswith(b"From: ")
    assert mail.header("TO") == address
    assert inbox.list(tag={"kind": "other"}) == []
    mail.record("bounced")
    assert mail.last_event == inbox.list()[0].last_event == "bounced"
    inbox.clear()
    assert inbox.list() == []


def test_a_list_has_all_pages(sandbox, send):
    inbox = sandbox.inbox()
    send(inbox)
    for _ in range(3):
        resend.Batch.send([EMAIL] * 70)
    assert len({mail.id for mail in inbox.list()}) == 211


def test_a_list_continues_after_mails_that_are_deleted_while_it_is_read(sandbox, send, monkeypatch):
    inbox = sandbox.inbox()
    send(inbox)
    for _ in range(3):
        resend.Batch.send([EMAIL] * 70)
    request = inbox._request

    def read(*page, **options):
        response = request(*page, **options)
        monkeypatch.undo()
        for mail in response["data"][-2:]:
            request("DELETE", f"/_/messages/{mail['id']}")
        return response

    monkeypatch.setattr(inbox, "_request", read)
    assert [mail.id for mail in inbox.list()] == [mail.id for mail in inbox.list()]


def test_a_timeout_names_the_filter_and_what_arrived_instead(sandbox, send):
    inbox = sandbox.inbox()
    send(inbox)
    send(inbox, subject="Later", scheduled_at=(datetime.now(timezone.utc) + timedelta(hours=1)).isoformat())
    with pytest.raises(WaitTimeout) as failed:
        inbox.wait_for(to="bob@example.com", subject="Hi", timeout=0.05)
    assert str(failed.value).splitlines() == [
        "No mail with to 'bob@example.com', subject 'Hi' within 0.05 s.",
        "Mails of this inbox, newest first:",
        "  'Welcome' from Acme <hi@acme.test> to ada@example.com",
        "Emails that were not sent:",
        "  'Later' from Acme <hi@acme.test> to ada@example.com (scheduled)",
    ]
    with pytest.raises(WaitTimeout, match=r"This inbox is empty: .*\nOther keys of the sandbox have mails:\n  sb_"):
        sandbox.inbox().wait_for(timeout=0.05)


def test_a_mail_without_a_code_or_link_says_what_it_has(sandbox, send):
    inbox = sandbox.inbox()
    send(inbox, text="See https://acme.test/a", html='See <a href="https://acme.test/a">Details</a>')
    mail = inbox.wait_for()
    with pytest.raises(SandboxError, match=r"^The mail 'Welcome' to ada@example.com contains no code\. Its text:\nSee"):
        _ = mail.code
    with pytest.raises(SandboxError, match="contains no link that matches 'Verify'. Its links:\n  'Details' https://acme.test/a$"):
        mail.link("Verify")
    assert mail.link() == "https://acme.test/a"


def test_faults_are_added_in_the_words_of_the_program_used_up_and_removed(sandbox):
    def status():
        request = urllib.request.Request(f"{sandbox.url}/domains", headers={"Authorization": "Bearer sb_local"})
        try:
            return urllib.request.urlopen(request).status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    fault = sandbox.fail("GET /domains", status=503, name="custom", times=2)
    assert fault.client_gets == "503 custom"
    assert [status(), status(), status()] == [503, 503, 200]
    fault.remove()
    sandbox.fail("/domains", rate_limit=True, retry_after=2, after=1)
    assert [status(), status(), status()] == [200, 429, 200]
    sandbox.fail(drop=True, always=True)
    with pytest.raises((OSError, http.client.HTTPException)):
        status()
    sandbox.restore()
    assert status() == 200
    words = ({"lose": True}, {"truncate": 3}, {"stall": True}, {"slow": "1m 30s"}, {"rotate_then_lose": True}, {"percent": 30})
    for one in words:
        sandbox.fail("" if "rotate_then_lose" in one else "get /domains", **one)
    assert "451" in sandbox.fail("SMTP rcpt", code=451, times=3).client_gets
    sandbox.restore()
    for rule, options, message in (
        ("POST /emails", {"drop": True, "lose": True}, "can't be used together"),
        ("POST /emails", {"slow": "2 weeks"}, "found '2 weeks'"),
        ("POST /emails now", {}, "found 'POST /emails now'"),
        ("POST /nowhere", {}, "/nowhere"),
    ):
        with pytest.raises(SandboxError, match=message):
            sandbox.fail(rule, **options)


def test_the_clock_moves_and_is_restored(sandbox, send):
    inbox = sandbox.inbox()
    send(inbox, scheduled_at=(datetime.now(timezone.utc) + timedelta(hours=1)).isoformat())
    assert inbox.list() == []
    assert sandbox.clock.advance("1h 30m").ahead_seconds > 5_000
    assert inbox.wait_for().subject == "Welcome"
    day = datetime(2030, 1, 1, tzinfo=timezone.utc)
    sandbox.clock.freeze()
    state = sandbox.clock.set(day)
    assert (state.now, state.frozen) == (day, True)
    sandbox.clock.scale(60)
    sandbox.restore()
    state = sandbox.clock.show()
    assert (state.frozen, state.scale) == (False, 1) and abs(state.ahead_seconds) < 60


def test_the_clock_of_an_inbox_concerns_no_other_and_is_restored(sandbox, send):
    inbox, other = sandbox.inbox(), sandbox.inbox()
    for one in (inbox, other):
        send(one, scheduled_at=(datetime.now(timezone.utc) + timedelta(hours=1)).isoformat())
    assert inbox.clock.advance("1h 30m").ahead_seconds > 5_000
    assert inbox.wait_for().subject == "Welcome"
    assert other.list() == []
    assert abs(sandbox.clock.show().ahead_seconds) < 60
    sandbox.restore()
    assert abs(inbox.clock.show().ahead_seconds) < 60


def test_mails_are_received_and_events_sent(sandbox, send):
    inbox = sandbox.inbox()
    send(inbox)
    email = {"from": "ada@example.com", "to": "support@acme.test", "subject": "Help", "text": "It broke"}
    assert resend.Emails.Receiving.get(inbox.receive(email, dkim="pass"))["subject"] == "Help"
    raw = inbox.receive("From: a@b.test\r\nSubject: Raw\r\n\r\nHi", to=["x@acme.test", "y@acme.test"])
    assert resend.Emails.Receiving.get(raw)["subject"] == "Raw"
    assert inbox.trigger("email.bounced") == []
    resend.Webhooks.create({"endpoint": "http://127.0.0.1:9/", "events": ["email.bounced"]})
    assert inbox.trigger("email.bounced", {"bounce": {"type": "Transient"}})[0]["event_id"].startswith("msg_")
    inbox.reset()
    assert resend.Webhooks.list()["data"] == []
