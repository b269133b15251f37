"""The plans of the methods of client.queues."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ._call import Call, Pages, below, conditions
from .types import Queue, QueueInput

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .types import ListQueuesQuery


def put(name: str, settings: QueueInput, *, if_match: str | None = None, if_none_match: Literal["*"] | None = None) -> Call[Queue]:
    """Replace the limits, defaults and retention of a queue. A pause or purge goes on."""
    headers = conditions(if_match, if_none_match)
    return _call("put", name, "PUT", json=settings, headers=headers, repeatable=if_match is None and if_none_match is None)


def get(name: str) -> Call[Queue]:
    """Return a queue. If it has neither settings nor tasks: 404."""
    return _call("get", name, "GET", repeatable=True)


def list(**query: Unpack[ListQueuesQuery]) -> Pages[Queue]:
    """Yield the queues, page by page."""
    return Pages(_page, query, "queues")


def delete(name: str, *, if_match: str | None = None) -> Call[Queue]:
    """Delete the settings of a queue. Its tasks stay."""
    return _call("delete", name, "DELETE", headers=conditions(if_match), repeatable=False)


def pause(name: str, *, until: str | datetime | None = None, if_match: str | None = None, if_none_match: Literal["*"] | None = None) -> Call[Queue]:
    """Stop a queue: no attempt starts on any node, except of tasks that are run by hand.

    With until, the queue resumes by itself. The nodes in unconfirmed of the reply have not stopped
    yet: repeat the call to see if they have.
    """
    pause = {} if until is None else {"until": until}
    headers = conditions(if_match, if_none_match)
    return _call("pause", name, "POST", "/pause", json=pause, headers=headers, repeatable=if_match is None and if_none_match is None)


def resume(name: str, *, if_match: str | None = None) -> Call[Queue]:
    """End a pause."""
    return _call("resume", name, "POST", "/resume", headers=conditions(if_match), repeatable=if_match is None)


def purge(name: str, *, expect: int | None = None, if_match: str | None = None) -> Call[Queue]:
    """Cancel all unfinished tasks of a queue, in the background.

    A repeat would also cancel later tasks, so there is none. With expect it cancels nothing unless
    the queue has exactly that many unfinished tasks.
    """
    return _call("purge", name, "POST", "/purge", query={"expect": expect}, headers=conditions(if_match), repeatable=False)


def _page(query: Mapping[str, object]) -> Call[Any]:
    return Call("list queues", "GET", "/v1/queues", query=query, reads="queues", repeatable=True)


def _call(verb: str, name: str, method: str, action: str = "", **options: Any) -> Call[Queue]:
    return Call(f"{verb} queue {name}", method, below("/v1/queues/", name) + action, **options)
