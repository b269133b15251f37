from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from . import _queues, _schedules, _tasks
from ._call import Pages, Pause, Plan
from ._client import Base, describe_as
from ._coalescer import Coalescer, Flight
from ._core import Attempt, Batch, Core
from ._errors import FoliotError
from ._http import NoReply, Reader, Reply

P = ParamSpec("P")
T = TypeVar("T")

_IDLE = 16  # idle connections that are kept


class _Connection(asyncio.Protocol):
    """A connection that sends one request at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader: Reader | None = None  # None: no request is under way
        self._reply: asyncio.Future[Reply] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._progress = self._timeout = 0.0
        self._end = math.inf
        self._transport: asyncio.Transport | None = None
        self.lost = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._reader is None:  # nothing was asked: the connection cannot be used
            return self.abort()
        self._progress = self._loop.time()
        self._feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._reader is not None:
            self._feed(b"") if exc is None else self._done(exc)
        if not self.lost.done():
            self.lost.set_result(None)

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    async def exchange(self, message: bytes, timeout: float, end: float) -> Reply:
        """Send a request, and return its reply. If it is cancelled, the connection cannot be used again."""
        self._reader, self._reply = Reader(), self._loop.create_future()
        self._progress, self._timeout, self._end = self._loop.time(), timeout, end
        self._watch()
        try:
            if self._transport is None:
                raise ConnectionResetError("the connection was lost")
            self._transport.write(message)
            return await self._reply
        finally:
            self._reader = self._reply = None
            if self._timer is not None:
                self._timer.cancel()

    def _feed(self, data: bytes) -> None:
        assert self._reader is not None
        try:
            reply = self._reader.feed(data)
        except OSError as error:
            self._done(error)
        else:
            if reply is not None:
                self._done(reply)

    def _done(self, outcome: Reply | Exception) -> None:
        self._reader = None
        if self._reply is None or self._reply.done():
            return
        if isinstance(outcome, Reply):
            self._reply.set_result(outcome)
        else:
            self._reply.set_exception(outcome)

    def _watch(self) -> None:
        """End the request when there is no progress, or at its end."""
        limit = min(self._progress + self._timeout, self._end)
        if limit <= self._loop.time():
            self._done(TimeoutError("timed out"))
        elif limit < math.inf:
            self._timer = self._loop.call_at(limit, self._watch)


class _Waiter:
    """A call that can travel in a batch."""

    def __init__(self, attempt: Attempt, outcome: asyncio.Future[Any]) -> None:
        self.attempt, self.size, self.most, self.outcome = attempt, attempt.size, attempt.most, outcome


class _Loop:
    """The connections and the batches of one event loop."""

    def __init__(self, core: Core, loop: asyncio.AbstractEventLoop) -> None:
        self.loop, self._core = loop, core
        self.idle: list[_Connection] = []
        self._coalescer: Coalescer[_Waiter] = Coalescer()
        self._flights: set[asyncio.Task[None]] = set()
        self._wake: float | None = None  # the time of the timer
        self._timer: asyncio.TimerHandle | None = None

    async def send(self, attempt: Attempt) -> Any:
        """Send a call, alone or with others, and return its result or its error."""
        me = _Waiter(attempt, self.loop.create_future())
        self._coalescer.add(me)
        flight = self._coalescer.next(self.loop.time())
        if flight is not None and flight.items == [me]:  # it goes out at once: no task of its own is needed
            try:
                (outcome,) = await self.exchange([attempt])
                return outcome
            finally:
                self._ended(flight)
        if flight is not None:
            self._fly(flight)
        self._go()
        try:
            return await me.outcome
        except asyncio.CancelledError:
            self._coalescer.remove(me)  # if it is not under way, it is not sent
            raise

    def _go(self) -> None:
        """Start what can be sent."""
        while flight := self._coalescer.next(self.loop.time()):
            self._fly(flight)
        self._arm()

    def _arm(self) -> None:
        wake = self._coalescer.wake()
        if wake != self._wake:
            if self._timer is not None:
                self._timer.cancel()
            self._wake, self._timer = wake, None if wake is None else self.loop.call_at(wake, self._late)

    def _late(self) -> None:
        self._wake = self._timer = None
        self._go()

    def _fly(self, flight: Flight[_Waiter]) -> None:
        task = self.loop.create_task(self._send(flight))
        self._flights.add(task)
        task.add_done_callback(self._flights.discard)

    async def _send(self, flight: Flight[_Waiter]) -> None:
        try:
            outcomes = await self.exchange([waiter.attempt for waiter in flight.items])
            for waiter, outcome in zip(flight.items, outcomes):
                if not waiter.outcome.done():
                    waiter.outcome.set_result(outcome)
        finally:
            for waiter in flight.items:
                waiter.outcome.cancel()  # only if the event loop ends
            self._ended(flight)

    def _ended(self, flight: Flight[_Waiter]) -> None:
        """Note that a request has ended, after its callers have made their next calls, which can then go out together."""

        def end() -> None:
            self._coalescer.end(flight)
            self._go()

        self.loop.call_soon(end)

    async def exchange(self, attempts: list[Attempt]) -> list[Any]:
        """Send calls in one request, and return the result or the error of each."""
        message, timeout, end = self._core.request(attempts)
        connection = None
        try:
            connection = await self._take(min(timeout, end - self.loop.time()))
            reply = await connection.exchange(message, timeout, end)
        except OSError as error:
            if connection is not None:
                connection.abort()
            return self._core.outcomes(attempts, NoReply(error, connection is not None))
        except BaseException:  # a cancellation: the connection is in the middle of a reply
            if connection is not None:
                connection.abort()
            raise
        if reply.reusable and connection.usable and len(self.idle) < _IDLE:
            self.idle.append(connection)
        else:
            connection.abort()
        return self._core.outcomes(attempts, reply)

    async def _take(self, timeout: float) -> _Connection:
        """Return an idle connection that the server has not closed, or a new one."""
        while self.idle:
            connection = self.idle.pop()
            if connection.usable:
                return connection
        core = self._core
        connect = self.loop.create_connection(_Connection, core.host, core.port, ssl=core.ssl_context, server_hostname=core.host if core.ssl_context else None)
        try:
            _, connection = await asyncio.wait_for(connect, None if timeout == math.inf else timeout)
        except asyncio.TimeoutError as error:  # in Python 3.10 it is not TimeoutError
            raise TimeoutError("timed out") from error
        return connection

    async def close(self) -> None:
        """Close the idle connections."""
        while self.idle:
            connection = self.idle.pop()
            connection.abort()
            await connection.lost


class _Runner:
    """Does what plans say, in the task of the caller."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._loop: _Loop | None = None

    def loop(self) -> _Loop:
        """Return what belongs to the event loop that runs."""
        running = asyncio.get_running_loop()
        if self._loop is None or self._loop.loop is not running:
            self._loop = _Loop(self._core, running)
        return self._loop

    async def run(self, plan: Plan[T]) -> T:
        steps = self._core.steps(plan)
        try:
            step = next(steps)
            while True:
                try:
                    result = await self._do(step)
                except FoliotError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as done:
            return done.value

    async def _do(self, step: Attempt | Batch | Pause) -> Any:
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        if isinstance(step, Batch):
            return await self.loop().exchange(step.attempts)
        if self._core.batching and step.call.verb:
            outcome = await self.loop().send(step)
        else:
            (outcome,) = await self.loop().exchange([step])
        if isinstance(outcome, FoliotError):
            raise outcome
        return outcome


