from __future__ import annotations

import collections
import math
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
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
_LONGEST_TIMEOUT = 2_147_483.0  # seconds that a socket and a sleep can wait


class Transport:
    """Sends requests to one server. Several threads may use it.

    It keeps idle connections, and a request takes one of them or opens another.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        # A deque's append and pop are atomic, so no lock is needed.
        self._idle: collections.deque[socket.socket] = collections.deque()
        self._process = os.getpid()

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # another thread took it
                return

    def exchange(self, message: bytes, timeout: float, end: float) -> Reply:
        """Send a request, and return its reply. Without a reply it raises NoReply."""
        connection, sent = None, False
        try:
            connection = self._take(min(timeout, _left(end)))
            sent = True
            connection.sendall(message)
            reader = Reader()
            while (reply := reader.feed(_receive(connection, timeout, end))) is None:
                pass
        except OSError as error:
            if connection is not None:
                connection.close()
            raise NoReply(error, sent) from error
        except BaseException:  # an interrupt: the connection is in the middle of a reply
            if connection is not None:
                connection.close()
            raise
        if reply.reusable and len(self._idle) < _IDLE:
            self._idle.append(connection)
        else:
            connection.close()
        return reply

    def _take(self, timeout: float) -> socket.socket:
        """Return an idle connection that the server has not closed, or a new one."""
        limit = timeout if timeout <= _LONGEST_TIMEOUT else None
        if self._process != os.getpid():  # after a fork the parent uses the connections
            self.close()
            self._process = os.getpid()
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if not _readable(connection):
                connection.settimeout(limit)
                return connection
            connection.close()
        fresh = socket.create_connection((self._core.host, self._core.port), limit)
        try:
            fresh.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._core.ssl_context is None:
                return fresh
            return self._core.ssl_context.wrap_socket(fresh, server_hostname=self._core.host)
        except BaseException:
            fresh.close()
            raise


def _receive(connection: socket.socket, timeout: float, end: float) -> bytes:
    if end < math.inf:
        connection.settimeout(min(timeout, _left(end), _LONGEST_TIMEOUT))
    return connection.recv(1 << 16)


def _left(end: float) -> float:
    """Return the seconds until a time of time.monotonic. At that time and later it raises TimeoutError."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _readable(connection: socket.socket) -> bool:
    """Report whether an idle connection has data: the server has closed it."""
    if hasattr(select, "poll"):  # select has no room for high file descriptors
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([connection], [], [], 0)[0])


class _Waiter:
    """A call of one thread."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt, self.size, self.most = attempt, attempt.size, attempt.most
        # _Flights sets these fields with its lock held, and then wakes the thread.
        self.flight: Flight[_Waiter] | None = None  # which the thread must send
        self.sent = False  # perhaps
        self.outcome: tuple[Any] | None = None
        self.wake: queue.SimpleQueue[None] = queue.SimpleQueue()


class _Flights:
    """The calls of all threads that travel in batches.

    No thread of its own exists: the first thread whose call is in a batch sends it for the others.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self._lock = threading.Lock()  # guards the fields below
        self._core: Coalescer[_Waiter] = Coalescer()
        self._first: _Waiter | None = None  # wakes at the time of wake, for all that wait

    def send(self, attempt: Attempt, exchange: Callable[[list[Attempt]], list[Any]]) -> Any:
        """Send a call, alone or with others, and return its result or its error."""
        me = _Waiter(attempt)
        try:
            with self._lock:
                self._core.add(me)
                self._go()
            while me.outcome is None and me.flight is None:
                self._wait(me)
            if me.flight is not None:
                me.sent = True
                self._land(me.flight, exchange([waiter.attempt for waiter in me.flight.items]))
                me.flight = None  # a cycle would have to be collected
            return cast("tuple[Any]", me.outcome)[0]
        except BaseException:  # an interrupt
            self._leave(me)
            raise

    def _wait(self, me: _Waiter) -> None:
        with self._lock:
            self._go()
            wake = self._core.wake() if self._first is me else None
        try:
            me.wake.get(timeout=None if wake is None else max(0, wake - time.monotonic()))
        except queue.Empty:
            pass

    def _land(self, flight: Flight[_Waiter], outcomes: list[Any]) -> None:
        """Pass on the results of a flight."""
        with self._lock:
            for waiter, outcome in zip(flight.items, outcomes):
                if waiter.outcome is None:
                    waiter.outcome = (outcome,)
                    waiter.wake.put(None)
            self._core.end(flight)
            self._go()

    def _leave(self, me: _Waiter) -> None:
        """Forget the call of a thread that was interrupted. The calls of its flight fail, so their threads repeat them."""
        with self._lock:
            self._core.remove(me)  # so it gets no flight from now on
            self._go()
        if me.flight is not None:
            lost = NoReply(InterruptedError("the thread that sends the batch was interrupted"), me.sent)
            self._land(me.flight, [lost] * len(me.flight.items))

    def _go(self) -> None:
        """Start what can be sent, with the lock held."""
        while flight := self._core.next(time.monotonic()):
            flight.items[0].flight = flight
            flight.items[0].wake.put(None)
        first = self._core.waiting[0] if self._core.waiting else None
        if first is not self._first and first is not None:
            first.wake.put(None)
        self._first = first


