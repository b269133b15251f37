from __future__ import annotations

import collections
import functools
import http.client
import io
import json
import math
import os
import re
import select
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email.message import Message
from typing import Any, Literal, TypeVar, cast

from ._errors import FoliotError, ProblemError, TransportError, text_of
from ._retry import RetryPolicy, retry_after
from ._version import __version__
from .types import Problem

_IDLE = 16  # idle connections that are kept
# The longest reply is a page of tasks with bodies: 8 MiB, which JSON may make six times as long.
_MAX_REPLY = 64 << 20
_LONGEST_TIMEOUT = 2_147_483.0  # seconds that a socket and a sleep can wait
_MAX_INTERIM = 100  # replies 100 Continue before a reply


@dataclass
class Call:
    """One use of one route."""

    op: str  # verb and name, for errors
    method: str
    path: str
    repeatable: bool  # the server can apply the call twice without harm
    query: Mapping[str, object] = field(default_factory=dict[str, object])
    headers: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    json: object = None
    body: bytes | None = None
    reads: Literal["id", "tasks", "schedules", "queues", "results"] | None = None  # the field of the reply that the client itself reads
    extra: float = 0  # seconds in addition to the client's timeout
    end: float = math.inf  # the time of time.monotonic at which the call ends, with its repeats


@dataclass
class _Request:
    """All requests of a call."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None


class Connection:
    """Sends calls to one server. Several threads may use it.

    It keeps idle connections, and a call takes one of them or opens another.
    """

    def __init__(
        self, server: str, token: str | None, namespace: str | None, timeout: float, retry: RetryPolicy, ssl_context: ssl.SSLContext | None, user_agent: str | None
    ) -> None:
        url = _parse(server)
        if not timeout > 0:
            raise ValueError(f"invalid timeout {timeout!r}: expected seconds above 0, or math.inf for no limit")
        self._base = server.rstrip("/")
        self._secure, self._host, self._port = url.scheme == "https", url.hostname, url.port
        self._path = urllib.parse.quote(url.path.rstrip("/"), safe="%/:@!$&'()*+,;=~")
        self._timeout, self._retry = timeout, retry
        self._context = (ssl_context or ssl.create_default_context()) if self._secure else None
        self._headers = {"User-Agent": user_agent or "foliot-python/" + __version__, "Accept-Encoding": "identity"}
        if token:
            if re.search("[^!-~]", token):
                raise ValueError("invalid token: it has a space, a line break or another character that is not allowed")
            self._headers["Authorization"] = "Bearer " + token
        if namespace:
            self._headers["Foliot-Namespace"] = namespace
        for name, value in self._headers.items():
            _check_header(name, value)
        # A deque's append and pop are atomic, so no lock is needed.
        self._idle: collections.deque[http.client.HTTPConnection] = collections.deque()
        self._process = os.getpid()

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # another thread took it
                return

    def call(self, c: Call) -> Any:
        """Send a call, and repeat it if that is allowed. Return the JSON of the reply, with the ETag as etag.

        If the call cannot be sent, because a header or the body is invalid, it raises a ValueError
        or a TypeError and sends nothing.
        """
        request = self._prepare(c)
        maybe_applied, requests = False, 0
        while True:
            requests += 1
            try:
                return self._once(c, request)
            except FoliotError as error:
                error.maybe_applied = maybe_applied = maybe_applied or error.maybe_applied
                pause = self._retry.pause(error, requests, c.repeatable)
                if pause is None:
                    raise
                left = c.end - time.monotonic()
                if left <= pause:
                    _sleep(left)
                    raise
            _sleep(pause)

    def _prepare(self, c: Call) -> _Request:
        """Encode a call. Raise all errors that do not depend on the network."""
        headers = {**self._headers, **{name: value for name, value in c.headers.items() if value is not None}}
        body = c.body
        if c.json is not None:
            headers["Content-Type"] = "application/json"
            body = encode(c.json)
        if not isinstance(cast(object, body), (bytes, bytearray, memoryview, type(None))):
            raise TypeError("invalid body: expected bytes")
        if body is None and c.method != "GET":
            headers["Content-Length"] = "0"
        for name, value in headers.items():
            _check_header(name, value)
        return _Request(c.method, self._path + c.path + _query(c.query), headers, body)

    def _once(self, c: Call, request: _Request) -> Any:
        connection, sent = None, False
        try:
            connection = self._take(min(self._timeout + c.extra, _left(c.end)))
            connection.response_class = functools.partial(_Response, end=c.end)
            sent = True
            connection.request(request.method, request.target, request.body, request.headers)
            response, data = _receive(connection)
        except (OSError, http.client.HTTPException) as error:
            if connection is not None:
                connection.close()
            raise TransportError(c.op, self._base, error, sent) from error
        except BaseException:  # an interrupt: the connection is in the middle of a reply
            if connection is not None:
                connection.close()
            raise
        if data is not None and connection.sock is not None and len(self._idle) < _IDLE:
            self._idle.append(connection)
        else:
            connection.close()
        return _decode(c, self._base, response.status, response.headers, data)

    def _take(self, timeout: float) -> http.client.HTTPConnection:
        """Return an idle connection that the server has not closed, or a new one."""
        limit = timeout if timeout <= _LONGEST_TIMEOUT else None
        if self._process != os.getpid():  # after a fork the parent uses the connections
            self.close()
            self._process = os.getpid()
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if connection.sock is not None and not _readable(connection.sock):
                connection.sock.settimeout(limit)
                return connection
            connection.close()
        assert self._host is not None
        if self._secure:
            fresh: http.client.HTTPConnection = http.client.HTTPSConnection(self._host, self._port, timeout=limit, context=self._context)
        else:
            fresh = http.client.HTTPConnection(self._host, self._port, timeout=limit)
        fresh.connect()
        return fresh


def _sleep(seconds: float) -> None:
    while seconds > 0:
        time.sleep(min(seconds, _LONGEST_TIMEOUT))
        seconds -= _LONGEST_TIMEOUT


def _left(end: float) -> float:
    """Return the seconds until a time of time.monotonic. At that time and later it raises TimeoutError."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


