from __future__ import annotations

import collections
import json
import math
import re
import ssl
import time
import urllib.parse
from collections.abc import Generator, Mapping, Sequence
from typing import Any, TypeVar, cast

from ._call import Call, Many, Pause, Plan, Result, encode, query_of
from ._coalescer import MAX_CALLS, take
from ._errors import FoliotError, ProblemError, TransportError, text_of
from ._http import NoReply, Reply, check_header, message
from ._retry import RetryPolicy, retry_after
from ._version import __version__
from .types import Problem

T = TypeVar("T")


class Attempt:
    """A call that is sent, perhaps several times."""

    def __init__(self, call: Call[Any], target: str, headers: Mapping[str, str], body: bytes | None) -> None:
        self.call, self.target, self.headers, self.body = call, target, headers, body
        self.most = MAX_CALLS
        self._requests, self._maybe_applied = 0, False

    @property
    def size(self) -> int:
        """The bytes of the call in a batch, or a few more."""
        value = 6 * len(self.call.name) if self.body is None else len(self.body)
        return value + sum(map(len, self.headers.values())) + 100

    def failed(self, error: FoliotError, policy: RetryPolicy) -> float | None:
        """Return the seconds before the next request of the call, and complete the error of the last one. None: the call has failed."""
        error.maybe_applied = self._maybe_applied = self._maybe_applied or error.maybe_applied
        if error.shared > 1:  # one call must not fail the others for ever
            self.most = max(1, error.shared // 2)
            if isinstance(error, ProblemError):  # perhaps because of another call: go on until each was sent alone
                if error.status == 500 and self.call.repeatable:
                    return policy.backoff(1)
                if 400 <= error.status < 500 and error.status not in (401, 403, 429):
                    return 0.0
        self._requests += 1
        return policy.pause(error, self._requests, self.call.repeatable)


class Batch:
    """Calls that are sent in one request. Its result has a reply or an error for each."""

    def __init__(self, attempts: list[Attempt]) -> None:
        self.attempts = attempts


class Core:
    """What Client and AsyncClient have in common: it makes requests, reads replies and decides on repeats. It is immutable."""

    def __init__(
        self,
        server: str,
        token: str | None,
        namespace: str | None,
        timeout: float,
        retry: RetryPolicy,
        ssl_context: ssl.SSLContext | None,
        user_agent: str | None,
        batching: bool,
    ) -> None:
        url = _parse(server)
        if not timeout > 0:
            raise ValueError(f"invalid timeout {timeout!r}: expected seconds above 0, or math.inf for no limit")
        self.base, self.timeout, self.batching, self._retry = server.rstrip("/"), timeout, batching, retry
        secure, self.host = url.scheme == "https", cast(str, url.hostname)
        self.port = url.port or (443 if secure else 80)
        self.ssl_context = (ssl_context or ssl.create_default_context()) if secure else None
        self._path = urllib.parse.quote(url.path.rstrip("/"), safe="%/:@!$&'()*+,;=~")
        host = f"[{self.host}]" if ":" in self.host else self.host.encode("idna").decode()
        self._headers = {"Host": host + (f":{url.port}" if url.port else ""), "User-Agent": user_agent or "foliot-python/" + __version__}
        if token:
            if re.search("[^!-~]", token):
                raise ValueError("invalid token: it has a space, a line break or another character that is not allowed")
            self._headers["Authorization"] = "Bearer " + token
        if namespace:
            self._headers["Foliot-Namespace"] = namespace
        for name, value in self._headers.items():
            check_header(name, value)

    def steps(self, plan: Plan[T]) -> Generator[Attempt | Batch | Pause, Any, T]:
        """Yield what must be done for a plan, and return its result. Send the result of each step, or throw its error."""
        steps = iter(plan)
        try:
            step = next(steps)
            while True:
                try:
                    if isinstance(step, Call):
                        result = yield from self._call(step)
                    elif isinstance(step, Many):
                        result = yield from self._many(step.calls)
                    else:
                        result = yield step
                except FoliotError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as done:
            return done.value

    def _call(self, call: Call[T]) -> Generator[Attempt | Pause, Any, T]:
        """Send a call, and repeat it if that is allowed."""
        attempt = self._attempt(call)
        while True:
            try:
                return (yield attempt)
            except FoliotError as error:
                pause = attempt.failed(error, self._retry)
                if pause is None:
                    raise
                left = call.end - time.monotonic()
                if left <= pause:
                    yield Pause(left)
                    raise
            yield Pause(pause)

    def _many(self, calls: Sequence[Call[Any]]) -> Generator[Batch | Pause, Any, list[Result]]:
        """Send calls in batches, and repeat those for which that is allowed."""
        attempts = [self._attempt(call) for call in calls]  # a call that cannot be sent is found before the first request
        results: dict[Attempt, Result] = {}
        left = collections.deque(attempts)
        while left:
            again: collections.deque[Attempt] = collections.deque()
            longest = 0.0
            while left:
                batch = Batch(take(left))
                for attempt, outcome in zip(batch.attempts, (yield batch)):
                    if not isinstance(outcome, FoliotError):
                        results[attempt] = Result(outcome, None)
                    elif (pause := attempt.failed(outcome, self._retry)) is None:
                        results[attempt] = Result(None, outcome)
                    else:
                        again.append(attempt)
                        longest = max(longest, pause)
            if again:
                yield Pause(longest)
            left = again
        return [results[attempt] for attempt in attempts]

    def _attempt(self, call: Call[Any]) -> Attempt:
        """Encode a call. Raise all errors that do not depend on the network."""
        headers = {name: value for name, value in call.headers.items() if value is not None}
        body = call.body
        if call.json is not None:
            headers["Content-Type"] = "application/json"
            body = encode(call.json)
        if not isinstance(cast(object, body), (bytes, bytearray, memoryview, type(None))):
            raise TypeError("invalid body: expected bytes")
        for name, value in headers.items():
            check_header(name, value)
        return Attempt(call, self._path + call.path + query_of(call.query), headers, None if body is None else bytes(body))

    def request(self, attempts: Sequence[Attempt]) -> tuple[bytes, float, float]:
        """Return the request of one call or a batch, the seconds without progress after which it ends, and its end at the latest."""
        if len(attempts) == 1:
            one = attempts[0]
            return message(one.call.method, one.target, {**self._headers, **one.headers}, one.body), self.timeout + one.call.extra, one.call.end
        body = b'{"calls":[' + b",".join(_item(attempt.call, attempt.headers, attempt.body) for attempt in attempts) + b"]}"
        headers = {**self._headers, "Content-Type": "application/json"}
        return message("POST", self._path + "/v1/tasks/batch", headers, body), self.timeout, math.inf

    def outcomes(self, attempts: Sequence[Attempt], reply: Reply | NoReply) -> list[Any]:
        """Return the result of each call of a request, or its FoliotError."""
        if isinstance(reply, NoReply):
            errors: list[Any] = [TransportError(attempt.call.op, self.base, reply.cause, reply.sent) for attempt in attempts]
            return _share(errors)
        media = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        found = _object(reply.body or b"") if media in ("application/json", "application/problem+json") else None
        success = 200 <= reply.status < 300
        if success and media == "application/json" and found is not None:
            if len(attempts) == 1:
                if _suits(attempts[0].call, found):
                    etag = reply.headers.get("etag")
                    return [_result(attempts[0].call, found if etag is None else {**found, "etag": etag})]
            elif isinstance(items := found.get("results"), list) and len(cast("list[Any]", items)) == len(attempts):
                return [self._outcome(attempt, item) for attempt, item in zip(attempts, cast("list[Any]", items))]
        problem = cast(Problem, found) if media == "application/problem+json" and found and text_of(found.get("code")) else None
        lacks = "with more than 64 MiB" if reply.body is None else f"without a Foliot {'reply' if success else 'error'}"
        pause = retry_after(reply.headers.get("retry-after", ""))
        return _share([self._problem(attempt, reply.status, problem, lacks, pause) for attempt in attempts])

    def _outcome(self, attempt: Attempt, item: Any) -> Any:
        """Return the result of a call in a batch, or its error."""
        if isinstance(item, dict):
            found = cast("dict[str, Any]", item)
            status, task = found.get("status"), found.get("task")
            if isinstance(status, int) and 200 <= status < 300 and isinstance(task, dict):
                reply = cast("dict[str, Any]", task)
                return _result(attempt.call, {**reply, "etag": f'"{reply.get("id")}.{reply.get("version")}"'})
            if isinstance(status, int) and status >= 300 and text_of(found.get("code")):
                pause = found.get("retry_after")
                return self._problem(attempt, status, cast(Problem, found), "", float(pause) if isinstance(pause, (int, float)) and pause > 0 else 0.0)
        return self._problem(attempt, 200, None, "without a Foliot reply", 0.0)

    def _problem(self, attempt: Attempt, status: int, problem: Problem | None, lacks: str, pause: float) -> ProblemError:
        if problem:
            detail = text_of(problem.get("detail")) or text_of(problem.get("title")) or problem["code"]
        else:
            detail = f"{self.base} replied {status} {lacks}: is it a Foliot server?"
        refused = 300 <= status < 500 or (problem is not None and problem["code"] in ("capacity", "store_unfit"))
        return ProblemError(attempt.call.op, status, problem, detail, pause, not refused)


def _item(call: Call[Any], headers: Mapping[str, str], body: bytes | None) -> bytes:
    """Return a call as an item of a batch."""
    value = body if body is not None else json.dumps(call.name).encode()
    fields = [b'{"%b":%b' % (cast(str, call.verb).encode(), value)]
    for field, header in (("key", "Idempotency-Key"), ("if_match", "If-Match"), ("if_none_match", "If-None-Match")):
        if header in headers:
            fields.append(f'"{field}":{json.dumps(headers[header])}'.encode())
    return b",".join(fields) + b"}"


def _share(errors: list[Any]) -> list[Any]:
    """Note in each error of a request how many calls the request had."""
    for error in errors:
        error.shared = len(errors)
    return errors


def _result(call: Call[Any], reply: dict[str, Any]) -> Any:
    return reply if call.result is None else call.result(reply)


def _object(data: bytes) -> dict[str, Any] | None:
    """Return the object of a JSON text. None: it is not an object."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _suits(call: Call[Any], reply: Mapping[str, object]) -> bool:
    """Report whether a reply has the field that the client reads."""
    return call.reads is None or isinstance(reply.get(call.reads), str if call.reads == "id" else list)


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