class _Runner:
    """Does what plans say, in the thread of the caller."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.transport = Transport(core)
        self._flights = _Flights()

    def run(self, plan: Plan[T]) -> T:
        steps = self._core.steps(plan)
        try:
            step = next(steps)
            while True:
                try:
                    result = self._do(step)
                except FoliotError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as done:
            return done.value

    def _do(self, step: Attempt | Batch | Pause) -> Any:
        if isinstance(step, Pause):
            return _sleep(step.seconds)
        if isinstance(step, Batch):
            return self._exchange(step.attempts)
        if self._core.batching and step.call.verb:
            flights = self._flights
            if flights.process != os.getpid():  # after a fork the threads of the parent are gone
                flights = self._flights = _Flights()
            outcome = flights.send(step, self._exchange)
            if isinstance(outcome, NoReply):
                (outcome,) = self._core.outcomes([step], outcome)
        else:
            (outcome,) = self._exchange([step])
        if isinstance(outcome, FoliotError):
            raise outcome
        return outcome

    def _exchange(self, attempts: list[Attempt]) -> list[Any]:
        """Send calls in one request, and return the result or the error of each."""
        try:
            reply = self.transport.exchange(*self._core.request(attempts))
        except NoReply as error:
            return self._core.outcomes(attempts, error)
        return self._core.outcomes(attempts, reply)


def _sleep(seconds: float) -> None:
    while seconds > 0:
        time.sleep(min(seconds, _LONGEST_TIMEOUT))
        seconds -= _LONGEST_TIMEOUT


def _method(plan_of: Callable[P, Plan[T]]) -> Callable[Concatenate[Any, P], T]:
    """Return the method for the plans of a function."""

    def method(self: Any, *args: P.args, **options: P.kwargs) -> T:
        return self._runner.run(plan_of(*args, **options))

    return describe_as(method, plan_of)


def _list(pages_of: Callable[P, Pages[T]]) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """Return the method for the lists of a function."""

    def method(self: Any, *args: P.args, **options: P.kwargs) -> Iterator[T]:
        pages = pages_of(*args, **options)
        query = pages.query
        while query is not None:
            items, query = pages.next(query, self._runner.run(pages.page(query)))
            yield from items

    return describe_as(method, pages_of)


class _Group:
    def __init__(self, runner: _Runner) -> None:
        self._runner = runner


class Tasks(_Group):
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


class Schedules(_Group):
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


class Queues(_Group):
    """The calls about queues."""

    put = _method(_queues.put)
    get = _method(_queues.get)
    list = _list(_queues.list)
    delete = _method(_queues.delete)
    pause = _method(_queues.pause)
    resume = _method(_queues.resume)
    purge = _method(_queues.purge)


class Client(Base):
    """Calls one Foliot server. Several threads may use it."""

    def _start(self, core: Core) -> None:
        self._runner = _Runner(core)
        self.tasks = Tasks(self._runner)
        self.schedules = Schedules(self._runner)
        self.queues = Queues(self._runner)

    whoami = _method(_tasks.whoami)

    def close(self) -> None:
        """Close the idle connections. The client can still be used."""
        self._runner.transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


