"""The program `idempost` against a certified authorization server that this project did not write (npm `oidc-provider`): login in a browser,
renewals with rotation, logout."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

here = Path(__file__).resolve().parent
idempost = sys.argv[1]
provider = subprocess.Popen(["node", here / "provider.mjs"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
base = provider.stdout.readline().strip()


def counted():
    with urllib.request.urlopen(f"{base}/_/counted", timeout=10) as answer:
        return json.load(answer)


with tempfile.TemporaryDirectory() as home:
    opener = Path(home, "opener")
    opener.write_text(f'#!/bin/sh\nexec node "{here}/browser.mjs" "$1"\n')
    opener.chmod(0o700)
    environment = {"PATH": os.environ["PATH"], "HOME": home, "BROWSER": str(opener), "IDEMPOST_BASE_URL": base}

    def run(*arguments, code=0):
        done = subprocess.run([idempost, *arguments], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def send():
        return run("emails", "send", "--from", "hi@acme.test", "--to", "ada@example.com", "--subject", "Hello", "--text", "Hi")

    try:
        run("auth", "login", "--store", "file", "--client-id", "idempost", "--scope", "emails:send")
        assert json.loads(run("auth", "status", "--json"))["scope"] == "emails:send"
        first = run("auth", "token")
        for _ in range(4):
            send()
        assert run("auth", "token") not in ("", first)
        # The first request has the token of the login, each further one follows a 401 and a refresh; no refresh token was reused.
        assert counted() == {"refreshed": 3, "sent": 4}, counted()
        run("auth", "logout")
        run("auth", "status", code=4)
    finally:
        provider.kill()
print("idempost with npm oidc-provider: login, three renewals, logout")