class _Response(http.client.HTTPResponse):
    """A reply that must be read before a time. It limits the number of replies 100 Continue before it."""

    def __init__(self, sock: Any, *args: Any, end: float, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._interim = 0
        if end < math.inf:
            self.fp: Any = io.BufferedReader(_Reader(self.fp.detach(), sock, end))

    def _read_status(self) -> Any:  # begin calls this for each 100 Continue, and for the reply
        if self._interim > _MAX_INTERIM:
            raise http.client.HTTPException(f"more than {_MAX_INTERIM} replies 100 Continue")
        self._interim += 1
        return super()._read_status()  # type: ignore[misc]


class _Reader(io.RawIOBase):
    """Reads a socket until a time. The timeout of the socket limits only one read."""

    def __init__(self, raw: io.RawIOBase, sock: Any, end: float) -> None:
        self._raw, self._sock, self._end, self._timeout = raw, sock, end, sock.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        self._sock.settimeout(min(self._timeout or math.inf, _left(self._end), _LONGEST_TIMEOUT))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _readable(sock: Any) -> bool:
    """Report whether an idle connection has data: the server has closed it."""
    if hasattr(select, "poll"):  # select has no room for high file descriptors
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock], [], [], 0)[0])


def _receive(connection: http.client.HTTPConnection) -> tuple[http.client.HTTPResponse, bytes | None]:
    """Return a reply and its body. Without a body it is longer than _MAX_REPLY: the connection cannot be used again."""
    try:
        response = connection.getresponse()
        if response.length is not None and response.length <= _MAX_REPLY:
            return response, response.read()  # read(amount) would not report a body that is too short
        parts: list[bytes] = []
        left = _MAX_REPLY if response.length is None else -1
        while left >= 0 and (part := response.read(1 << 16)):
            parts.append(part)
            left -= len(part)
        if left >= 0:
            return response, b"".join(parts)
        response.close()
        return response, None
    except (ValueError, OverflowError) as error:  # from the length of a chunk
        raise http.client.HTTPException(f"invalid reply: {error}") from error


