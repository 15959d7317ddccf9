"""The parts of a network, all on loopback: the sandbox, a real proxy in front of it, and cables between the program, the proxy and the sandbox."""

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from cable import Cable

HERE = Path(__file__).resolve().parent
KEY = "sb_networks"
# The default values for the configurations; a cell can override them.
DEFAULTS = {
    "nginx": {
        "keepalive": "60s",
        "requests": "1000",
        "largest": "64m",
        "gzip": "off",
        "rate": "1000r/s",
        "burst": "burst=1000 nodelay",
        "second": "down",
        "next": "error timeout",
        "prefix": "/",
        "listen": "",
        "tls": "",
        "header": "",
        "log": "error",
    },
    "haproxy": {"options": "", "bind": "", "rules": "", "retry": ""},
    "squid": {"rules": ""},
    "stunnel": {},
    "mitmproxy": {"authority": "authority"},
}
FILES = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg", "squid": "squid.conf", "stunnel": "stunnel.conf", "mitmproxy": "mitmproxy.py"}
# The parts that the program's environment names as its proxy; the others are in front of the service.
FORWARD = ("squid", "mitmproxy")

_ports = itertools.count(20000 + os.getpid() % 8000)
_lock = threading.Lock()


def port():
    """A free port, below those that the system gives to clients."""
    with _lock:
        for number in _ports:
            with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", number)):
                return number


def wait_for(port, process=None):
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")


def certificates(folder):
    """An authority, another one, and a certificate of the first for this machine and `service.test`."""
    new = ["openssl", "req", "-x509", "-config", HERE / "certificates.cnf", "-nodes", "-days", "2"]
    new += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    by = ["-CA", folder / "authority.pem", "-CAkey", folder / "authority.key"]
    for name, section, more in (("authority", "authority", []), ("stranger", "authority", []), ("leaf", "leaf", by)):
        files = ["-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"]
        subprocess.run([*new, *more, "-extensions", section, *files], check=True, capture_output=True)
    # haproxy and mitmproxy read both from one file.
    for name, file in (("leaf", "both.pem"), ("authority", "authority-both.pem"), ("stranger", "stranger-both.pem")):
        (folder / file).write_text((folder / f"{name}.pem").read_text() + (folder / f"{name}.key").read_text())


