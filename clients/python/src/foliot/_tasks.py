"""The plans of the methods of client.tasks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ._call import Call, Cancelled, Many, Pages, Pause, below, cancelled, conditions, forwarded, keyed, plain
from ._errors import FoliotError, ProblemError, ReplacedError, TransportError
from ._retry import busy, seconds
from .types import BulkReply, Identity, MoveInput, Task, TaskInput, TaskList, TaskPatch, Upcoming

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .types import CancelTasksQuery, ListTasksQuery, ListUpcomingQuery, MoveTasksQuery, RetryTasksQuery

T = TypeVar("T")

_MATCHING_TIMEOUT = 30 * 60
_OUTAGE = 90  # seconds for which wait continues without a reply


def create(task: TaskInput, *, key: str | None = None) -> Call[Task]:
    """Create a task. If the name is taken: 409, exists.

    All calls with one idempotency key create one task. By default each call has a new key, so that
    its repeats create one task.
    """
    op = "create " + task.get("name", "a task")
    return Call(op, "POST", "/v1/tasks", json=task, headers=keyed(key), verb="create", repeatable=True)


def create_many(tasks: Sequence[TaskInput]) -> Many:
    """Create any number of tasks, each one independently, in batches of at most 1000 tasks and 8 MiB.

    results[i] belongs to tasks[i]. Each task has an idempotency key of its own, so its repeats by
    the client create one task.
    """
    return Many([create(task) for task in tasks])


def put(name: str, task: TaskInput, *, key: str | None = None, if_match: str | None = None, if_none_match: Literal["*"] | None = None) -> Call[Task]:
    """Create the task with that name, or replace it. A repeat by the client changes nothing."""
    headers = {**keyed(key), **conditions(if_match, if_none_match)}
    own = task.get("name", name) == name  # with another name, the server refuses the single call
    body: TaskInput = {**task, "name": name} if own else task
    return Call("put " + name, "PUT", _path(name), json=body, headers=headers, verb="put" if own else None, repeatable=True)


def put_many(tasks: Sequence[TaskInput]) -> Many:
    """Put any number of tasks, each one by its name. Otherwise it behaves as create_many."""
    for i, task in enumerate(tasks):
        if "name" not in task:
            raise ValueError(f"tasks[{i}] has no name: put_many puts each task by its name")
    return Many([put(task["name"], task) for task in tasks if "name" in task])


def get(name: str, *, wait: str | timedelta | None = None) -> Call[Task]:
    """Return a task. With wait, such as "30s", return as soon as it is finished or dead, or after that time."""
    return _get(name, cast("str | None", plain(wait)), math.inf)


def wait(name: str, *, timeout: float | None = None) -> Generator[Call[Any] | Pause, Any, Task]:
    """Return a task when it is finished or dead. It goes on across a restart of the server.

    After timeout seconds it raises TimeoutError, even if the server does not reply. None means no
    limit.
    """
    if timeout is not None and math.isnan(timeout):
        raise ValueError("invalid timeout nan: expected seconds, or None for no limit")
    end = math.inf if timeout is None else time.monotonic() + timeout
    try:
        task = yield from _get(name, None, end)
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
            task = yield from _get(name, f"{max(1, int(left * 1000))}ms", end)
            answered = time.monotonic()
        except FoliotError as error:
            now = time.monotonic()
            if not _temporary(error) or now < end and now - answered > _OUTAGE:
                raise
        if task["id"] != id:
            raise ReplacedError("wait for " + name)
        if "finished_at" not in task:
            yield Pause(max(0, min(asked + 0.25, end) - time.monotonic()))  # a server that is stopping answers at once
    return task


def list(**query: Unpack[ListTasksQuery]) -> Pages[Task]:
    """Yield the tasks that match, page by page."""
    return Pages(_page, {"limit": 100 if query.get("include") == "body" else 1000, **query}, "tasks")


def page(**query: Unpack[ListTasksQuery]) -> Call[TaskList]:
    """Return one page of the tasks that match."""
    return _page(query)


def upcoming(**query: Unpack[ListUpcomingQuery]) -> Call[Upcoming]:
    """Return the tasks and the instants of schedules that are due next."""
    return Call("list upcoming tasks", "GET", "/v1/upcoming", query=query, repeatable=True)


def patch(name: str, patch: TaskPatch, *, if_match: str | None = None) -> Call[Task]:
    """Change some fields of a task."""
    return Call("patch " + name, "PATCH", _path(name), json=patch, headers=conditions(if_match), repeatable=False)


def move(name: str, *, at: str | datetime | None = None, timezone: str | None = None, delay: str | timedelta | None = None, if_match: str | None = None) -> Call[Task]:
    """Move a task to another due time. Pass at or delay.

    With timezone, such as "Europe/Berlin", at is a local time such as "2027-03-28 09:00".
    """
    if at is None and delay is None:
        raise TypeError(f"move {name}: pass at or delay")
    fields = {"at": at, "timezone": timezone, "delay": delay}
    return patch(name, cast(TaskPatch, {field: value for field, value in fields.items() if value is not None}), if_match=if_match)


def touch(name: str, *, if_match: str | None = None) -> Call[Task]:
    """Restart the delay of a task, as the heartbeat of a watchdog does."""
    return _act("touch", name, if_match, verb="touch", repeatable=if_match is None)


def run(name: str, *, if_match: str | None = None) -> Call[Task]:
    """Make a waiting task due now."""
    return _act("run", name, if_match, repeatable=False)


def retry(name: str, *, if_match: str | None = None) -> Call[Task]:
    """Restart a dead task, or a finished one if its queue keeps bodies."""
    return _act("retry", name, if_match, repeatable=False)


def cancel(name: str, *, if_match: str | None = None) -> Call[Cancelled]:
    """Cancel a task. The result has the task, and says whether an attempt is under way."""
    return _cancel(name, if_match, cancelled)


def cancel_many(names: Sequence[str]) -> Many:
    """Cancel any number of tasks by their names. Otherwise it behaves as create_many.

    The fields under_way and already of each task are the rest of what cancel returns.
    """
    if isinstance(names, str):
        raise TypeError("invalid names: expected a list of names, not one string")
    return Many([_cancel(name, None, None) for name in names])


def cancel_matching(**query: Unpack[CancelTasksQuery]) -> Call[BulkReply]:
    """Cancel the tasks that match. It requires a filter, or all=True.

    With expect it changes nothing unless exactly that many tasks match. A call that ends early has
    changed some of the tasks.
    """
    return _matching("cancel", query, None)


def retry_matching(**query: Unpack[RetryTasksQuery]) -> Call[BulkReply]:
    """Retry the tasks that match: without a state the dead ones. Otherwise it behaves as cancel_matching."""
    return _matching("retry", query, None)


def move_matching(to: MoveInput, **query: Unpack[MoveTasksQuery]) -> Call[BulkReply]:
    """Change the due times of the tasks that match. Otherwise it behaves as cancel_matching."""
    return _matching("move", query, to)


def publish(
    url: str,
    body: bytes | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    at: str | datetime | None = None,
    delay: str | timedelta | None = None,
    name: str | None = None,
    queue: str | None = None,
    retries: int | None = None,
    key: str | None = None,
) -> Call[Task]:
    """Create a task that forwards a request: a POST to url with that body and those headers.

    Without at and delay the task is due at once. retries is the number of attempts after a failed
    one. By default attempts go on until the queue's max_age is over.
    """
    sent = {
        "Foliot-At": cast("str | None", plain(at)),
        "Foliot-Delay": cast("str | None", plain(delay)),
        "Foliot-Name": name,
        "Foliot-Queue": queue,
        "Foliot-Retries": None if retries is None else str(retries),
        **keyed(key),
        **{forwarded(header): value for header, value in (headers or {}).items()},
    }
    return Call("publish " + (name or "to " + url), "POST", "/v1/publish", query={"url": url}, headers=sent, body=body, repeatable=True)


def whoami() -> Call[Identity]:
    """Return the rights of the token, and describe the server."""
    return Call("get the caller", "GET", "/v1/whoami", repeatable=True)


def _get(name: str, wait: str | None, end: float) -> Call[Task]:
    return Call("get " + name, "GET", _path(name), query={"wait": wait}, reads="id", extra=seconds(wait or ""), end=end, repeatable=True)


def _page(query: Mapping[str, object]) -> Call[Any]:
    return Call("list tasks", "GET", "/v1/tasks", query=query, reads="tasks", repeatable=True)


def _act(action: str, name: str, if_match: str | None, **options: Any) -> Call[Task]:
    return Call(f"{action} {name}", "POST", f"{_path(name)}/{action}", headers=conditions(if_match), name=name, **options)


def _cancel(name: str, if_match: str | None, result: Callable[[Any], T] | None) -> Call[T]:
    headers = conditions(if_match)
    return Call("cancel " + name, "DELETE", _path(name), headers=headers, verb="cancel", name=name, result=result, repeatable=if_match is None)


def _matching(verb: str, query: Mapping[str, object], to: MoveInput | None) -> Call[BulkReply]:
    return Call(verb + " tasks", "POST", "/v1/tasks/" + verb, query=query, json=to, extra=_MATCHING_TIMEOUT, repeatable=False)


def _temporary(error: FoliotError) -> bool:
    """Report whether an error may pass by itself, as an error during a restart does."""
    if isinstance(error, ProblemError):
        return error.status == 429 or busy(error.status)
    return isinstance(error, TransportError) and not error.permanent


def _path(name: str) -> str:
    return below("/v1/tasks/", name)
