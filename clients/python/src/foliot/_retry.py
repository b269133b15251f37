from __future__ import annotations

import random
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from ._errors import FoliotError, ProblemError, TransportError


@dataclass(frozen=True)
class RetryPolicy:
    """How calls are repeated.

    Between two requests the client waits for the backoff, and for the server's Retry-After in
    addition. The backoff doubles from min_backoff to max_backoff. A random part of up to half
    of it is left out.
    """

    attempts: int = 4
    """The highest number of requests for a call. 1: no repeats."""
    min_backoff: float = 0.1
    """Seconds before the second request."""
    max_backoff: float = 10
    """The longest backoff, and the longest Retry-After that the client waits for, in seconds."""

    def __post_init__(self) -> None:
        if not self.attempts >= 1:
            raise ValueError(f"invalid attempts {self.attempts!r}: expected 1 or more")
        for name, value in (("min_backoff", self.min_backoff), ("max_backoff", self.max_backoff)):
            if not value >= 0:
                raise ValueError(f"invalid {name} {value!r}: expected seconds, 0 or more")

    def pause(self, error: FoliotError, request: int, repeatable: bool) -> float | None:
        """Return the seconds before the next request. None: the call is not repeated."""
        if request >= self.attempts:
            return None
        backoff = self.backoff(request)
        if isinstance(error, ProblemError):
            again = error.status == 429 or (repeatable and busy(error.status))
            return error.retry_after + backoff if again and error.retry_after <= self.max_backoff else None
        if isinstance(error, TransportError):
            return backoff if not error.permanent and (repeatable or not error.maybe_applied) else None
        return None

    def backoff(self, request: int) -> float:
        """Return the seconds of the backoff after that number of requests."""
        return min(self.min_backoff * 2.0 ** min(request - 1, 64), self.max_backoff) * random.uniform(0.5, 1)


def busy(status: int) -> bool:
    """Report whether the server may accept the same request soon."""
    return status in (502, 503, 504)


def retry_after(value: str) -> float:
    """Return the seconds of a Retry-After, which is a number or a date. 0: there is none."""
    value = value.strip()
    if re.fullmatch("[0-9]+", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, IndexError, OSError):  # a date may be out of range
        return 0.0


_UNITS = {"d": 86400.0, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(duration: str) -> float:
    """Return the seconds of a duration such as "1m30s" or "1d". 0: it is not one."""
    return sum(float(amount) * _UNITS[unit] for amount, unit in re.findall(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(d|ns|us|µs|μs|ms|s|m|h)", duration))
