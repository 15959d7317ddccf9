"""Programs and libraries that send mail by SMTP, with their default settings but for server and login: each sends an email with non-ASCII text and
a file, and the sandbox has each part of it unchanged. Usage: clients.py HOST:PORT, with PEER_BASE_URL; the programs are in PATH, and PHPMailer and
Ruby's `mail` are Debian's."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request
from email.message import EmailMessage

import aiosmtplib
import apprise
import django
from django.conf import settings

HOST, PORT = sys.argv[1].rsplit(":", 1)
USER, KEY = "resend", "re_mail_clients"
FROM, SUBJECT, TEXT, HTML = "hi@acme.test", "Grüße", "Größe: 17 €", "<p>Größe: <b>17 €</b></p>"
FILE, CONTENT = "order.csv", b"17,\x00\xff"
HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(tempfile.mkdtemp())
(FOLDER / FILE).write_bytes(CONTENT)
# Their scripts read the email from here.
ENVIRONMENT = os.environ | {
    "HOME": str(FOLDER), "MAIL_HOST": HOST, "MAIL_PORT": PORT, "MAIL_USER": USER, "MAIL_KEY": KEY, "MAIL_FROM": FROM, "MAIL_SUBJECT": SUBJECT,
    "MAIL_TEXT": TEXT, "MAIL_HTML": HTML, "MAIL_FILE": str(FOLDER / FILE), "LC_ALL": "C.UTF-8",
    "GIT_COMMITTER_NAME": "Acme", "GIT_COMMITTER_EMAIL": FROM, "GIT_AUTHOR_NAME": "Acme", "GIT_AUTHOR_EMAIL": FROM,
}


def run(*command, text=""):
    done = subprocess.run(command, input=text, env=ENVIRONMENT, cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stdout}{done.stderr}"


def message(to):
    email = EmailMessage()
    email["From"], email["To"], email["Subject"] = FROM, to, SUBJECT
    email.set_content(TEXT)
    email.add_alternative(HTML, subtype="html")
    email.add_attachment(CONTENT, maintype="application", subtype="octet-stream", filename=FILE)
    return email


def with_aiosmtplib(to):
    asyncio.run(aiosmtplib.send(message(to), hostname=HOST, port=int(PORT), username=USER, password=KEY))


def with_django(to):
    from django.core.mail import EmailMultiAlternatives

    email = EmailMultiAlternatives(SUBJECT, TEXT, FROM, [to])
    email.attach_alternative(HTML, "text/html")
    email.attach(FILE, CONTENT, "application/octet-stream")
    assert email.send() == 1


def with_apprise(to):
    notifier = apprise.Apprise()
    notifier.add(f"mailto://{USER}:{KEY}@{HOST}:{PORT}/{to}?from={FROM}&smtp={HOST}&format=html")
    assert notifier.notify(title=SUBJECT, body=HTML, attach=str(FOLDER / FILE))


def with_phpmailer(to):
    run("php", str(HERE / "phpmailer.php"), to)


def with_ruby(to):
    run("ruby", str(HERE / "mail.rb"), to)


def with_mutt(to):
    rc = FOLDER / "muttrc"
    # It requires TLS by default.
    rc.write_text(f'set ssl_force_tls=no\nset from="{FROM}"\nset smtp_url="smtp://{USER}@{HOST}:{PORT}/"\nset smtp_pass="{KEY}"\nset copy=no\nset send_charset="utf-8"\n')
    run("mutt", "-n", "-F", str(rc), "-s", SUBJECT, "-a", FILE, "--", to, text=TEXT)


def with_msmtp(to):
    run(
        "msmtp", f"--host={HOST}", f"--port={PORT}", "--auth=plain", f"--user={USER}", f"--passwordeval=echo {KEY}", f"--from={FROM}", to,
        text=message(to).as_string(),
    )


def with_curl(to):
    # By default, it sends lines unchanged, instead of ending them with CRLF as SMTP requires.
    run(
        "curl", "--silent", "--show-error", "--ssl", "--crlf", "--url", f"smtp://{HOST}:{PORT}", "--user", f"{USER}:{KEY}", "--mail-from", FROM, "--mail-rcpt", to,
        "--upload-file", "-", text=message(to).as_string(),
    )


def with_git(to):
    patch = FOLDER / "0001-change.patch"
    patch.write_text(
        f"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: {FROM}\nDate: Thu, 26 Nov 2026 12:00:00 +0000\n"
        f"Subject: {SUBJECT}\n\n{TEXT}\n",
        encoding="utf-8",
    )
    run(
        "/usr/bin/git", "send-email", "--quiet", "--confirm=never", "--suppress-cc=all", "--8bit-encoding=UTF-8", f"--from={FROM}", f"--to={to}",
        f"--smtp-server={HOST}", f"--smtp-server-port={PORT}", f"--smtp-user={USER}", f"--smtp-pass={KEY}", str(patch),
    )


def get(path):
    request = urllib.request.Request(os.environ["PEER_BASE_URL"] + path, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def received(to):
    """The subject, text, HTML and files of the one email to a recipient."""
    [listed] = [email for email in get("/emails?limit=100")["data"] if email["to"] == [to]]
    email = get(f"/emails/{listed['id']}")
    files = get(f"/emails/{listed['id']}/attachments")["data"]
    contents = {}
    for file in files:
        with urllib.request.urlopen(file["download_url"], timeout=20) as response:
            contents[file["filename"]] = response.read()
    return email["subject"], (email["text"] or "").strip(), (email["html"] or "").strip(), contents


settings.configure(EMAIL_HOST=HOST, EMAIL_PORT=int(PORT), EMAIL_HOST_USER=USER, EMAIL_HOST_PASSWORD=KEY)
django.setup()

FILES = {FILE: CONTENT}
ALL = (SUBJECT, TEXT, HTML, FILES)
CLIENTS = {
    "aiosmtplib": (with_aiosmtplib, ALL),
    "Django": (with_django, ALL),
    "Apprise": (with_apprise, ALL),
    "PHPMailer": (with_phpmailer, ALL),
    "Ruby mail": (with_ruby, ALL),
    "msmtp": (with_msmtp, ALL),
    "curl --ssl": (with_curl, ALL),
    "mutt": (with_mutt, (SUBJECT, TEXT, "", FILES)),
    "git send-email": (with_git, (SUBJECT, TEXT, "", {})),
}
failed = False
for name, (send, expected) in CLIENTS.items():
    recipient = name.lower().replace(" ", "-") + "@example.com"
    try:
        send(recipient)
        found = received(recipient)
        assert found == expected, f"\n  found    {found}\n  expected {expected}"
    except Exception as error:
        failed = True
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
if failed:
    sys.exit(1)
print(", ".join(CLIENTS) + ": text, HTML and files arrive unchanged; all ok")
