"""HTTP/1.1 without a socket: it makes the bytes of a request, and reads those of a reply."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass

# The longest reply is a page of tasks with bodies: 8 MiB, which JSON may make six times as long.
_MAX_REPLY = 64 << 20
_MAX_HEAD = 64 << 10  # bytes of a status line with its headers
_MAX_INTERIM = 100  # replies 100 Continue before a reply
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_INVALID = re.compile(r"[^\t -~\x80-\xff]")


class ProtocolError(ConnectionError):
    """The bytes of a reply are not HTTP/1.1, or they end too early."""


class NoReply(Exception):
    """No reply came to a request. sent is false if no byte of the request was sent."""

    def __init__(self, cause: Exception, sent: bool) -> None:
        super().__init__(cause)
        self.cause, self.sent = cause, sent


@dataclass(frozen=True)
class Reply:
    """A reply of a server."""

    status: int
    headers: Mapping[str, str]  # with names in lower case
    body: bytes | None  # None: it is longer than 64 MiB, and was not read
    reusable: bool  # the connection can send another request


def check_header(name: str, value: object) -> None:
    """Raise an error unless HTTP can transfer a header."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"invalid header name {name!r}: it may have letters, digits and hyphens")
    if not isinstance(value, str):
        raise TypeError(f"invalid value of the header {name}: expected a string")
    if _INVALID.search(value):
        raise ValueError(f"invalid value of the header {name}: it has a line break or another character that is not allowed")


def message(method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """Return the bytes of a request. The headers must be valid."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body is not None or method != "GET":
        lines.append(f"Content-Length: {len(body or b'')}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b"")


class Reader:
    """Reads one reply from the bytes of a connection."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._ended = False
        self._steps = self._reply()
        next(self._steps)

    def feed(self, data: bytes) -> Reply | None:
        """Take the next bytes. No bytes: the connection has ended. Return the reply as soon as it is complete."""
        self._buffer += data
        self._ended = not data
        try:
            next(self._steps)
        except StopIteration as complete:
            return complete.value
        return None

    def _reply(self) -> Generator[None, None, Reply]:
        for _ in range(_MAX_INTERIM + 1):
            head = yield from self._until(b"\r\n\r\n", _MAX_HEAD)
            lines = head.decode("latin-1").split("\r\n")
            first = re.fullmatch(r"HTTP/1\.([01]) ([1-9][0-9]{2})( .*)?", lines[0])
            if not first or first[2] == "101":
                raise ProtocolError(f"invalid status line {lines[0][:100]!r}: is it an HTTP server?")
            status, headers = int(first[2]), _headers(lines[1:])
            if status >= 200:
                break
        else:
            raise ProtocolError(f"more than {_MAX_INTERIM} replies 100 Continue")
        body, framed = yield from self._body(status, headers)
        stays = first[1] == "1" and "close" not in headers.get("connection", "").lower()
        return Reply(status, headers, body, stays and framed and not self._buffer)

    def _body(self, status: int, headers: Mapping[str, str]) -> Generator[None, None, tuple[bytes | None, bool]]:
        """Return the body, and whether its end is known without the end of the connection."""
        length, coding = headers.get("content-length"), headers.get("transfer-encoding")
        if status in (204, 304):
            return b"", True
        if coding is not None:
            if coding.lower() != "chunked":
                raise ProtocolError(f"unknown transfer coding {coding!r}")
            body = yield from self._chunks()
            return body, body is not None and length is None
        if length is None:
            while not self._ended and len(self._buffer) <= _MAX_REPLY:
                yield
            return bytes(self._buffer) if len(self._buffer) <= _MAX_REPLY else None, False
        if not re.fullmatch("[0-9]{1,18}", length):
            raise ProtocolError(f"invalid Content-Length {length[:100]!r}")
        if int(length) > _MAX_REPLY:
            return None, False
        return (yield from self._exactly(int(length))), True

    def _chunks(self) -> Generator[None, None, bytes | None]:
        body = bytearray()
        while True:
            line = yield from self._until(b"\r\n", 1 << 10)
            size = re.fullmatch(rb"([0-9a-fA-F]{1,15})[ \t]*(;.*)?", line)
            if not size:
                raise ProtocolError(f"invalid chunk {line[:100]!r}")
            length = int(size[1], 16)
            if length == 0:
                break
            if len(body) + length > _MAX_REPLY:
                return None
            body += yield from self._exactly(length)
            if (yield from self._exactly(2)) != b"\r\n":
                raise ProtocolError("a chunk is longer than its length")
        for _ in range(_MAX_INTERIM):
            if not (yield from self._until(b"\r\n", _MAX_HEAD)):
                return bytes(body)
        raise ProtocolError("too many trailers")

    def _until(self, end: bytes, most: int) -> Generator[None, None, bytes]:
        searched = 0
        while (found := self._buffer.find(end, searched)) < 0 and len(self._buffer) <= most:
            searched = max(0, len(self._buffer) - len(end) + 1)
            yield from self._more()
        if not 0 <= found <= most:
            raise ProtocolError(f"a line or the headers have more than {most >> 10} KiB")
        taken = bytes(self._buffer[:found])
        del self._buffer[: found + len(end)]
        return taken

    def _exactly(self, length: int) -> Generator[None, None, bytes]:
        while len(self._buffer) < length:
            yield from self._more()
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken

    def _more(self) -> Generator[None, None, None]:
        if self._ended:
            raise ProtocolError("the connection ended before the reply was complete")
        yield


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(name):
            raise ProtocolError(f"invalid header {line[:100]!r}")
        name, value = name.lower(), value.strip(" \t")
        if name in headers and (name != "content-length" or headers[name] != value):
            value = headers[name] + ", " + value
        headers[name] = value
    return headers