def _method(plan_of: Callable[P, Plan[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the method for the plans of a function."""

    async def method(self: Any, *args: P.args, **options: P.kwargs) -> T:
        return await self._runner.run(plan_of(*args, **options))

    return describe_as(method, plan_of)


def _list(pages_of: Callable[P, Pages[T]]) -> Callable[Concatenate[Any, P], AsyncGenerator[T, None]]:
    """Return the method for the lists of a function."""

    async def method(self: Any, *args: P.args, **options: P.kwargs) -> AsyncGenerator[T, None]:
        pages = pages_of(*args, **options)
        query = pages.query
        while query is not None:
            items, query = pages.next(query, await self._runner.run(pages.page(query)))
            for item in items:
                yield item

    return describe_as(method, pages_of)


class _Group:
    def __init__(self, runner: _Runner) -> None:
        self._runner = runner


class AsyncTasks(_Group):
    """The calls about tasks."""

    create = _method(_tasks.create)
    create_many = _method(_tasks.create_many)
    put = _method(_tasks.put)
    put_many = _method(_tasks.put_many)
    get = _method(_tasks.get)
    wait = _method(_tasks.wait)
    list = _list(_tasks.list)
    page = _method(_tasks.page)
    upcoming = _method(_tasks.upcoming)
    patch = _method(_tasks.patch)
    move = _method(_tasks.move)
    touch = _method(_tasks.touch)
    run = _method(_tasks.run)
    retry = _method(_tasks.retry)
    cancel = _method(_tasks.cancel)
    cancel_many = _method(_tasks.cancel_many)
    cancel_matching = _method(_tasks.cancel_matching)
    retry_matching = _method(_tasks.retry_matching)
    move_matching = _method(_tasks.move_matching)
    publish = _method(_tasks.publish)


class AsyncSchedules(_Group):
    """The calls about schedules."""

    put = _method(_schedules.put)
    get = _method(_schedules.get)
    list = _list(_schedules.list)
    delete = _method(_schedules.delete)
    pause = _method(_schedules.pause)
    resume = _method(_schedules.resume)
    trigger = _method(_schedules.trigger)
    backfill = _method(_schedules.backfill)
    preview = _method(_schedules.preview)
    preview_rule = _method(_schedules.preview_rule)


class AsyncQueues(_Group):
    """The calls about queues."""

    put = _method(_queues.put)
    get = _method(_queues.get)
    list = _list(_queues.list)
    delete = _method(_queues.delete)
    pause = _method(_queues.pause)
    resume = _method(_queues.resume)
    purge = _method(_queues.purge)


class AsyncClient(Base):
    """Calls one Foliot server, with asyncio. Its methods are those of Client, to be awaited.

    A call that is cancelled sends nothing, if it has not been sent yet.
    """

    def _start(self, core: Core) -> None:
        self._runner = _Runner(core)
        self.tasks = AsyncTasks(self._runner)
        self.schedules = AsyncSchedules(self._runner)
        self.queues = AsyncQueues(self._runner)

    whoami = _method(_tasks.whoami)

    async def close(self) -> None:
        """Close the idle connections. The client can still be used."""
        await self._runner.loop().close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