def _decode(c: Call, server: str, status: int, headers: Message, data: bytes | None) -> Any:
    media = headers.get_content_type()
    reply = _object(data or b"") if media in ("application/json", "application/problem+json") else None
    if 200 <= status < 300 and media == "application/json" and reply is not None and _suits(c, reply):
        etag = headers.get("ETag")
        return reply if etag is None else {**reply, "etag": etag}
    problem = cast(Problem, reply) if media == "application/problem+json" and reply and text_of(reply.get("code")) else None
    if problem:
        detail = text_of(problem.get("detail")) or text_of(problem.get("title")) or problem["code"]
    else:
        lacks = "with more than 64 MiB" if data is None else f"without a Foliot {'reply' if 200 <= status < 300 else 'error'}"
        detail = f"{server} replied {status} {lacks}: is it a Foliot server?"
    refused = 300 <= status < 500 or (problem is not None and problem["code"] in ("capacity", "store_unfit"))
    raise ProblemError(c.op, status, problem, detail, retry_after(headers), not refused)


def _object(data: bytes) -> dict[str, Any] | None:
    """Return the object of a JSON text. None: it is not an object."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _suits(c: Call, reply: Mapping[str, object]) -> bool:
    """Report whether a reply has the field that the client reads."""
    return c.reads is None or isinstance(reply.get(c.reads), str if c.reads == "id" else list)


def _parse(server: str) -> urllib.parse.SplitResult:
    url = urllib.parse.urlsplit(server)
    if url.scheme not in ("http", "https") or not _valid_host(url.hostname):
        raise ValueError("invalid server URL: expected a URL such as http://127.0.0.1:8750")
    if url.username or url.password:
        raise ValueError("the server's URL must not have a user name or password: pass token")
    if url.query or url.fragment:
        raise ValueError("the server's URL must not have a query or a fragment")
    return url


def _valid_host(host: str | None) -> bool:
    try:
        return bool(host) and not re.search(r"[\x00-\x20\x7f]", host) and bool(host.encode("idna"))
    except UnicodeError:
        return False


def _check_header(name: str, value: str) -> None:
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        raise ValueError(f"invalid header name {name!r}")
    if not isinstance(cast(object, value), str):
        raise TypeError(f"invalid value of the header {name}: expected a string")
    if re.search(r"[^\t -~\x80-\xff]", value):
        raise ValueError(f"invalid value of the header {name}: it has a line break or another character that is not allowed")


def _query(query: Mapping[str, object]) -> str:
    """Return the query of a URL. A keyword argument ends with _ if Python reserves its name."""
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        for one in cast("list[object]", value) if isinstance(value, list) else [value]:
            if one is not None:
                pairs.append((name.rstrip("_"), str(one).lower() if isinstance(one, bool) else str(plain(one))))
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def encode(value: object) -> bytes:
    """Encode a value as JSON, with times and durations as the API has them."""

    def other(value: object) -> object:
        text = plain(value)
        if text is value:
            raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
        return text

    return json.dumps(value, allow_nan=False, default=other).encode()


def plain(value: object) -> object:
    """Return a datetime as a time in RFC 3339, a timedelta as a duration, and another value as it is."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(f"invalid time {value.isoformat()}: it has no time zone: use datetime.now(timezone.utc) or astimezone()")
        return value.astimezone(timezone.utc).isoformat()
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    return value


def below(path: str, name: str) -> str:
    """Return the path of the record with a name. A server reads "." and ".." as parts of the path."""
    if name in ("", ".", ".."):
        raise ValueError(f"invalid name {name!r}: a name has 1 to 256 characters and begins with a letter or digit")
    return path + urllib.parse.quote(name, safe="")


def conditions(if_match: str | None, if_none_match: str | None = None) -> dict[str, str | None]:
    """Return the headers of a condition."""
    return {"If-Match": if_match, "If-None-Match": if_none_match}


T = TypeVar("T")


def pages(read: Callable[[dict[str, Any]], Any], query: Mapping[str, Any], items: Callable[[Any], list[T]]) -> Iterator[T]:
    """Read the pages of a list, one after another."""
    cursor = query.get("cursor")
    while True:
        page = read({**query, "cursor": cursor})
        yield from items(page)
        cursor = page.get("next_cursor")
        if not cursor:
            return
