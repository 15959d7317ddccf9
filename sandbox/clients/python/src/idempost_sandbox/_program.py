from __future__ import annotations

import atexit
import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ._errors import SandboxError

START_TIMEOUT = 10.0
STOP_TIMEOUT = 5.0
# What of the program's standard error is kept for messages, in lines.
MAX_LOG = 100
INSTALL = (
    "Install it with `cargo install --path cli` in a checkout of idempost, or set IDEMPOST_BINARY or the argument `binary` to its path; "
    "to use a sandbox that runs elsewhere, call Sandbox.join(url)."
)


class Program:
    """``idempost sandbox serve`` on a free port.

    It stops at the end of its standard input, so also when this process is killed. It has a session of its own: Ctrl-C stops the tests first.
    """

    def __init__(self, binary: str | os.PathLike[str] | None, args: Sequence[str], password: str | None) -> None:
        program = os.fspath(binary or os.environ.get("IDEMPOST_BINARY") or "idempost")
        env = dict(os.environ)
        # A test must not forward or release mail to a real server because a shell does, nor take over the password of another sandbox.
        env.pop("IDEMPOST_SANDBOX_FORWARD", None)
        env.pop("IDEMPOST_SANDBOX_RELEASE", None)
        env.pop("IDEMPOST_SANDBOX_AUTH", None)
        if password is not None:
            env["IDEMPOST_SANDBOX_AUTH"] = password
        self._owner = os.getpid()
        try:
            self._process = subprocess.Popen(
                [program, "sandbox", "serve", "--port", "0", "--until-eof", "--output", "json", *args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise SandboxError("program_missing", f"The program `{program}` doesn't exist. {INSTALL}") from error
        except OSError as error:
            raise SandboxError("start_failed", f"The program `{program}` can't be started: {error}") from error
        # The program must never wait for this process to read its log.
        log: collections.deque[bytes] = collections.deque(maxlen=MAX_LOG)
        self._reader = threading.Thread(target=log.extend, args=(self._process.stderr,), daemon=True)
        self._reader.start()
        end = time.monotonic() + START_TIMEOUT
        late = threading.Timer(START_TIMEOUT, self._kill)
        late.start()
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        late.cancel()
        if not line:
            status = self._process.wait()
            when = f"exited with {status} before it was ready" if time.monotonic() < end else f"wasn't ready after {START_TIMEOUT:g} s"
            self.stop()
            raise SandboxError("start_failed", f"`{program} sandbox serve` {when}: {_reason(b''.join(log))}".rstrip())
        try:
            self.description: dict[str, Any] = json.loads(line)
            self.description["base_url"]
        except (ValueError, KeyError, TypeError) as error:
            self._kill()
            self.stop()
            shown = line[:200].decode(errors="replace").rstrip()
            raise SandboxError("start_failed", f"`{program}` isn't the program of this package; it printed: {shown}") from error
        atexit.register(self.stop)

    def _kill(self) -> None:
        """Kills the program, with the children of a wrapper script, which hold its streams."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def stop(self) -> None:
        if os.getpid() != self._owner:
            # A fork: the sandbox belongs to the process that started it, and the reader, which isn't here, holds the lock of a stream.
            return
        atexit.unregister(self.stop)
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._kill()
            process.wait()
        self._reader.join(1.0)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _reason(log: bytes) -> str:
    """The messages of the program's error."""
    try:
        error = json.loads(log)["error"]
        return "; ".join(problem["message"] for problem in error.get("problems") or [error])
    except (ValueError, KeyError, TypeError):
        return log.decode(errors="replace")
