from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

from foliot import AsyncClient, Client, FoliotError, ProblemError, RetryPolicy, TransportError
from foliot._sync import _Flights, _Waiter  # pyright: ignore[reportPrivateUsage]
from foliot.types import TaskInput

from .server import Blocking, Case, Request, listen

QUICK = RetryPolicy(min_backoff=0.001)
JSON = {"Content-Type": "application/json"}
PROBLEM = {"Content-Type": "application/problem+json"}


def spec(name: str) -> TaskInput:
    return {"name": name, "delay": "1h", "http": {"url": "http://127.0.0.1:9/"}}


def task(name: str) -> dict[str, Any]:
    return {"id": "id-" + name, "version": 1, "name": name, "state": "scheduled"}


def name_of(item: dict[str, Any]) -> str:
    value = next(item[verb] for verb in ("create", "put", "cancel", "touch") if verb in item)
    return value if isinstance(value, str) else value.get("name", "")


def results(calls: list[dict[str, Any]]) -> bytes:
    return json.dumps({"results": [{"status": 201, "task": task(name_of(item))} for item in calls]}).encode()


class Held:
    """A request that the test answers."""

    def __init__(self, request: Request, body: bytes) -> None:
        self.route = f"{request.command} {request.path}"
        self.body: dict[str, Any] = json.loads(body or b"{}")
        self.calls: list[dict[str, Any]] = self.body["calls"] if request.path == "/v1/tasks/batch" else []
        self.reply: queue.SimpleQueue[tuple[int, bytes, dict[str, str]] | None] = queue.SimpleQueue()

    def answer(self, result: Callable[[dict[str, Any]], dict[str, Any]] = lambda item: {"status": 201, "task": task(name_of(item))}) -> None:
        """Answer as a server does."""
        reply: Any = {"results": [result(item) for item in self.calls]} if self.calls else task("alone")
        self.reply.put((200, json.dumps(reply).encode(), JSON))


class Call:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.outcome: Any = None

        def work() -> None:
            try:
                self.outcome = call()
            except BaseException as error:
                self.outcome = error

        self._thread = threading.Thread(target=work)
        self._thread.start()

    def result(self) -> Any:
        """Return the result of the call, or its error."""
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.outcome


