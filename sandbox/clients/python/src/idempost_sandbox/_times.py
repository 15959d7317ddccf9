from __future__ import annotations

import re
from datetime import datetime, timezone

from ._errors import SandboxError

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*")


def seconds(duration: float | str) -> float:
    """A duration in seconds, or in words such as ``2s`` and ``1m 30s``."""
    if not isinstance(duration, str):
        return float(duration)
    parts = list(PART.finditer(duration))
    if not parts or "".join(part.group() for part in parts) != duration:
        raise SandboxError("usage", f"A duration must be a number of seconds or text such as `2s`; found {duration!r}.")
    return sum(float(part[1]) * UNITS[part[2]] for part in parts)


def rfc3339(time: datetime) -> str:
    return time.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def parsed(text: str) -> datetime:
    """A time in UTC, with any number of digits after the second."""
    date, time, fraction = re.fullmatch(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|\+00(?::?00)?)", text).groups(default="")  # type: ignore[union-attr]
    return datetime.fromisoformat(f"{date}T{time}.{fraction[:6]:0<6}+00:00")
