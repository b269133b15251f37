from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from foliot import RetryPolicy
from foliot.types import TaskInput

from .server import Blocking, Case, Request, listen

URL = "http://127.0.0.1:9/"
WRONG = ("a\nb", "a\r\n b", "a\0", "\u65e5", "\udce4")


def task(body: Any) -> TaskInput:
    return {"delay": "1h", "http": {"url": URL, "body": body}}


class Local(Case):
    def setUp(self) -> None:
        self.requests = 0

        def answer(request: Request, body: bytes) -> None:
            self.requests += 1
            request.reply(503)

        self.url = listen(self, answer)
        self.client = self.open(self.url, retry=RetryPolicy(attempts=3, min_backoff=0.001))
        self.addCleanup(self.client.close)

    def test_an_error_before_anything_is_sent_is_raised_as_it_is(self) -> None:
        circular: dict[str, object] = {}
        circular["self"] = circular
        client, text, order = self.client, "a=1", {"order": 42}
        bad: Any = text, order
        calls: list[tuple[type[Exception], str, Callable[[], object]]] = [
            (TypeError, "not JSON serializable", lambda: client.tasks.create(task(b"x"))),
            (TypeError, "not JSON serializable", lambda: client.tasks.put("x", task(b"x"))),
            (TypeError, "not JSON serializable", lambda: client.schedules.put("x", {"every": "1m", "task": {"http": {"url": URL, "body": b"x"}}})),
            (ValueError, "not JSON compliant", lambda: client.tasks.create(task(float("nan")))),
            (ValueError, "Circular", lambda: client.tasks.create(task(circular))),
            (TypeError, "move x: pass at or delay", lambda: client.tasks.move("x")),
            (ValueError, "it has no time zone", lambda: client.tasks.move("x", at=datetime(2030, 1, 2))),
            (ValueError, "it has no time zone", lambda: client.tasks.page(due_before=datetime(2030, 1, 2))),
            (ValueError, "invalid header name", lambda: client.tasks.publish(URL, headers={"X Shop": "a"})),
            (ValueError, "invalid header name", lambda: client.tasks.publish(URL, headers={"X-\u65e5": "a"})),
            (TypeError, "invalid body", lambda: client.tasks.publish(URL, bad[0])),
            (TypeError, "invalid body", lambda: client.tasks.publish(URL, bad[1])),
            (ValueError, "surrogates not allowed", lambda: client.tasks.page(label=["\udce4"])),
            (ValueError, "surrogates not allowed", lambda: client.tasks.get("\udce4")),
        ]
        for value in WRONG:
            calls.append((ValueError, "invalid value of the header Foliot-Forward-X-Shop", lambda value=value: client.tasks.publish(URL, headers={"X-Shop": value})))
            calls.append((ValueError, "invalid value of the header Idempotency-Key", lambda value=value: client.tasks.create(task("x"), key=value)))
            calls.append((ValueError, "invalid value of the header If-Match", lambda value=value: client.tasks.cancel("x", if_match=value)))
        for kind, message, call in calls:
            with self.subTest(message), self.assertRaisesRegex(kind, message):
                call()
        self.assertEqual(self.requests, 0)

    def test_an_error_before_anything_is_sent_needs_no_server(self) -> None:
        client = self.open("http://127.0.0.1:9")
        with self.assertRaisesRegex(ValueError, "invalid value of the header"):
            client.tasks.create(task("x"), key="a\nb")
        with self.assertRaisesRegex(ValueError, "surrogates not allowed"):
            client.tasks.page(label=["\udce4"])

    def test_a_task_that_json_cannot_encode_stops_many_before_its_first_request(self) -> None:
        with self.assertRaisesRegex(TypeError, "not JSON serializable"):
            self.client.tasks.create_many([*[task("x")] * 1001, task(b"x")])
        self.assertEqual(self.requests, 0)

    def test_an_option_that_cannot_be_sent_is_refused_when_the_client_is_made(self) -> None:
        for value in WRONG:
            with self.subTest(value):
                with self.assertRaisesRegex(ValueError, "invalid value of the header Foliot-Namespace"):
                    self.open(URL, namespace=value)
                with self.assertRaisesRegex(ValueError, "invalid value of the header User-Agent"):
                    self.open(URL, user_agent=value)
        self.open(URL, namespace="shop", user_agent="Bücher/1 (x)")
        for server in ("http://a b", "http://a..b", "http://.a", "http://" + "a" * 64, "http://\udce4", "http://a\0"):
            with self.subTest(server), self.assertRaisesRegex(ValueError, "expected a URL"):
                self.open(server)
        self.open("https://bücher.example:8750")
        self.open("http://[::1]:8750")

    def test_a_path_of_the_server_is_quoted(self) -> None:
        paths: list[str] = []

        def answer(request: Request, body: bytes) -> None:
            paths.append(request.path)
            request.reply(200, b'{"id":"1"}', {"Content-Type": "application/json"})

        with self.open(listen(self, answer) + "/a b/ä%20/", retry=RetryPolicy(attempts=1)) as client:
            client.tasks.get("x")
        self.assertEqual(paths, ["/a%20b/%C3%A4%20/v1/tasks/x"])


class LocalAsync(Local):
    client_of = Blocking