class Batches(Case):
    def setUp(self) -> None:
        self.held: queue.SimpleQueue[Held] = queue.SimpleQueue()

        def answer(request: Request, body: bytes) -> None:
            held = Held(request, body)
            self.held.put(held)
            if reply := held.reply.get():
                request.reply(*reply)
            else:
                request.close_connection = True

        self.url = listen(self, answer)
        self.client = self.open(self.url, retry=QUICK)
        self.addCleanup(self.client.close)

    def next(self) -> Held:
        """Return the next request."""
        return self.held.get(timeout=30)

    def fill(self, *calls: Callable[[], Any]) -> tuple[list[Call], list[Held]]:
        """Start 4 calls that go out alone, and then others. Return the others, and the requests of the 4."""
        alone: list[Call] = []
        held: list[Held] = []
        for i in range(4):
            alone.append(Call(lambda i=i: self.client.tasks.create(spec(f"alone-{i}"))))
            held.append(self.next())
        self.addCleanup(lambda: [call.result() for call in alone])
        others: list[Call] = []
        for call in calls:
            waiting = self.waiting()
            others.append(Call(call))
            while self.waiting() == waiting and others[-1].outcome is None:  # so that the calls wait in this order
                os.sched_yield()
        return others, held

    def waiting(self) -> int:
        """Return the number of calls that wait."""
        client: Any = self.client
        if self.client_of is Blocking:
            return len(client.client._runner._loop._coalescer.waiting)
        return len(client._runner._flights._core.waiting)

    def fast(self) -> None:
        """Count no request as slow in this test, however slow this machine is."""
        patch = mock.patch("foliot._coalescer._SLOW", 1e6)
        patch.start()
        self.addCleanup(patch.stop)

    def test_calls_that_wait_for_others_share_a_request(self) -> None:
        self.fast()
        tasks = self.client.tasks
        others, alone = self.fill(
            lambda: tasks.create(spec("a"), key="message-1"),
            lambda: tasks.put("b", {"delay": "1h"}, if_match='"1.1"'),
            lambda: tasks.cancel("c"),
            lambda: tasks.touch("d", if_match='"2.2"'),
        )
        self.assertEqual([held.route for held in alone], ["POST /v1/tasks"] * 4)
        alone[0].answer()
        batch = self.next()
        self.assertEqual(batch.route, "POST /v1/tasks/batch")
        self.assertRegex(batch.calls[1].pop("key"), "^[0-9a-f]{32}$")
        self.assertEqual(
            batch.calls,
            [{"create": spec("a"), "key": "message-1"}, {"put": {"delay": "1h", "name": "b"}, "if_match": '"1.1"'}, {"cancel": "c"}, {"touch": "d", "if_match": '"2.2"'}],
        )

        def result(item: dict[str, Any]) -> dict[str, Any]:
            if "cancel" in item:
                return {"status": 202, "task": {**task("c"), "under_way": True}}
            if "touch" in item:
                return {"status": 412, "code": "precondition_failed", "detail": "it has another version", "field": "If-Match", "id": "x", "state": "dead"}
            return {"status": 201, "task": task(name_of(item))}

        batch.answer(result)
        self.assertEqual(others[0].result(), {**task("a"), "etag": '"id-a.1"'})
        self.assertEqual(others[1].result(), {**task("b"), "etag": '"id-b.1"'})
        cancelled = others[2].result()
        self.assertEqual((cancelled.task["name"], cancelled.under_way, cancelled.already), ("c", True, False))
        error = others[3].result()
        self.assertEqual((error.op, error.status, error.code, error.field, error.maybe_applied), ("touch d", 412, "precondition_failed", "If-Match", False))
        self.assertEqual((error.problem["id"], error.problem["state"]), ("x", "dead"))
        for held in alone[1:]:
            held.answer()

    def test_a_put_with_another_name_in_its_task_has_a_request_of_its_own(self) -> None:
        self.fast()
        tasks = self.client.tasks
        _, alone = self.fill()
        put = Call(lambda: tasks.put("e", spec("another")))
        held = self.next()
        self.assertEqual(held.route, "PUT /v1/tasks/e")  # the server must see both names
        for one in (held, *alone):
            one.answer()
        put.result()

    def test_without_batching_each_call_has_a_request_of_its_own(self) -> None:
        client = self.open(self.url, retry=QUICK, batching=False)
        self.addCleanup(client.close)
        calls = [Call(lambda i=i: client.tasks.create(spec(f"own-{i}"))) for i in range(20)]
        held = [self.next() for _ in calls]
        self.assertEqual({one.route for one in held}, {"POST /v1/tasks"})
        for one in held:
            one.answer()
        for call in calls:
            call.result()

    def test_a_call_that_waits_goes_out_after_100_ms_although_no_request_has_ended(self) -> None:
        _, alone = self.fill()
        late = Call(lambda: self.client.tasks.cancel("late"))
        held = self.next()
        self.assertEqual(held.route, "DELETE /v1/tasks/late")
        for one in (held, *alone):
            one.answer()
        late.result()

    def test_an_item_that_the_server_cannot_accept_now_is_repeated_and_the_others_are_not(self) -> None:
        self.fast()
        others, alone = self.fill(*(lambda name=name: self.client.tasks.create(spec(name), key=name) for name in ("a", "b")))
        alone[0].answer()
        self.next().answer(
            lambda item: {"status": 201, "task": task("a")} if name_of(item) == "a" else {"status": 429, "code": "rate_exceeded", "detail": "too many", "retry_after": 0.01}
        )
        self.assertEqual(others[0].result()["name"], "a")
        again = self.next()
        self.assertEqual(again.route, "POST /v1/tasks")
        for one in (again, *alone[1:]):
            one.answer()
        self.assertEqual(others[1].result()["name"], "alone")

    def test_a_call_that_must_not_be_repeated_gets_the_error_of_its_batch(self) -> None:
        self.fast()
        others, alone = self.fill(lambda: self.client.tasks.cancel("a", if_match='"1.1"'), lambda: self.client.tasks.cancel("b"))
        alone[0].answer()
        self.next().reply.put(None)
        error = others[0].result()
        self.assertIsInstance(error, TransportError)
        self.assertEqual((error.op, error.maybe_applied), ("cancel a", True))
        for one in (self.next(), *alone[1:]):
            one.answer()
        self.assertFalse(others[1].result().under_way)

    def test_a_batch_that_fails_is_divided_so_that_one_call_cannot_fail_the_others_for_ever(self) -> None:
        self.fast()
        for status in (400, 413, 422, 500, 503, 0):
            with self.subTest(status):
                release = threading.Event()
                self.addCleanup(release.set)

                def answer(request: Request, body: bytes) -> None:
                    value = json.loads(body)
                    calls = value["calls"] if "calls" in value else [{"create": value}]
                    if any(name_of(item).startswith("alone") for item in calls):
                        self.held.put(Held(request, b""))
                        release.wait()
                    elif any(name_of(item) == "poison" for item in calls):
                        if status:
                            return request.reply(status, b'{"code":"fault","detail":"a fault of the test"}', PROBLEM)
                        request.close_connection = True
                        return
                    request.reply(201, results(calls) if "calls" in value else json.dumps(task("x")).encode(), JSON)

                self.client = self.open(listen(self, answer), retry=RetryPolicy(attempts=6 if status in (503, 0) else 2, min_backoff=0.001, max_backoff=0.005))
                self.addCleanup(self.client.close)
                others, _ = self.fill(*(lambda i=i: self.client.tasks.create(spec("poison" if i == 3 else f"good-{i}")) for i in range(16)))
                release.set()
                outcomes = [call.result() for call in others]
                self.assertEqual([i for i, outcome in enumerate(outcomes) if isinstance(outcome, BaseException)], [3])
                error = outcomes[3]
                assert isinstance(error, FoliotError)
                self.assertEqual((error.op, error.maybe_applied), ("create poison", status == 0 or status >= 500))

    def test_results_that_do_not_fit_the_calls_are_an_error(self) -> None:
        replies: list[object] = [[], [{"status": 201, "task": task("a")}], [7, None], [{"status": 201}, {"status": "201", "task": {}}], [{"status": 409}, {}]]
        for found in replies:
            with self.subTest(found=found):

                def answer(request: Request, body: bytes, found: object = found) -> None:
                    request.reply(200, json.dumps({"results": found}).encode(), JSON)

                with self.open(listen(self, answer), retry=RetryPolicy(attempts=1)) as client:
                    outcomes = client.tasks.create_many([spec("a"), spec("b")])
                for result in outcomes:
                    error = result.error
                    assert isinstance(error, ProblemError) and error.maybe_applied
                    self.assertRegex(str(error), r"^create [ab]: .* without a Foliot reply: is it a Foliot server\?$")

    def test_many_tasks_are_sent_in_batches_and_one_that_is_too_large_is_sent_alone(self) -> None:
        sizes: list[int] = []

        def answer(request: Request, body: bytes) -> None:
            if request.path == "/v1/tasks/batch":
                calls = json.loads(body)["calls"]
                sizes.append(len(calls))
                return request.reply(200, results(calls), JSON)
            sizes.append(1)
            if len(body) < 8 << 20:
                return request.reply(201, json.dumps(task("alone")).encode(), JSON)
            request.reply(413, b'{"code":"request_too_large","detail":"too large"}', PROBLEM)

        specs = [spec(f"n-{i}") for i in range(1003)]
        specs[1001]["http"] = {"url": "http://127.0.0.1:9/", "body": "x" * (9 << 20)}
        with self.open(listen(self, answer)) as client:
            outcomes = client.tasks.create_many(specs)
        self.assertEqual(sizes, [1000, 1, 1, 1])
        self.assertEqual([i for i, result in enumerate(outcomes) if result.error], [1001])

    def test_the_variables_of_the_commands_make_a_client(self) -> None:
        seen: list[tuple[str | None, str | None]] = []

        def answer(request: Request, body: bytes) -> None:
            seen.append((request.headers["Authorization"], request.headers["Foliot-Namespace"]))
            request.reply(200, b"{}", JSON)

        make: Any = AsyncClient.from_env if self.client_of is Blocking else Client.from_env
        with mock.patch.dict(os.environ, {"FOLIOT_SERVER": listen(self, answer), "FOLIOT_TOKEN": "secret", "FOLIOT_NAMESPACE": "shop"}):
            made = [make(), make(namespace="other", timeout=5)]
        for client in made:
            if isinstance(client, AsyncClient):
                client = Blocking.of(client)
            with client:
                client.whoami()
        self.assertEqual(seen, [("Bearer secret", "shop"), ("Bearer secret", "other")])


