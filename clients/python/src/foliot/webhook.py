"""Verifies the callbacks of Foliot, by Standard Webhooks.

Foliot signs the callbacks of a queue if the queue or its namespace has a secret, which
foliot secret create makes. A party that knows the secret can sign too, so give each receiver a
queue and a secret of its own. Foliot delivers at least once, so the same callback may come again:
its id is the same for all attempts of a task, and no other task ever has it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Protocol, cast

__all__ = [
    "HEADER_ATTEMPT",
    "HEADER_DUE_AT",
    "HEADER_ID",
    "HEADER_INSTANT",
    "HEADER_MAX_ATTEMPTS",
    "HEADER_NO_RETRY",
    "HEADER_QUEUE",
    "HEADER_SCHEDULE",
    "HEADER_SIGNATURE",
    "HEADER_TASK",
    "HEADER_TIMESTAMP",
    "Event",
    "UntrustedError",
    "check_secret",
    "read",
    "sign",
    "verify",
]

# The headers of a callback. The first three are signed, or are the signature.
HEADER_ID = "webhook-id"
HEADER_TIMESTAMP = "webhook-timestamp"
HEADER_SIGNATURE = "webhook-signature"
HEADER_TASK = "foliot-task"
HEADER_QUEUE = "foliot-queue"
HEADER_DUE_AT = "foliot-due-at"
HEADER_SCHEDULE = "foliot-schedule"
HEADER_INSTANT = "foliot-instant"
HEADER_ATTEMPT = "foliot-attempt"
HEADER_MAX_ATTEMPTS = "foliot-max-attempts"

HEADER_NO_RETRY = "foliot-no-retry"
"""A header of your reply: with the value true and a status other than 2xx, the task is dead and is not sent again."""


@dataclass(frozen=True)
class Event:
    """A callback that was verified."""

    id: str
    """The id of the task: the same for all its attempts. Ignore a callback if its id is that of finished work."""
    timestamp: datetime
    """The time of this attempt, in seconds."""
    body: bytes
    """The bytes of the task, as they arrived."""

    # The fields below are not signed, so trust them no more than the network that the callback has
    # crossed. A field is empty if its header is missing or malformed.
    task: str
    """The name of the task."""
    queue: str
    """The queue of the task."""
    due_at: datetime | None
    """When the task was due: the same for all attempts."""
    schedule: str
    """The schedule that made the task. Empty: none did."""
    instant: datetime | None
    """The instant of the schedule. None: the task was triggered, or no schedule made it."""
    attempt: int
    """The number of this attempt, from 1."""
    max_attempts: int
    """The highest number of attempts. 0: no limit except the task's max_age."""


class Headers(Protocol):
    """The headers of a request: a dict, or those of a framework."""

    def items(self) -> Iterable[tuple[str, str]]: ...


class Stream(Protocol):
    """The stream of a request's body: rfile of http.server, or wsgi.input."""

    def read(self, size: int, /) -> bytes: ...


class UntrustedError(Exception):
    """The callback must not be trusted: reply with 401, and do nothing."""


def read(secrets: str | Iterable[str], headers: Headers, stream: Stream, *, max_body: int = 1 << 20, tolerance: float = 300, now: float | None = None) -> Event:
    """Read the body of a request and verify it, as verify does.

    A body of more than max_body bytes raises UntrustedError. By default this is 1 MiB, the longest
    body that Foliot sends. If the body ends early, it raises EOFError: reply with an error, so that
    the callback is sent again.
    """
    if max_body < 0:
        raise ValueError(f"invalid max_body {max_body!r}: expected bytes, 0 or more")
    length = _fields(headers).get("content-length") or "0"
    if not re.fullmatch("[0-9]{1,18}", length) or int(length) > max_body:
        raise UntrustedError(f"the body is longer than {max_body} bytes: raise max_body if your tasks have such bodies")
    body = stream.read(int(length))
    if 0 < len(body) < int(length):
        raise EOFError(f"the body has {len(body)} of {length} bytes: reply with an error, so that the callback is sent again")
    return verify(secrets, headers, body, tolerance=tolerance, now=now)


