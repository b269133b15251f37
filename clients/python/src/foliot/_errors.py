from __future__ import annotations

import ssl
from typing import cast

from .types import Problem


def text_of(value: object) -> str | None:
    """Return a value of a reply if it is a string that is not empty."""
    return value if isinstance(value, str) and value else None


class FoliotError(Exception):
    """The error of a call. It is a ProblemError, a TransportError or a ReplacedError."""

    shared = 1  # the number of calls in the request that failed

    def __init__(self, op: str, message: str, maybe_applied: bool) -> None:
        super().__init__(f"{op}: {message}")
        self.op = op
        """Verb and name of the call: "get order-42"."""
        self.maybe_applied = maybe_applied
        """Whether the server may have applied the call, by this request or an earlier one."""


class ProblemError(FoliotError):
    """The server refused the call."""

    def __init__(self, op: str, status: int, problem: Problem | None, detail: str, retry_after: float, maybe_applied: bool) -> None:
        field = text_of(problem.get("field")) if problem else None
        super().__init__(op, f"{field}: {detail}" if field and not detail.startswith(field + ":") else detail, maybe_applied)
        self.status = status
        """The HTTP status."""
        self.code = cast(str, problem["code"]) if problem else ""
        """Stable, for programs: /docs/problems of a server lists the codes. Empty: the reply is not from a Foliot server."""
        self.detail = detail
        """A sentence for people."""
        self.field = field
        """Path of the invalid field, parameter or header. None: there is none."""
        self.problem = problem
        """All fields of the reply."""
        self.retry_after = retry_after
        """Seconds that the server asks to wait. 0: it asks for none."""


# The connection ended during the TLS handshake, for example because the server restarts.
_CLOSED = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


class TransportError(FoliotError):
    """No reply came. __cause__ is the error of the connection."""

    def __init__(self, op: str, server: str, cause: Exception, sent: bool) -> None:
        self.permanent = isinstance(cause, ssl.SSLError) and not isinstance(cause, _CLOSED) and not sent
        """A repeat must fail in the same way: the certificate is not trusted, or the server does not use TLS."""
        super().__init__(op, f"no reply from {server} ({cause or type(cause).__name__})", sent)
        self.__cause__ = cause


class ReplacedError(FoliotError):
    """Another task took the place of the task that wait waits for."""

    def __init__(self, op: str) -> None:
        super().__init__(op, "another task replaced it", False)
