from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ._times import parsed, rfc3339


@dataclass(frozen=True)
class ClockState:
    now: datetime
    frozen: bool
    scale: float
    ahead_seconds: float


class Clock:
    """The clocks of all accounts of a sandbox, or the clock of one. What becomes due by a change has happened when the call returns."""

    def __init__(self, request: Callable[..., Any], changed: set[Clock], *, all_accounts: bool) -> None:
        self._request = request
        self._changed = changed
        self._all_accounts = all_accounts

    def show(self) -> ClockState:
        return _shown(self._request("GET", "/_/clock", query=[("all_accounts", str(self._all_accounts).lower())]))

    def advance(self, by: str) -> ClockState:
        """Advances the clock: ``90s``, ``1h 30m``, ``2 days``."""
        return self._change({"advance": by})

    def set(self, to: datetime | str) -> ClockState:
        """Sets the clock; ``now`` is the system's time."""
        return self._change({"set": to if isinstance(to, str) else rfc3339(to)})

    def freeze(self) -> ClockState:
        return self._change({"freeze": True})

    def run(self) -> ClockState:
        return self._change({"run": True})

    def scale(self, factor: float) -> ClockState:
        """Runs the clock this many times as fast as real time."""
        return self._change({"scale": factor})

    def _restore(self) -> None:
        self._change({"set": "now", "scale": 1, "run": True})
        self._changed.discard(self)

    def _change(self, body: dict[str, Any]) -> ClockState:
        self._changed.add(self)
        return _shown(self._request("POST", "/_/clock", body={**body, "all_accounts": self._all_accounts}))


def _shown(clock: dict[str, Any]) -> ClockState:
    return ClockState(parsed(clock["now"]), clock["frozen"], clock["scale"], clock["ahead_seconds"])
