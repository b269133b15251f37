from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, cast

from ._connection import Call, Connection, below, conditions, pages
from .types import Queue, QueueInput

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .types import ListQueuesQuery


class Queues:
    """The calls about queues."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, name: str, settings: QueueInput, *, if_match: str | None = None, if_none_match: Literal["*"] | None = None) -> Queue:
        """Replace the limits, defaults and retention of a queue. A pause or purge goes on."""
        headers = conditions(if_match, if_none_match)
        return self._call("put", name, "PUT", json=settings, headers=headers, repeatable=if_match is None and if_none_match is None)

    def get(self, name: str) -> Queue:
        """Return a queue. If it has neither settings nor tasks: 404."""
        return self._call("get", name, "GET", repeatable=True)

    def list(self, **query: Unpack[ListQueuesQuery]) -> Iterator[Queue]:
        """Yield the queues, page by page."""

        def read(q: Mapping[str, object]) -> Any:
            return self._connection.call(Call("list queues", "GET", "/v1/queues", query=q, reads="queues", repeatable=True))

        return pages(read, query, lambda page: cast("list[Queue]", page["queues"]))

    def delete(self, name: str, *, if_match: str | None = None) -> Queue:
        """Delete the settings of a queue. Its tasks stay."""
        return self._call("delete", name, "DELETE", headers=conditions(if_match), repeatable=False)

    def pause(
        self, name: str, *, for_: str | timedelta | None = None, until: str | datetime | None = None, if_match: str | None = None, if_none_match: Literal["*"] | None = None
    ) -> Queue:
        """Stop a queue: no attempt starts on any node, except of tasks that are run by hand.

        With for_, such as "10m", or until, the queue resumes by itself. The nodes in unconfirmed
        of the reply have not stopped yet: repeat the call to see if they have.
        """
        pause = {name: value for name, value in {"for": for_, "until": until}.items() if value is not None}
        headers = conditions(if_match, if_none_match)
        return self._call("pause", name, "POST", "/pause", json=pause, headers=headers, repeatable=if_match is None and if_none_match is None)

    def resume(self, name: str, *, if_match: str | None = None) -> Queue:
        """End a pause."""
        return self._call("resume", name, "POST", "/resume", headers=conditions(if_match), repeatable=if_match is None)

    def purge(self, name: str, *, expect: int | None = None, if_match: str | None = None) -> Queue:
        """Cancel all unfinished tasks of a queue, in the background.

        A repeat would also cancel later tasks, so there is none. With expect it cancels nothing
        unless the queue has exactly that many unfinished tasks.
        """
        return self._call("purge", name, "POST", "/purge", query={"expect": expect}, headers=conditions(if_match), repeatable=False)

    def _call(self, verb: str, name: str, method: str, action: str = "", **options: Any) -> Queue:
        return cast(Queue, self._connection.call(Call(f"{verb} queue {name}", method, below("/v1/queues/", name) + action, **options)))