class BatchesAsync(Batches):
    client_of = Blocking


class Threads(Batches):
    """Only for Client: what happens to the calls of other threads."""

    def test_the_calls_of_others_go_on_if_the_thread_that_sends_them_is_interrupted(self) -> None:
        self.fast()
        others, alone = self.fill(*(lambda name=name: self.client.tasks.create(spec(name)) for name in ("a", "b", "c")))
        client: Any = self.client
        exchange = client._runner.transport.exchange

        def interrupt(message: bytes, timeout: float, end: float) -> Any:
            if b"/v1/tasks/batch" in message:
                client._runner.transport.exchange = exchange
                raise KeyboardInterrupt
            return exchange(message, timeout, end)

        client._runner.transport.exchange = interrupt
        alone[0].answer()
        self.assertIsInstance(others[0].result(), KeyboardInterrupt)
        for one in alone[1:]:
            one.answer()
        while not (others[1].outcome and others[2].outcome):
            try:
                self.held.get(timeout=0.01).answer()
            except queue.Empty:
                pass
        self.assertEqual([type(others[i].result()) for i in (1, 2)], [dict, dict])

    def test_a_thread_that_is_interrupted_leaves_no_batch_although_it_gets_one_at_that_moment(self) -> None:
        self.fast()
        flights: Any = _Flights()
        core, lock = flights._core, flights._lock
        attempt: Any = mock.Mock(size=1, most=1000)
        alone: list[Any] = []
        for _ in range(4):
            core.add(_Waiter(attempt))
            alone.append(core.next(0))
        interrupted, other = _Waiter(attempt), _Waiter(attempt)
        core.add(interrupted)
        core.add(other)

        class Late:
            """The lock, which another thread gets first. That thread starts the batch."""

            def __enter__(self) -> None:
                lock.acquire()
                if alone:
                    core.end(alone.pop())
                    flights._go()

            def __exit__(self, *_: object) -> None:
                lock.release()

        flights._lock = Late()
        flights._leave(interrupted)
        self.assertIsNotNone(other.outcome)  # without it, its thread would wait for ever

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_a_child_process_waits_for_no_thread_of_its_parent(self) -> None:
        self.fast()
        _, alone = self.fill()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self.client.tasks.create(spec("child"))
                status = 0
            finally:
                os._exit(status)
        self.next().answer()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        for one in alone:
            one.answer()


