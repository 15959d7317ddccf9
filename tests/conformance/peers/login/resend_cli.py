"""The npm client `resend-cli`, unchanged but for its base address: its own login in a browser, on a terminal of its own; then a send, and
a send with a token that it had to renew."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

here = Path(__file__).resolve().parent
work = here / "resend-cli-home"
work.mkdir()
program = here / "node_modules/.bin/resend"

# The command with which it opens the browser.
opener = work / "bin/xdg-open"
opener.parent.mkdir()
opener.write_text(f'#!/bin/sh\nexec node "{here}/browser.mjs" "$1"\n')
opener.chmod(0o700)

keep = {name: value for name, value in os.environ.items() if not name.startswith("RESEND_") and name != "CI"}
environment = {
    **keep,
    "PATH": f"{opener.parent}:{os.environ['PATH']}",
    "HOME": str(work),
    "XDG_CONFIG_HOME": str(work),
    "TERM": "xterm",
    "NODE_ENV": "production",
    "RESEND_BASE_URL": os.environ["PEER_BASE_URL"],
    "RESEND_CREDENTIAL_STORE": "file",
    "RESEND_NO_UPDATE_NOTIFIER": "1",
    "RESEND_TELEMETRY_DISABLED": "1",
}


def on_a_terminal(arguments, keys, limit=60):
    """Runs the program on a terminal, presses keys when it asks, and gives what it wrote."""
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.execve(program, [str(program), *arguments], environment)
    written, until = b"", time.monotonic() + limit
    while time.monotonic() < until:
        ready, _, _ = select.select([terminal], [], [], 0.2)
        if ready:
            try:
                chunk = os.read(terminal, 65536)
            except OSError:
                break
            if not chunk:
                break
            written += chunk
        for asked, key in list(keys):
            if asked in written:
                os.write(terminal, key)
                keys.remove((asked, key))
    else:
        os.kill(process, 9)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0, written.decode(errors="replace")


def run(*arguments):
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return json.loads(done.stdout)


def send(subject):
    return run("--json", "emails", "send", "--from", "hi@acme.test", "--to", "ada@example.com", "--subject", subject, "--text", "Hi")


on_a_terminal(["login"], [(b"How would you like to authenticate?", b"\r")])
assert send("by its own login")["id"]

# Its file contains the token's expiry; once that is in the past, the token is refreshed before the next call.
stored = next(path for path in work.rglob("*.json") if "access_token_expires_at" in path.read_text())
text = json.loads(stored.read_text())


def age(value):
    if isinstance(value, dict):
        return {name: 0 if name == "access_token_expires_at" else age(inner) for name, inner in value.items()}
    return value


before = stored.read_text()
stored.write_text(json.dumps(age(text)))
assert send("with a renewed token")["id"]
assert stored.read_text() not in (before, json.dumps(age(text))), "nothing was renewed"
print("npm resend-cli: its own login in a browser, a send, a renewal")
