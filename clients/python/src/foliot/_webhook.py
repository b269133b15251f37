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


@dataclass(frozen=True)
class Webhook:
    """The signed parts of a callback besides its body."""

    id: str
    """The id of the task: the same for all its attempts. Ignore a callback if its id is that of finished work."""
    timestamp: datetime
    """The time of this attempt."""


class Headers(Protocol):
    """The headers of a request: a dict, or those of a framework."""

    def items(self) -> Iterable[tuple[str, str]]: ...


class WebhookError(Exception):
    """The callback must not be trusted: reply with 401, and do nothing."""


def verify_webhook(secrets: str | Iterable[str], headers: Headers, body: bytes, *, tolerance: float = 300) -> Webhook:
    """Verify that a callback came from a server that knows one of the secrets, by Standard Webhooks.

    The body must have the bytes that arrived: no code may parse it before. tolerance has the
    seconds that the callback's time may differ from this machine's clock, on either side. With
    math.inf any time is accepted. Raises WebhookError if the callback must not be trusted, and
    ValueError if there is no secret, or if a secret or the tolerance is invalid.
    """
    if not isinstance(cast(object, body), (bytes, bytearray, memoryview)):
        raise TypeError(f"invalid body: expected the raw bytes that arrived, not {type(body).__name__}: a parsed body has other bytes than those that were signed")
    if not tolerance >= 0:
        raise ValueError(f"invalid tolerance {tolerance!r}: expected seconds, 0 or more")
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("no secret: pass the secret of the queue or the namespace")
    fields: dict[str, str] = {}
    for name, value in headers.items():
        name = str(name).lower()
        if name in fields and name.startswith("webhook-"):  # another program may read the other one
            raise WebhookError(f"the header {name} occurs more than once")
        fields[name] = str(value)
    id, stamp, signatures = (fields.get("webhook-" + name, "") for name in ("id", "timestamp", "signature"))
    if not re.fullmatch("[!-~]+", id) or "." in id:
        raise WebhookError("the header webhook-id is missing or invalid")
    if not re.fullmatch("[0-9]{1,11}", stamp):
        raise WebhookError("the header webhook-timestamp is missing or invalid")
    if abs(time.time() - int(stamp)) > tolerance:
        raise WebhookError("the callback is too old, or from the future")
    parsed = re.search("multipart|encoded", fields.get("content-type", ""), re.I)
    chunked = fields.get("transfer-encoding")  # Foliot sends no chunks
    if not body and (parsed or chunked or (fields.get("content-length") or "0") != "0"):
        raise WebhookError("the bytes of the body are gone: verify the callback before any code parses it")
    signed, valid = f"{id}.{stamp}.".encode() + body, False
    for key in keys:
        want = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        for got in signatures.split(" "):
            valid = hmac.compare_digest(got.encode("utf-8", "replace"), want) or valid
    if not valid:
        raise WebhookError("no signature fits: the callback was changed, or another secret signed it")
    return Webhook(id, datetime.fromtimestamp(int(stamp), timezone.utc))


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[len("whsec_") :], validate=True) if secret.startswith("whsec_") else b""
    except (binascii.Error, ValueError):
        key = b""
    if not 24 <= len(key) <= 64 or "whsec_" + base64.b64encode(key).decode() != secret:
        raise ValueError("invalid secret: expected whsec_ and 24 to 64 bytes in base64, as foliot secret create prints it")
    return key