for name in [name for name in dir(Batches) if name.startswith("test_")]:
    setattr(Threads, name, None)


class Cancellation(unittest.TestCase):
    def test_a_cancelled_call_is_not_sent_or_leaves_the_others_of_its_batch_alone(self) -> None:
        held: queue.SimpleQueue[Held] = queue.SimpleQueue()

        def answer(request: Request, body: bytes) -> None:
            one = Held(request, body)
            held.put(one)
            if reply := one.reply.get():
                try:
                    request.reply(*reply)
                except OSError:  # the client has closed the connection of a cancelled call
                    request.close_connection = True

        url = listen(self, answer)

        async def next() -> Held:
            return await asyncio.get_running_loop().run_in_executor(None, held.get)

        async def run() -> None:
            async with AsyncClient(url, retry=QUICK) as client:
                alone = [asyncio.create_task(client.tasks.create(spec(f"alone-{i}"))) for i in range(4)]
                requests = sorted([await next() for _ in alone], key=lambda one: one.body["name"])
                early, late, stays = [asyncio.create_task(client.tasks.create(spec(name))) for name in ("early", "late", "stays")]
                await asyncio.sleep(0)
                early.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await early
                requests[0].answer()
                batch = await next()
                self.assertEqual([name_of(item) for item in batch.calls], ["late", "stays"])
                late.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await late
                alone[1].cancel()  # it is under way, alone
                with self.assertRaises(asyncio.CancelledError):
                    await alone[1]
                batch.answer()
                self.assertEqual((await stays)["name"], "stays")
                for one in requests[1:]:
                    one.answer()
                await asyncio.gather(alone[0], *alone[2:])
                self.assertEqual(len(asyncio.all_tasks()), 1)

        with mock.patch("foliot._coalescer._SLOW", 1e6):
            asyncio.run(run())

    def test_all_calls_that_wait_go_out_together_however_many_requests_are_slow(self) -> None:
        async def run() -> None:
            loop = asyncio.get_running_loop()
            now = loop.time()
            client: Any = AsyncClient("http://127.0.0.1:9")
            mine = client._runner.loop()
            sizes: list[int] = []
            open = asyncio.Event()

            async def exchange(attempts: list[Any]) -> list[Any]:
                sizes.append(len(attempts))
                await open.wait()
                return [task("x")] * len(attempts)

            with mock.patch.object(mine, "exchange", exchange), mock.patch.object(loop, "time", lambda: now):
                calls = [asyncio.create_task(client.tasks.create(spec("x"))) for _ in range(4 + 1500)]
                await asyncio.sleep(0)
                calls.append(asyncio.create_task(client.tasks.create(spec("x"))))
                now += 0.1  # the loop was busy: this call comes before the timer
                for _ in range(3):
                    await asyncio.sleep(0)
                self.assertEqual(sizes, [1, 1, 1, 1, 1000, 501])
                open.set()
                await asyncio.gather(*calls)

        asyncio.run(run())

    def test_a_client_can_be_used_in_one_event_loop_after_another(self) -> None:
        url = listen(self, lambda request, body: request.reply(200, b'{"id":"1"}', JSON))
        client = AsyncClient(url)

        async def run() -> None:
            async with client:
                self.assertEqual((await client.tasks.get("x"))["id"], "1")

        for _ in range(2):
            asyncio.run(run())
