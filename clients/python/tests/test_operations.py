from __future__ import annotations

import concurrent.futures
import json
import re
import threading
import time
import unittest.mock
import urllib.request
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from foliot import ProblemError, ReplacedError, _http  # pyright: ignore[reportPrivateUsage]
from foliot.types import HTTPInput, ScheduleRule, TaskInput

from .server import Blocking, Case, Foliot, Request, listen


class Operations(Case):
    status = 200
    bodies: list[bytes]
    seen: list[tuple[str, str]]  # method and path of each request

    @classmethod
    def setUpClass(cls) -> None:
        cls.bodies, cls.seen = [], []
        cls.server = Foliot(cls.addClassCleanup)

        def answer(request: Request, body: bytes) -> None:
            cls.bodies.append(body)
            request.reply(cls.status)

        cls.http: HTTPInput = {"url": listen(cls, answer) + "/hook", "body": {"order": 42}}
        cls.client = cls.open(cls.server.url)
        cls.addClassCleanup(cls.client.close)
        make = _http.message

        def record(method: str, target: str, *rest: Any) -> bytes:
            cls.seen.append((method, target.partition("?")[0]))
            return make(method, target, *rest)

        patch = unittest.mock.patch("foliot._core.message", record)
        patch.start()
        cls.addClassCleanup(patch.stop)

    def test_a_task_is_created_waited_for_and_delivered(self) -> None:
        tasks = self.client.tasks
        self.assertEqual(tasks.create({"name": "order-1", "delay": "50ms", "http": self.http, "labels": {"shop": "a"}})["name"], "order-1")
        self.assertEqual(tasks.wait("order-1", timeout=30)["state"], "delivered")
        self.assertIn({"order": 42}, [json.loads(body) for body in self.bodies])

    def test_datetimes_and_timedeltas_are_times_and_durations(self) -> None:
        tasks, due = self.client.tasks, datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=1)))
        text = "2030-01-02T02:04:05.000Z"
        self.assertEqual(tasks.put("typed", {"at": due, "timeout": timedelta(seconds=3), "http": self.http})["timeout"], "3s")
        self.assertEqual(tasks.get("typed", wait=timedelta(milliseconds=1))["due_at"], text)
        self.assertEqual([task["name"] for task in tasks.list(due_after=due - timedelta(seconds=1), due_before=due + timedelta(seconds=1))], ["typed"])
        self.assertEqual(tasks.move("typed", delay=timedelta(hours=1.5)).get("delay"), "1h30m")
        self.assertEqual(tasks.move("typed", at=due)["due_at"], text)
        self.assertEqual(tasks.move_matching({"at": due}, prefix="typed")["changed"], 1)
        self.assertEqual([result.task["due_at"] for result in tasks.create_many([{"at": due, "http": self.http}])], [text])
        self.assertEqual(tasks.publish(self.http["url"], b"x", at=due)["due_at"], text)
        self.assertEqual(tasks.publish(self.http["url"], b"x", delay=timedelta(days=1)).get("delay"), "24h")
        self.assertTrue(self.client.queues.pause("typed", until=due)["paused"])

    def test_a_call_that_asks_for_nothing_is_refused(self) -> None:
        self.client.tasks.put("idle", {"delay": "1h", "http": self.http})
        with self.assertRaisesRegex(ProblemError, "a patch must change at least one field"):
            self.client.tasks.patch("idle", {})

    def test_wait_ends_with_its_timeout(self) -> None:
        task = self.client.tasks.create({"delay": "1h", "http": self.http})
        with self.assertRaises(TimeoutError):
            self.client.tasks.wait(task["name"], timeout=0.3)

    def test_one_idempotency_key_creates_one_task(self) -> None:
        spec: TaskInput = {"delay": "1h", "http": self.http}
        first = self.client.tasks.create(spec, key="message-7")
        self.assertEqual(self.client.tasks.create(spec, key="message-7")["id"], first["id"])
        self.assertNotEqual(self.client.tasks.create(spec)["id"], first["id"])

    def test_a_refusal_has_the_status_the_code_the_detail_and_the_field(self) -> None:
        with self.assertRaises(ProblemError) as raised:
            self.client.tasks.create({"name": "bad", "delay": "3 parsecs", "http": self.http})
        error = raised.exception
        self.assertEqual((error.status, error.code, error.field, error.maybe_applied), (400, "bad_duration", "delay", False))
        self.assertRegex(str(error), "^create bad: delay: .")
        with self.assertRaises(ProblemError) as raised:
            self.client.tasks.get("never-made")
        error = raised.exception
        self.assertEqual((error.status, error.code, (error.problem or {}).get("kind")), (404, "not_found", "task"))

    def test_a_task_is_put_patched_moved_touched_and_cancelled(self) -> None:
        tasks = self.client.tasks
        put = tasks.put("order-2", {"delay": "1h", "http": self.http}, if_none_match="*")
        etag = put.get("etag")
        self.assertEqual(etag, f'"{put["id"]}.{put["version"]}"')
        with self.assertRaises(ProblemError) as raised:
            tasks.put("order-2", {"delay": "1h", "http": self.http}, if_none_match="*")
        self.assertEqual(raised.exception.status, 412)
        self.assertEqual(tasks.patch("order-2", {"labels": {"shop": "b"}}, if_match=etag).get("labels"), {"shop": "b"})
        with self.assertRaises(ProblemError) as raised:
            tasks.patch("order-2", {"priority": "low"}, if_match=etag)
        self.assertEqual(raised.exception.code, "precondition_failed")
        at = "2035-01-02T03:04:05.678Z"
        self.assertEqual(tasks.move("order-2", at=at)["due_at"], at)
        tasks.move("order-2", delay="2h")
        due = datetime.fromisoformat(tasks.touch("order-2")["due_at"].replace("Z", "+00:00"))
        left = due.timestamp() - time.time()
        self.assertTrue(3600 < left <= 7201, left)
        cancelled = tasks.cancel("order-2")
        self.assertEqual((cancelled.task["state"], cancelled.under_way, cancelled.already), ("cancelled", False, False))
        self.assertTrue(tasks.cancel("order-2").already)

    def test_a_task_is_run_at_once_and_a_dead_task_is_retried(self) -> None:
        tasks = self.client.tasks
        type(self).status = 410
        tasks.create({"name": "order-3", "delay": "1h", "http": self.http})
        tasks.run("order-3")
        self.assertEqual(tasks.wait("order-3", timeout=30)["state"], "dead")
        type(self).status = 200
        tasks.retry("order-3")
        self.assertEqual(tasks.get("order-3", wait="30s")["state"], "delivered")

    def test_wait_ends_if_another_task_takes_the_name(self) -> None:
        tasks = self.client.tasks
        tasks.create({"name": "order-4", "delay": "1h", "http": self.http})
        raised: list[Exception] = []

        def wait() -> None:
            try:
                tasks.wait("order-4", timeout=30)
            except Exception as error:
                raised.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        while self.seen.count(("GET", "/v1/tasks/order-4")) < 2:  # it has read the first task, and waits
            self.client.whoami()
        tasks.put("order-4", {"delay": "2h", "http": self.http})
        tasks.cancel("order-4")
        waiting.join()
        self.assertIsInstance(raised[0], ReplacedError)

    def test_many_lists_and_changes_by_a_filter(self) -> None:
        tasks = self.client.tasks
        specs: list[TaskInput] = [{"name": f"many-{i}", "delay": "1h", "queue": "many", "http": self.http} for i in range(1203)]
        specs[5]["delay"] = "soon"
        specs[1100]["name"] = "many-0"
        results = tasks.create_many(specs)
        self.assertEqual(len(results), len(specs))
        self.assertEqual((results[0].task["name"], results[1202].task["name"]), ("many-0", "many-1202"))
        for i, field, code in ((5, "delay", "bad_duration"), (1100, None, "exists")):
            error = results[i].error
            assert isinstance(error, ProblemError)
            self.assertEqual((error.field, error.code, error.maybe_applied), (field, code, False))
            with self.assertRaises(ProblemError):
                results[i].task
        self.assertEqual(len({task["name"] for task in tasks.list(queue="many", limit=100)}), 1201)
        self.assertEqual(list(tasks.list(queue="many", state=["dead"])), [])
        page = tasks.page(queue="many", limit=10, include="body")
        self.assertEqual([task.get("http", {}).get("body") for task in page["tasks"]], [{"order": 42}] * 10)
        self.assertEqual(tasks.move_matching({"by": "1h"}, queue="many", prefix="many-1")["changed"], 313)
        self.assertEqual(tasks.cancel_matching(queue="many", dry_run=True).get("matched"), 1201)
        with self.assertRaises(ProblemError) as raised:
            tasks.cancel_matching(queue="many", expect=3)
        self.assertEqual((raised.exception.code, (raised.exception.problem or {}).get("count")), ("count_differs", 1201))
        self.assertEqual(tasks.cancel_matching(queue="many", expect=1201)["changed"], 1201)
        self.assertEqual(tasks.retry_matching(queue="many")["changed"], 0)
        with self.assertRaises(ProblemError) as raised:
            tasks.cancel_matching()
        self.assertEqual(raised.exception.code, "no_filter")

    def test_many_tasks_are_put_and_cancelled_each_with_its_own_result(self) -> None:
        tasks = self.client.tasks
        specs: list[TaskInput] = [{"name": f"own-{i}", "delay": "1h", "http": self.http} for i in range(3)]
        put = tasks.put_many([*specs, {"name": "bad name", "delay": "1h", "http": self.http}])
        self.assertEqual([result.error is None for result in put], [True, True, True, False])
        self.assertEqual(put[1].task.get("etag"), tasks.get("own-1").get("etag"))
        self.assertTrue(tasks.cancel("own-2", if_match=put[2].task.get("etag")).task)
        cancelled = tasks.cancel_many(["own-0", "own-2", "never-made"])
        self.assertEqual([result.task.get("already") for result in cancelled[:2]], [None, True])
        self.assertRegex(str(cancelled[2].error), "^cancel never-made: ")
        self.assertEqual(tasks.create_many([]), [])
        with self.assertRaisesRegex(ValueError, r"tasks\[1\] has no name"):
            tasks.put_many([specs[0], {"delay": "1h", "http": self.http}])
        with self.assertRaisesRegex(TypeError, "expected a list of names"):
            tasks.cancel_many("own-0")

    def test_calls_at_the_same_time_share_requests_and_each_has_its_own_result(self) -> None:
        tasks = self.client.tasks

        def spec(i: int) -> TaskInput:
            return {"name": f"same-{i}", "delay": "1h", "http": self.http}

        def together(calls: list[Callable[[], Any]]) -> list[Any]:
            def outcome(call: Callable[[], Any]) -> Any:
                ready.wait()
                try:
                    return call()
                except ProblemError as error:
                    return error.code

            ready = threading.Barrier(len(calls))
            with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
                return list(pool.map(outcome, calls))

        first = tasks.create(spec(7), key="key-7")
        made = together([lambda i=i: tasks.create(spec(i), key=f"key-{i}") for i in range(40)])
        self.assertEqual([task["name"] for task in made], [f"same-{i}" for i in range(40)])
        self.assertEqual(made[7]["id"], first["id"])
        self.assertEqual(made[30].get("etag"), tasks.get("same-30").get("etag"))
        self.assertEqual(tasks.create(spec(20), key="key-20")["id"], made[20]["id"])
        touches: list[Callable[[], Any]] = [lambda i=i: tasks.touch(f"same-{i}")["name"] for i in range(8)]
        mixed: list[Callable[[], Any]] = [
            lambda: tasks.create(spec(9)),
            lambda: tasks.put("same-10", spec(10), if_match='"x.1"'),
            lambda: tasks.put("same-11", {**spec(11), "delay": "2h"}, if_match=made[11]["etag"]).get("delay"),
            lambda: tasks.cancel("same-12", if_match=made[12]["etag"]).task["state"],
            lambda: tasks.cancel("never-made"),
            lambda: tasks.create({**spec(100), "delay": "soon"}),
        ]
        self.assertEqual(together(touches + mixed), [*(f"same-{i}" for i in range(8)), "exists", "precondition_failed", "2h", "cancelled", "not_found", "bad_duration"])

    def test_a_local_time_has_a_time_zone(self) -> None:
        tasks, local = self.client.tasks, "2031-03-30 09:00"
        zone: TaskInput = {"at": local, "timezone": "Europe/Berlin", "http": self.http}
        self.assertEqual(tasks.put("local", zone)["due_at"], "2031-03-30T07:00:00.000Z")
        self.assertEqual(tasks.move("local", at="2031-12-30T09:00", timezone="Europe/Berlin")["due_at"], "2031-12-30T08:00:00.000Z")
        self.assertEqual(tasks.create_many([zone])[0].task["due_at"], "2031-03-30T07:00:00.000Z")
        self.assertEqual(tasks.move_matching({"at": local, "timezone": "Europe/Berlin"}, prefix="local")["changed"], 1)

    def test_a_request_is_published_with_its_body_and_headers(self) -> None:
        headers = {"Content-Type": "text/csv", "X-Shop": "a"}
        made = self.client.tasks.publish(self.http["url"], b"a=1", headers=headers, name="forward-1", queue="mail", delay="1h", retries=2)
        self.assertEqual((made["name"], made["queue"], made["retry"].get("max_attempts")), ("forward-1", "mail", 3))
        sent = self.client.tasks.get("forward-1").get("http") or self.http
        self.assertEqual(sent.get("body"), "a=1")
        forwarded = {name.lower(): value for name, value in sent.get("headers", {}).items()}
        self.assertEqual((forwarded["content-type"], forwarded["x-shop"]), ("text/csv", "a"))
        self.assertEqual([item.get("name") for item in self.client.tasks.upcoming(queue="mail", until="2h")["items"]], ["forward-1"])

    def test_a_schedule_is_put_read_listed_previewed_triggered_paused_and_deleted(self) -> None:
        schedules = self.client.schedules
        rule: ScheduleRule = {"cron": "0 21 * * MON-FRI", "timezone": "Europe/Berlin"}
        made = schedules.put("report", {**rule, "task": {"http": self.http, "labels": {"shop": "a"}}}, if_none_match="*")
        self.assertEqual(schedules.get("report").get("etag"), made.get("etag"))
        self.assertEqual([schedule["name"] for schedule in schedules.list(label=["shop=a"])], ["report"])
        preview = schedules.preview("report", from_="2030-11-20T00:00:00Z", limit=1)
        self.assertEqual(preview["instants"][0]["local"], "2030-11-20T21:00:00+01:00")
        self.assertEqual(len(schedules.preview_rule(rule, limit=3)["instants"]), 3)
        self.assertEqual(schedules.trigger("report").get("schedule"), "report")
        self.assertTrue(schedules.pause("report")["paused"])
        self.assertFalse(schedules.resume("report")["paused"])
        filled = schedules.backfill("report", "2026-01-05T00:00:00Z", "2026-01-07T00:00:00Z")
        self.assertEqual((filled["instants"], filled["created"]), (2, 2))
        self.assertEqual(schedules.delete("report")["name"], "report")

    def test_a_queue_is_put_paused_resumed_purged_and_deleted(self) -> None:
        queues = self.client.queues
        made = queues.put("bulk", {"rate": 5, "concurrency": 2})
        queues.pause("bulk", until="2035-01-02T03:04:05Z", if_match=made.get("etag"))
        paused = queues.get("bulk")
        self.assertTrue(paused["paused"] and paused.get("paused_until"))
        self.assertIn("bulk", [queue["name"] for queue in queues.list(limit=1)])
        self.assertFalse(queues.resume("bulk")["paused"])
        self.client.tasks.create({"delay": "1h", "queue": "bulk", "http": self.http})
        with self.assertRaises(ProblemError) as raised:
            queues.purge("bulk", expect=2)
        self.assertEqual(raised.exception.code, "count_differs")
        queues.purge("bulk", expect=1)
        while (queue := queues.get("bulk"))["purging"]:
            pass
        self.assertEqual(queue["counts"]["cancelled"], 1)
        queues.delete("bulk")

    def test_z_every_operation_has_a_method_which_was_called_here(self) -> None:
        with urllib.request.urlopen(self.server.url + "/openapi.json") as reply:
            paths: Any = json.load(reply)["paths"]
        called: set[str] = set()
        for method, path in self.seen:
            for template in sorted(paths, key=lambda t: t.count("{")):
                if method.lower() in paths[template] and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
                    called.add(paths[template][method.lower()]["operationId"])
                    break
        operations = {
            op["operationId"] for path in paths.values() for op in path.values() if {"tasks", "schedules", "queues"} & set(op.get("tags", []))
        }
        self.assertGreater(len(operations), 30)
        self.assertEqual(operations - called, set())


class OperationsAsync(Operations):
    client_of = Blocking
