"""What a call is: the same for Client and AsyncClient. Nothing here reads a clock or a socket."""

from __future__ import annotations

import json
import math
import re
import secrets
import urllib.parse
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from ._errors import FoliotError
from .types import Task

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Plan(Protocol[T_co]):
    """What a method does: calls and pauses, one after another, and at the end its result."""

    def __iter__(self) -> Generator[Call[Any] | Many | Pause, Any, T_co]: ...


@dataclass(eq=False)
class Call(Generic[T]):
    """One use of one route. It is the plan of a method that makes only this call."""

    op: str  # verb and name, for errors
    method: str
    path: str
    repeatable: bool  # the server can apply the call twice without harm
    query: Mapping[str, object] = field(default_factory=dict[str, object])
    headers: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    json: object = None
    body: bytes | None = None
    verb: Literal["create", "put", "cancel", "touch"] | None = None  # its verb in a batch. None: it has a request of its own
    name: str = ""  # of the task, for cancel and touch
    reads: Literal["id", "tasks", "schedules", "queues"] | None = None  # the field of the reply that the client itself reads
    result: Callable[[Any], T] | None = None  # makes the result of the reply. None: the result is the reply
    extra: float = 0  # seconds in addition to the client's timeout
    end: float = math.inf  # the time of time.monotonic at which the call ends, with its repeats

    def __iter__(self) -> Generator[Call[Any], Any, T]:
        return cast(T, (yield self))


@dataclass(eq=False)
class Many:
    """Any number of calls that travel in batches. Each one has a result of its own."""

    calls: Sequence[Call[Any]]

    def __iter__(self) -> Generator[Many, Any, list[Result]]:
        return cast("list[Result]", (yield self))


@dataclass(frozen=True)
class Pause:
    """A pause between two requests, in seconds."""

    seconds: float


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A list that is read page by page."""

    page: Callable[[Mapping[str, object]], Call[Any]]
    query: Mapping[str, object]
    field: str

    def next(self, query: Mapping[str, object], page: Any) -> tuple[list[T], Mapping[str, object] | None]:
        """Return the items of a page, and the query of the page after it."""
        cursor = page.get("next_cursor")
        return cast("list[T]", page[self.field]), {**query, "cursor": cursor} if cursor else None


@dataclass(frozen=True)
class Cancelled:
    """The result of a cancel."""

    task: Task
    under_way: bool
    """An attempt is in progress, or may still begin, and it is the last one. If it is false, no attempt starts any more."""
    already: bool
    """The task was cancelled before this call."""


def cancelled(task: Task) -> Cancelled:
    """Return the result of a cancel from its reply."""
    return Cancelled(task, task.get("under_way", False), task.get("already", False))


@dataclass(frozen=True)
class Result:
    """The result of one task of create_many, put_many or cancel_many."""

    value: Task | None
    error: FoliotError | None
    """The error that the single call would raise. None: the call succeeded."""

    @property
    def task(self) -> Task:
        """The task. If the item was refused, reading it raises error, so look at error first. From cancel_many, its under_way and already are the rest of what cancel returns."""
        if self.error is not None:
            raise self.error
        return cast(Task, self.value)


def encode(value: object) -> bytes:
    """Encode a value as JSON, with times and durations as the API has them."""

    return _ENCODER.encode(value).encode()


def _text(value: object) -> object:
    text = plain(value)
    if text is value:
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return text


_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_text)


def plain(value: object) -> object:
    """Return a datetime as a time in RFC 3339, a timedelta as a duration, and another value as it is."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(f"invalid time {value.isoformat()}: it has no time zone: for a local time pass text such as '2031-03-30 09:00' and timezone, otherwise give the datetime a tzinfo, such as ZoneInfo('Europe/Berlin')")
        return value.astimezone(timezone.utc).isoformat()
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    return value


def query_of(query: Mapping[str, object]) -> str:
    """Return the query of a URL. A keyword argument ends with _ if Python reserves its name."""
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        for one in cast("list[object]", value) if isinstance(value, list) else [value]:
            if one is not None:
                pairs.append((name.rstrip("_"), str(one).lower() if isinstance(one, bool) else str(plain(one))))
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def below(path: str, name: str) -> str:
    """Return the path of the record with a name. A server reads "." and ".." as parts of the path."""
    if name in ("", ".", ".."):
        raise ValueError(f"invalid name {name!r}: a name has 1 to 256 characters and begins with a letter or digit")
    return path + urllib.parse.quote(name, safe="")


def conditions(if_match: str | None, if_none_match: str | None = None) -> dict[str, str | None]:
    """Return the headers of a condition."""
    return {"If-Match": if_match, "If-None-Match": if_none_match}


def keyed(key: str | None) -> dict[str, str | None]:
    """Return the header of an idempotency key: that key, or a new one."""
    return {"Idempotency-Key": secrets.token_hex(16) if key is None else key}


def forwarded(header: str) -> str:
    """Return the name under which publish sends a header. Content headers reach the receiver as they are. All others need a prefix."""
    if re.fullmatch("content-(type|encoding|language|disposition|digest)|foliot-forward-.*", header, re.I):
        return header
    return "Foliot-Forward-" + header
