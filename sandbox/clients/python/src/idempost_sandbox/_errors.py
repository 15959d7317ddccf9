from __future__ import annotations


class SandboxError(Exception):
    """An operation of the sandbox failed.

    ``code`` is ``program_missing``, ``start_failed``, ``unreachable``, ``not_a_sandbox``, ``key_rejected``, ``usage``, ``timeout``,
    ``no_code``, ``no_link``, or the name of an error response, whose status is ``status``.
    """

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class WaitTimeout(SandboxError):
    """No matching mail arrived in time."""
