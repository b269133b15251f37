from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

MAX_CALLS = 1000  # in a batch
MAX_BYTES = 8 << 20
_FLIGHTS = 4
_SLOW = 0.1  # seconds


class Item(Protocol):
    """A call that can travel in a batch."""

    @property
    def size(self) -> int:
        """The bytes of the call in a batch."""
        ...

    @property
    def most(self) -> int:
        """The highest number of calls in a batch with this one."""
        ...


I = TypeVar("I", bound=Item)


class Flight(Generic[I]):
    """Calls that are under way in one request."""

    def __init__(self, items: list[I], slow: float) -> None:
        self.items, self.slow = items, slow


class Coalescer(Generic[I]):
    """Decides which calls go out together, and when.

    At most 4 requests are under way. A call that finds fewer goes out at once. The others wait
    until one of the 4 ends, or has taken longer than 100 ms: such a slow one no longer counts. Then
    all that wait go out in one batch of at most 1000 calls and 8 MiB.

    It has no clock, sends nothing, and is not safe for threads. After each add, end and remove, and
    at the time of wake, the caller must send what next returns, until that is None.
    """

    def __init__(self) -> None:
        self.waiting: collections.deque[I] = collections.deque()
        self._flights: dict[Flight[I], None] = {}  # those that count, the earliest start first

    def add(self, item: I) -> None:
        """Add a call."""
        self.waiting.append(item)

    def next(self, now: float) -> Flight[I] | None:
        """Return the next calls to send in one request. None: nothing can be sent now."""
        while self._flights and (first := next(iter(self._flights))).slow <= now:
            del self._flights[first]
        if not self.waiting or len(self._flights) >= _FLIGHTS:
            return None
        flight = Flight(take(self.waiting), now + _SLOW)
        self._flights[flight] = None
        return flight

    def end(self, flight: Flight[I]) -> None:
        """Note that a request has ended."""
        self._flights.pop(flight, None)

    def remove(self, item: I) -> bool:
        """Remove a call. Report whether it was still waiting."""
        try:
            self.waiting.remove(item)
        except ValueError:
            return False
        return True

    def wake(self) -> float | None:
        """Return the time at which a request becomes slow, so that a waiting call can go out. None: no call waits."""
        return next(iter(self._flights)).slow if self.waiting and self._flights else None


def take(waiting: collections.deque[I]) -> list[I]:
    """Remove the calls of the next batch from a queue that is not empty."""
    count = fitting(waiting)
    return [waiting.popleft() for _ in range(count)]


def fitting(items: Iterable[Item]) -> int:
    """Return how many of the first calls fit into one batch. A call that is too large has a request of its own."""
    count, size, most = 0, 0, MAX_CALLS
    for item in items:
        most, size = min(most, item.most), size + item.size
        if count > 0 and (count >= most or size > MAX_BYTES):
            break
        count += 1
    return count
