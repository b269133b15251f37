from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from ._connection import Call, Connection, below, conditions, pages
from ._tasks import key
from .types import BackfillReply, Preview, RulePreview, Schedule, ScheduleInput, ScheduleRule, Task

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .types import ListSchedulesQuery, PreviewRuleQuery, PreviewScheduleQuery

_BACKFILL_TIMEOUT = 5 * 60


class Schedules:
    """The calls about schedules."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, name: str, schedule: ScheduleInput, *, if_match: str | None = None, if_none_match: Literal["*"] | None = None) -> Schedule:
        """Create a schedule, or change it."""
        headers = conditions(if_match, if_none_match)
        return cast(Schedule, self._call("put", name, "PUT", json=schedule, headers=headers, repeatable=if_match is None and if_none_match is None))

    def get(self, name: str) -> Schedule:
        """Return a schedule."""
        return cast(Schedule, self._call("get", name, "GET", repeatable=True))

    def list(self, **query: Unpack[ListSchedulesQuery]) -> Iterator[Schedule]:
        """Yield the schedules, page by page."""

        def read(q: Mapping[str, object]) -> Any:
            return self._connection.call(Call("list schedules", "GET", "/v1/schedules", query=q, reads="schedules", repeatable=True))

        return pages(read, query, lambda page: cast("list[Schedule]", page["schedules"]))

    def delete(self, name: str, *, if_match: str | None = None) -> Schedule:
        """Delete a schedule, and return its last state. Its tasks stay."""
        return cast(Schedule, self._call("delete", name, "DELETE", headers=conditions(if_match), repeatable=False))

    def pause(self, name: str, *, if_match: str | None = None) -> Schedule:
        """Stop a schedule from creating tasks until it is resumed."""
        return cast(Schedule, self._call("pause", name, "POST", "/pause", headers=conditions(if_match), repeatable=if_match is None))

    def resume(self, name: str, *, if_match: str | None = None) -> Schedule:
        """Continue a schedule with its next instant."""
        return cast(Schedule, self._call("resume", name, "POST", "/resume", headers=conditions(if_match), repeatable=if_match is None))

    def trigger(self, name: str, *, idempotency_key: str | None = None, if_match: str | None = None) -> Task:
        """Create a task of a schedule that is due now."""
        headers = {**conditions(if_match), **key(idempotency_key)}
        return cast(Task, self._call("trigger", name, "POST", "/trigger", headers=headers, repeatable=True))

    def backfill(self, name: str, from_: str | datetime, until: str | datetime, *, if_match: str | None = None) -> BackfillReply:
        """Create the tasks of past instants. A repeat creates no task twice."""
        range = {"from": from_, "until": until}
        reply = self._call("backfill", name, "POST", "/backfill", json=range, headers=conditions(if_match), extra=_BACKFILL_TIMEOUT, repeatable=True)
        return cast(BackfillReply, reply)

    def preview(self, name: str, **query: Unpack[PreviewScheduleQuery]) -> Preview:
        """Return the next instants of a schedule."""
        return cast(Preview, self._call("preview", name, "GET", "/preview", query=query, repeatable=True))

    def preview_rule(self, rule: ScheduleRule, **query: Unpack[PreviewRuleQuery]) -> RulePreview:
        """Return the instants of a rule that is not stored."""
        call = Call("preview a rule", "POST", "/v1/schedules/preview", json=rule, query=query, repeatable=True)
        return cast(RulePreview, self._connection.call(call))

    def _call(self, verb: str, name: str, method: str, action: str = "", **options: Any) -> Any:
        return self._connection.call(Call(f"{verb} schedule {name}", method, below("/v1/schedules/", name) + action, **options))