def verify(secrets: str | Iterable[str], headers: Headers, body: bytes, *, tolerance: float = 300, now: float | None = None) -> Event:
    """Verify that a callback came from a server that knows one of the secrets, and return it.

    The body must have the bytes that arrived: no code may parse it before. During a rotation, pass
    the old secret and the new one. tolerance has the seconds that the callback's time may differ
    from now, which is this machine's clock by default, on either side. With math.inf any time is
    accepted. It raises UntrustedError if the callback must not be trusted, and ValueError if there
    is no secret, or if a secret or the tolerance is invalid.
    """
    if not isinstance(cast(object, body), (bytes, bytearray, memoryview)):
        raise TypeError(f"invalid body: expected the raw bytes that arrived, not {type(body).__name__}: a parsed body has other bytes than those that were signed")
    if not tolerance >= 0:
        raise ValueError(f"invalid tolerance {tolerance!r}: expected seconds, 0 or more")
    keys = _keys(secrets)
    fields = _fields(headers)
    id, stamp, signatures = (fields.get(name, "") for name in (HEADER_ID, HEADER_TIMESTAMP, HEADER_SIGNATURE))
    if not signatures:
        raise UntrustedError("the callback has no signature: create a secret for its queue or namespace, with foliot secret create")
    if not re.fullmatch("[!-~]+", id) or "." in id:
        raise UntrustedError("the header webhook-id is missing or invalid: a proxy must pass on the signed headers unchanged")
    if not re.fullmatch("[0-9]{1,11}", stamp):
        raise UntrustedError("the header webhook-timestamp is missing or invalid: a proxy must pass on the signed headers unchanged")
    if abs((time.time() if now is None else now) - int(stamp)) > tolerance:
        raise UntrustedError("the callback is too old, or from the future: it is a replay, or this machine's clock is wrong")
    parsed = re.search("multipart|encoded", fields.get("content-type", ""), re.I)
    chunked = fields.get("transfer-encoding")  # Foliot sends no chunks
    if not body and (parsed or chunked or (fields.get("content-length") or "0") != "0"):
        raise UntrustedError("the bytes of the body are gone: verify the callback before any code reads or parses the body")
    body, valid = bytes(body), False
    for want in _signatures(keys, id, stamp, body):
        for got in signatures.split(" "):
            valid = hmac.compare_digest(got.encode("utf-8", "replace"), want) or valid
    if not valid:
        raise UntrustedError("no signature matches: use the secret of its queue, and the bytes of the body as they arrived; otherwise it is forged")
    return Event(
        id=id,
        timestamp=datetime.fromtimestamp(int(stamp), timezone.utc),
        body=body,
        task=fields.get(HEADER_TASK, ""),
        queue=fields.get(HEADER_QUEUE, ""),
        due_at=_time(fields.get(HEADER_DUE_AT, "")),
        schedule=fields.get(HEADER_SCHEDULE, ""),
        instant=_time(fields.get(HEADER_INSTANT, "")),
        attempt=_number(fields.get(HEADER_ATTEMPT, "")),
        max_attempts=_number(fields.get(HEADER_MAX_ATTEMPTS, "")),
    )


def sign(secrets: str | Iterable[str], id: str, at: datetime | float, body: bytes) -> str:
    """Return the value of the header webhook-signature, for the test of a receiver: a signature with each secret.

    at is a datetime, or the seconds since 1970. It raises ValueError if there is no secret, if a
    secret is invalid, or if the id is not one that HTTP can transfer without a dot.
    """
    if not re.fullmatch("[!-~]+", id) or "." in id:
        raise ValueError(f"invalid id {id!r}: expected printable characters without a space or a dot")
    stamp = int(at.timestamp() if isinstance(at, datetime) else at)
    return b" ".join(_signatures(_keys(secrets), id, str(stamp), body)).decode()


def check_secret(secret: str) -> None:
    """Raise ValueError, without the secret in it, unless a secret has the form of Standard Webhooks."""
    _key(secret)


def _signatures(keys: Iterable[bytes], id: str, stamp: str, body: bytes) -> Iterable[bytes]:
    signed = f"{id}.{stamp}.".encode() + body
    return [b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()) for key in keys]


def _fields(headers: Headers) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name, value in headers.items():
        name = str(name).lower()
        if name in fields and name.startswith("webhook-"):  # another program may read the other one
            raise UntrustedError(f"the header {name} occurs more than once: a proxy must pass on the signed headers unchanged")
        fields[name] = str(value)
    return fields


def _time(text: str) -> datetime | None:
    found = re.fullmatch(r"([0-9-]{10}T[0-9:]{8})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})", text)
    if not found:
        return None
    try:
        return datetime.fromisoformat(f"{found[1]}.{(found[2] or '').ljust(6, '0')[:6]}{found[3].replace('Z', '+00:00')}")
    except ValueError:
        return None


def _number(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else 0


def _keys(secrets: str | Iterable[str]) -> list[bytes]:
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("no secret is given: pass the secret of the queue or of the namespace")
    return keys


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[len("whsec_") :], validate=True) if secret.startswith("whsec_") else b""
    except (binascii.Error, ValueError):
        key = b""
    if not 24 <= len(key) <= 64 or "whsec_" + base64.b64encode(key).decode() != secret:
        raise ValueError("invalid secret: expected whsec_ and 24 to 64 bytes in base64, as foliot secret create prints it")
    return key