class Network:
    """program - proxy - inner cable - sandbox, without a proxy if the cell has none, and with an outer cable before it if the cell's fault needs one."""

    def __init__(self, cell, folder, program, authority):
        self.cell, self.folder, self.program = cell, folder, program
        self.processes = {}
        self.cables = []
        folder.mkdir(parents=True)
        for file in authority.glob("*.*"):
            shutil.copy(file, folder)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "IDEMPOST_API_KEY": KEY,
            "SSL_CERT_FILE": str(folder / "authority.pem"),
        }
        self.sandbox = port()
        command = [program, "sandbox", "serve", "--port", str(self.sandbox), "--allow-host", "service.test"]
        self.start("sandbox", command, self.sandbox)
        self.inner = self.cable(self.sandbox, delay=cell.delay)
        self.outer = None
        self.build()

    def build(self):
        kind, tls = self.cell.proxy, "ssl" in self.cell.settings.get("listen", self.cell.settings.get("bind", ""))
        front = self.inner.port
        if kind in ("nginx", "haproxy", "stunnel"):
            front = self.to(self.proxy(kind, front))
        scheme = "https" if tls or kind == "stunnel" else "http"
        if kind in FORWARD:
            # The service is behind TLS, like every remote service.
            service = self.proxy("stunnel", front)
            self.front = self.to(self.proxy(kind, None))
            self.set_proxy(self.cell.user)
            self.environment["IDEMPOST_BASE_URL"] = f"https://service.test:{service}"
            return
        self.environment["IDEMPOST_BASE_URL"] = f"{scheme}://127.0.0.1:{front}{self.cell.path}"

    def to(self, port):
        """The port that leads to this one, by the outer cable if the fault needs it: the less there is in between, the more real it is."""
        if self.cell.fault.outer:
            self.outer = self.cable(port, raw=True)
        return self.outer.port if self.outer else port

    def set_proxy(self, user):
        self.environment["HTTPS_PROXY"] = f"http://{user}127.0.0.1:{self.front}"

    def cable(self, upstream, **options):
        cable = Cable(port(), upstream, **options)
        self.cables.append(cable)
        return cable

    def proxy(self, kind, upstream):
        """Starts a proxy with its configuration, and returns its port."""
        number = port()
        text = (HERE / FILES[kind]).read_text()
        settings = DEFAULTS[kind] | (self.cell.settings if kind == self.cell.proxy else {})
        settings = {**settings, "port": number, "upstream": upstream}
        for _ in range(2):
            for name, value in {**settings, "folder": self.folder}.items():
                text = text.replace(f"@{name}@", str(value))
        file = self.folder / FILES[kind]
        file.write_text(text)
        commands = {
            "nginx": ["nginx", "-c", file, "-e", self.folder / "nginx.error.log"],
            "haproxy": ["haproxy", "-W", "-f", file],
            "squid": ["squid", "-N", "-f", file],
            "stunnel": ["stunnel4", file],
            "mitmproxy": [
                "mitmdump", "--listen-host", "127.0.0.1", "--listen-port", number, "--scripts", file, "--set", f"confdir={self.folder}",
                "--set", f"ssl_verify_upstream_trusted_ca={self.folder}/authority.pem",
            ],
        }  # fmt: skip
        if kind == "mitmproxy":
            shutil.copy(self.folder / f"{settings['authority']}-both.pem", self.folder / "mitmproxy-ca.pem")
        if kind == "squid":
            self.prepare_squid()
        self.start(kind, commands[kind], number)
        return number

    def prepare_squid(self):
        # As root, squid becomes another user.
        self.folder.chmod(0o755)
        (self.folder / "squid").mkdir()
        (self.folder / "squid").chmod(0o777)
        (self.folder / "hosts").write_text("127.0.0.1 service.test\n")
        secret = subprocess.run(["openssl", "passwd", "-apr1", "sesame"], check=True, capture_output=True, text=True).stdout
        (self.folder / "passwords").write_text(f"ada:{secret}")

    def start(self, name, command, port):
        log = (self.folder / f"{name}.log").open("ab")
        environment = {**self.environment, "PATH": f"{os.environ['PATH']}:/usr/sbin"}
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True,
        )  # fmt: skip
        log.close()
        self.processes[name] = (process, command, port)
        wait_for(port, process)

    def signal(self, name, number):
        """Signals a process and its children."""
        os.killpg(self.processes[name][0].pid, number)

    # Actions on the parts, by the names that the cells use.

    def flag(self, name):
        (self.folder / name).touch()

    def unflag(self, name):
        (self.folder / name).unlink(missing_ok=True)

    def reload(self):
        process = self.processes[self.cell.proxy][0]
        process.send_signal(signal.SIGUSR2 if self.cell.proxy == "haproxy" else signal.SIGHUP)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            self.signal(self.cell.proxy, signal.SIGKILL)
        self.processes[self.cell.proxy][0].wait()

    def restart(self):
        process, command, port = self.processes[self.cell.proxy]
        if process.poll() is not None:
            # The socket of a killed process may linger.
            (self.folder / "squid" / "pid").unlink(missing_ok=True)
            self.start(self.cell.proxy, command, port)

    def pause(self):
        self.signal("sandbox", signal.SIGSTOP)
        # Until then, its threads may still respond.
        os.waitid(os.P_PID, self.processes["sandbox"][0].pid, os.WSTOPPED)

    def resume(self):
        self.signal("sandbox", signal.SIGCONT)

    def maintenance(self, state):
        """Takes haproxy's only server out of service, or back into it."""
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.folder / "haproxy.sock"))
            control.sendall(f"set server sandbox/one state {state}\n".encode())
            control.recv(1024)

    # The emails that the sandbox has captured: the ground truth.

    def captured(self):
        """The number of captured emails by recipient."""
        address = f"http://127.0.0.1:{self.sandbox}/_/export?format=json"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            mails = json.load(answer)
        counts = {}
        for mail in mails:
            for address in mail["to"]:
                counts[address] = counts.get(address, 0) + 1
        return counts

    def settled(self):
        """The same, once requests that were on their way have arrived."""
        before = self.captured()
        for _ in range(100):
            time.sleep(0.3)
            now = self.captured()
            if now == before:
                return now
            before = now
        raise RuntimeError("the sandbox still captures emails")

    def close(self):
        for process, _, _ in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for cable in self.cables:
            cable.close()
