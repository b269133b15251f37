"""The plans of the methods of client.schedules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ._call import Call, Pages, below, conditions, keyed
from .types import BackfillReply, Preview, RulePreview, Schedule, ScheduleInput, ScheduleRule, Task

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .types import ListSchedulesQuery, PreviewRuleQuery, PreviewScheduleQuery

_BACKFILL_TIMEOUT = 5 * 60


def put(name: str, schedule: ScheduleInput, *, if_match: str | None = None, if_none_match: Literal["*"] | None = None) -> Call[Schedule]:
    """Create a schedule, or change it."""
    headers = conditions(if_match, if_none_match)
    return _call("put", name, "PUT", json=schedule, headers=headers, repeatable=if_match is None and if_none_match is None)


def get(name: str) -> Call[Schedule]:
    """Return a schedule."""
    return _call("get", name, "GET", repeatable=True)


def list(**query: Unpack[ListSchedulesQuery]) -> Pages[Schedule]:
    """Yield the schedules, page by page."""
    return Pages(_page, query, "schedules")


def delete(name: str, *, if_match: str | None = None) -> Call[Schedule]:
    """Delete a schedule, and return its last state. Its tasks stay."""
    return _call("delete", name, "DELETE", headers=conditions(if_match), repeatable=False)


def pause(name: str, *, if_match: str | None = None) -> Call[Schedule]:
    """Stop a schedule from creating tasks until it is resumed."""
    return _call("pause", name, "POST", "/pause", headers=conditions(if_match), repeatable=if_match is None)


def resume(name: str, *, if_match: str | None = None) -> Call[Schedule]:
    """Continue a schedule with its next instant."""
    return _call("resume", name, "POST", "/resume", headers=conditions(if_match), repeatable=if_match is None)


def trigger(name: str, *, key: str | None = None, if_match: str | None = None) -> Call[Task]:
    """Create a task of a schedule that is due now."""
    return _call("trigger", name, "POST", "/trigger", headers={**conditions(if_match), **keyed(key)}, repeatable=True)


def backfill(name: str, from_: str | datetime, until: str | datetime, *, if_match: str | None = None) -> Call[BackfillReply]:
    """Create the tasks of past instants. A repeat creates no task twice."""
    range = {"from": from_, "until": until}
    return _call("backfill", name, "POST", "/backfill", json=range, headers=conditions(if_match), extra=_BACKFILL_TIMEOUT, repeatable=True)


def preview(name: str, **query: Unpack[PreviewScheduleQuery]) -> Call[Preview]:
    """Return the next instants of a schedule."""
    return _call("preview", name, "GET", "/preview", query=query, repeatable=True)


def preview_rule(rule: ScheduleRule, **query: Unpack[PreviewRuleQuery]) -> Call[RulePreview]:
    """Return the instants of a rule that is not stored."""
    return Call("preview a rule", "POST", "/v1/schedules/preview", json=rule, query=query, repeatable=True)


def _page(query: Mapping[str, object]) -> Call[Any]:
    return Call("list schedules", "GET", "/v1/schedules", query=query, reads="schedules", repeatable=True)


def _call(verb: str, name: str, method: str, action: str = "", **options: Any) -> Call[Any]:
    return Call(f"{verb} schedule {name}", method, below("/v1/schedules/", name) + action, **options)
