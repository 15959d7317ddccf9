"""The program `idempost` at authorization servers that this project did not write: login in a browser and, where the server offers it, in the device
flow; refreshes with rotation; logout. npm `oauth2-mock-server` is found by the metadata of an API at another origin."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

here = Path(__file__).resolve().parent
idempost = sys.argv[1]
# Each with whether the server offers the device flow.
servers = {
    "npm oidc-provider": (["node", here / "provider.mjs"], True),
    "npm oauth2-mock-server": (["node", here / "mock_server.mjs"], False),
    "PyPI Authlib on Flask": ([sys.executable, here / "authlib_server.py"], True),
}


def check(name, base, has_device_flow, home):
    def counted():
        with urllib.request.urlopen(f"{base}/_/counted", timeout=10) as answer:
            return json.load(answer)

    opener = Path(home, "opener")
    opener.write_text(f'#!/bin/sh\nexec node "{here}/browser.mjs" "$1"\n')
    opener.chmod(0o700)
    environment = {"PATH": os.environ["PATH"], "HOME": home, "BROWSER": str(opener), "IDEMPOST_BASE_URL": base}
    login = ["auth", "login", "--store", "file", "--client-id", "idempost", "--scope", "emails:send"]

    def run(*arguments, code=0):
        done = subprocess.run([idempost, *arguments], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, (name, arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def send():
        return run("emails", "send", "--from", "hi@acme.test", "--to", "ada@example.com", "--subject", "Hello", "--text", "Hi")

    run(*login)
    assert json.loads(run("auth", "status", "--json"))["scope"] == "emails:send"
    first = run("auth", "token")
    for _ in range(4):
        send()
    assert run("auth", "token") not in ("", first)
    # The first request sends the token of the login; each further one follows a 401 and a refresh. No refresh token was reused.
    assert counted() == {"refreshed": 3, "sent": 4}, (name, counted())
    run("auth", "logout")
    run("auth", "status", code=4)

    if has_device_flow:
        with subprocess.Popen(
            [idempost, *login, "--device", "--json"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as waiting:
            page = json.loads(waiting.stderr.readline())["open"]
            subprocess.run(["node", here / "browser.mjs", page["complete_url"]], check=True)
            stdout, stderr = waiting.communicate(timeout=120)
        assert waiting.returncode == 0 and json.loads(stdout)["kind"] == "login", (name, stdout, stderr)
        send()
        send()
        assert counted() == {"refreshed": 4, "sent": 6}, (name, counted())
        run("auth", "logout")
    else:
        run(*login, "--device", code=4)
    device = ", device flow" if has_device_flow else ", no device flow"
    print(f"idempost with {name}: login, three refreshes, logout{device}")


for name, (command, has_device_flow) in servers.items():
    with tempfile.TemporaryDirectory() as home, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            check(name, server.stdout.readline().strip(), has_device_flow, home)
        finally:
            server.kill()
