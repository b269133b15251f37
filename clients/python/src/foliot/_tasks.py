from __future__ import annotations

import math
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, List, Literal, cast

from ._connection import Call, Connection, below, conditions, encode, pages, plain
from ._errors import FoliotError, ProblemError, ReplacedError, TransportError
from ._retry import busy, seconds
from .types import BatchReply, BatchResult, BulkReply, MoveInput, Task, TaskInput, TaskList, TaskPatch, Upcoming

if TYPE_CHECKING:
    from typing_extensions import Unpack  # only checkers of types read it, and they bring it

    from .types import CancelTasksQuery, ListTasksQuery, ListUpcomingQuery, MoveTasksQuery, RetryTasksQuery

_MAX_BATCH = 1000
_MAX_BATCH_BYTES = 16 << 20
_MANY_TIMEOUT = 30 * 60
_OUTAGE = 90  # seconds for which wait continues without a reply


class Tasks:
    """The calls about tasks."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, task: TaskInput, *, idempotency_key: str | None = None) -> Task:
        """Create a task. If the name is taken: 409, exists.

        All calls with one idempotency key create one task. By default each call has a new one,
        so that its repeats create one task.
        """
        op = "create " + task.get("name", "a task")
        return self._one(Call(op, "POST", "/v1/tasks", json=task, headers=key(idempotency_key), repeatable=True))

    def create_batch(self, tasks: Sequence[TaskInput]) -> List[BatchResult]:
        """Create any number of tasks, each one independently.

        It sends requests of at most 1000 tasks and 16 MiB. results[i] belongs to tasks[i]; a
        status of 400 or more is its error. A request that may have arrived is not repeated.
        Give the tasks names: a repeat by you then shows which of them exist.
        """
        bodies = list(_batches(tasks))  # a task that JSON cannot encode is found before the first request
        results: list[BatchResult] = []
        for body in bodies:
            call = Call("create a batch", "POST", "/v1/tasks/batch", body=body, headers={"Content-Type": "application/json"}, reads="results", repeatable=False)
            try:
                reply = cast(BatchReply, self._connection.call(call))
            except FoliotError as error:
                error.results = results
                raise
            results += reply["results"]
        return results

    def put(
        self, name: str, task: TaskInput, *, idempotency_key: str | None = None, if_match: str | None = None, if_none_match: Literal["*"] | None = None
    ) -> Task:
        """Create the task with that name, or replace it. A repeat by the client changes nothing."""
        headers = {**conditions(if_match, if_none_match), **key(idempotency_key)}
        return self._one(Call("put " + name, "PUT", _path(name), json=task, headers=headers, repeatable=True))

    def get(self, name: str, *, wait: str | timedelta | None = None) -> Task:
        """Return a task. With wait, such as "30s", return as soon as it is finished or dead, or after that time."""
        return self._get(name, cast("str | None", plain(wait)), math.inf)

    def wait(self, name: str, *, timeout: float | None = None) -> Task:
        """Return a task when it is finished or dead. It goes on across a restart of the server.

        After timeout seconds it raises TimeoutError, even if the server does not reply. None
        means no limit.
        """
        if timeout is not None and math.isnan(timeout):
            raise ValueError("invalid timeout nan: expected seconds, or None for no limit")
        end = math.inf if timeout is None else time.monotonic() + timeout
        try:
            task = self._get(name, None, end)
        except FoliotError as error:
            if _temporary(error) and time.monotonic() >= end:
                raise TimeoutError(f"wait for {name}: the state of the task is unknown after {timeout} seconds") from error
            raise
        id, answered = task["id"], time.monotonic()
        while "finished_at" not in task:
            asked = time.monotonic()
            left = min(30.0, end - asked)
            if left <= 0:
                raise TimeoutError(f"wait for {name}: the task is {task['state']} after {timeout} seconds")
            try:
                task = self._get(name, f"{max(1, int(left * 1000))}ms", end)
                answered = time.monotonic()
            except FoliotError as error:
                now = time.monotonic()
                if not _temporary(error) or now < end and now - answered > _OUTAGE:
                    raise
            if task["id"] != id:
                raise ReplacedError("wait for " + name)
            if "finished_at" not in task:
                time.sleep(max(0, min(asked + 0.25, end) - time.monotonic()))  # a server that is stopping answers at once
        return task

    def list(self, **query: Unpack[ListTasksQuery]) -> Iterator[Task]:
        """Yield the tasks that match, page by page."""
        all = {"limit": 100 if query.get("include") == "body" else 1000, **query}
        return pages(lambda q: self._page(q), all, lambda page: cast("list[Task]", page["tasks"]))

    def page(self, **query: Unpack[ListTasksQuery]) -> TaskList:
        """Return one page of the tasks that match."""
        return self._page(query)

    def upcoming(self, **query: Unpack[ListUpcomingQuery]) -> Upcoming:
        """Return the tasks and the instants of schedules that are due next."""
        return cast(Upcoming, self._connection.call(Call("list upcoming tasks", "GET", "/v1/upcoming", query=query, repeatable=True)))

    def patch(self, name: str, patch: TaskPatch, *, if_match: str | None = None) -> Task:
        """Change some fields of a task."""
        return self._one(Call("patch " + name, "PATCH", _path(name), json=patch, headers=conditions(if_match), repeatable=False))

    def move(self, name: str, *, at: str | datetime | None = None, delay: str | timedelta | None = None, if_match: str | None = None) -> Task:
        """Move a task to another due time. Pass at or delay."""
        if at is None and delay is None:
            raise TypeError(f"move {name}: pass at or delay")
        patch: TaskPatch = {}
        if at is not None:
            patch["at"] = at
        if delay is not None:
            patch["delay"] = delay
        return self.patch(name, patch, if_match=if_match)

    def touch(self, name: str, *, if_match: str | None = None) -> Task:
        """Restart the delay of a task, as the heartbeat of a watchdog does."""
        return self._act("touch", name, if_match, repeatable=if_match is None)

    def run(self, name: str, *, if_match: str | None = None) -> Task:
        """Make a waiting task due now."""
        return self._act("run", name, if_match, repeatable=False)

    def retry(self, name: str, *, if_match: str | None = None) -> Task:
        """Restart a dead task, or a finished one if its queue keeps bodies."""
        return self._act("retry", name, if_match, repeatable=False)

    def cancel(self, name: str, *, if_match: str | None = None) -> Task:
        """Cancel a task.

        Without under_way in the reply, no attempt starts any more. With it, the last attempt
        may be under way.
        """
        return self._one(Call("cancel " + name, "DELETE", _path(name), headers=conditions(if_match), repeatable=if_match is None))

    def cancel_many(self, **query: Unpack[CancelTasksQuery]) -> BulkReply:
        """Cancel the tasks that match. It requires a filter, or all=True.

        A call that ends early has changed some of the tasks.
        """
        return self._many("cancel", query, None)

    def retry_many(self, **query: Unpack[RetryTasksQuery]) -> BulkReply:
        """Retry the tasks that match: without a state the dead ones. Otherwise it behaves as cancel_many."""
        return self._many("retry", query, None)

    def move_many(self, to: MoveInput, **query: Unpack[MoveTasksQuery]) -> BulkReply:
        """Change the due times of the tasks that match. Otherwise it behaves as cancel_many."""
        return self._many("move", query, to)

    def publish(
        self,
        url: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        at: str | datetime | None = None,
        delay: str | timedelta | None = None,
        name: str | None = None,
        queue: str | None = None,
        retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> Task:
        """Create a task that forwards a request: a POST to url with that body and those headers.

        Without at and delay the task is due at once. retries is the number of attempts after a
        failed one. By default attempts go on until the queue's max_age is over.
        """
        sent = {
            "Foliot-At": cast("str | None", plain(at)),
            "Foliot-Delay": cast("str | None", plain(delay)),
            "Foliot-Name": name,
            "Foliot-Queue": queue,
            "Foliot-Retries": None if retries is None else str(retries),
            **key(idempotency_key),
            **{_forwarded(header): value for header, value in (headers or {}).items()},
        }
        return self._one(Call("publish " + (name or "to " + url), "POST", "/v1/publish", query={"url": url}, headers=sent, body=body, repeatable=True))

    def _get(self, name: str, wait: str | None, end: float) -> Task:
        return self._one(Call("get " + name, "GET", _path(name), query={"wait": wait}, reads="id", extra=seconds(wait or ""), end=end, repeatable=True))

    def _page(self, query: Mapping[str, object]) -> TaskList:
        return cast(TaskList, self._connection.call(Call("list tasks", "GET", "/v1/tasks", query=query, reads="tasks", repeatable=True)))

    def _act(self, verb: str, name: str, if_match: str | None, *, repeatable: bool) -> Task:
        return self._one(Call(f"{verb} {name}", "POST", f"{_path(name)}/{verb}", headers=conditions(if_match), repeatable=repeatable))

    def _many(self, verb: str, query: Mapping[str, object], to: MoveInput | None) -> BulkReply:
        call = Call(verb + " tasks", "POST", "/v1/tasks/" + verb, query=query, json=to, extra=_MANY_TIMEOUT, repeatable=False)
        return cast(BulkReply, self._connection.call(call))

    def _one(self, call: Call) -> Task:
        return cast(Task, self._connection.call(call))


def _temporary(error: FoliotError) -> bool:
    """Report whether an error may pass by itself, as an error during a restart does."""
    if isinstance(error, ProblemError):
        return error.status == 429 or busy(error.status)
    return isinstance(error, TransportError) and not error.permanent


def _batches(tasks: Sequence[TaskInput]) -> Iterator[bytes]:
    """Split tasks into the bodies of requests."""
    items: list[bytes] = []
    size = 0
    for task in tasks:
        item = encode(task)
        if len(items) == _MAX_BATCH or (items and size + len(item) + 13 > _MAX_BATCH_BYTES):
            yield b'{"tasks":[' + b",".join(items) + b"]}"
            items, size = [], 0
        items.append(item)
        size += len(item) + 1
    if items:
        yield b'{"tasks":[' + b",".join(items) + b"]}"


def _forwarded(header: str) -> str:
    """Content headers reach the receiver as they are. All others need a prefix."""
    if re.fullmatch("content-(type|encoding|language|disposition|digest)|foliot-forward-.*", header, re.I):
        return header
    return "Foliot-Forward-" + header


def key(idempotency_key: str | None) -> dict[str, str | None]:
    """Return the header of an idempotency key: that key, or a new one."""
    return {"Idempotency-Key": str(uuid.uuid4()) if idempotency_key is None else idempotency_key}


def _path(name: str) -> str:
    return below("/v1/tasks/", name)
