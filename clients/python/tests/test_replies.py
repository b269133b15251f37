from __future__ import annotations

import json
import unittest.mock
from collections.abc import Callable

from foliot import ProblemError, RetryPolicy, TransportError

from .server import Blocking, Case, Request, listen

PROBLEM = "application/problem+json"


class Replies(Case):
    def setUp(self) -> None:
        self.requests = 0
        self.answer: Callable[[Request], None]

        def answer(request: Request, body: bytes) -> None:
            self.requests += 1
            self.answer(request)

        self.client = self.open(listen(self, answer), retry=RetryPolicy(attempts=3, min_backoff=0.001))
        self.addCleanup(self.client.close)

    def reply(self, status: int, body: bytes, media: str = PROBLEM) -> None:
        """Set the next replies."""
        self.answer = lambda request: request.reply(status, body, {"Content-Type": media})

    def refusal(self, call: Callable[[], object]) -> ProblemError:
        with self.assertRaises(ProblemError) as raised:
            call()
        return raised.exception

    def get(self) -> object:
        return self.client.tasks.get("x")

    def test_a_problem_with_missing_or_wrong_fields_is_a_problem_error(self) -> None:
        problems: list[tuple[dict[str, object], str]] = [
            ({"code": "exists"}, "exists"),
            ({"code": "exists", "title": "Exists"}, "Exists"),
            ({"code": "exists", "title": "Exists", "detail": ""}, "Exists"),
            ({"code": "exists", "title": "Exists", "detail": 7}, "Exists"),
            ({"code": "exists", "title": ["Exists"], "detail": {}}, "exists"),
            ({"code": "exists", "detail": None, "field": 7}, "exists"),
            ({"code": "exists", "title": "Exists", "field": ["a"]}, "Exists"),
        ]
        for problem, detail in problems:
            with self.subTest(problem):
                self.reply(409, json.dumps(problem).encode())
                error = self.refusal(self.get)
                self.assertEqual((error.code, error.detail, str(error), error.field, error.maybe_applied), ("exists", detail, "get x: " + detail, None, False))
                self.assertEqual(error.problem, problem)
        self.assertEqual(self.requests, len(problems))

    def test_a_reply_that_is_not_one_of_foliot_is_a_problem_error(self) -> None:
        bodies = (b"", b"null", b"7", b'"x"', b"[]", b'[{"code":"exists"}]', b"{", b'{"code":7}', b'{"code":""}', b"{}", b"\xef\xbb\xbf", b"[" * 100_000, b"\xff\xfe")
        for status in (200, 404, 500):
            for media in ("application/json", PROBLEM, "Application/JSON; charset=utf-8", "text/html", ""):
                for body in (*bodies, b"9" * 5000):
                    with self.subTest(status=status, media=media, body=body[:20]):
                        self.reply(status, body, media)
                        error = self.refusal(self.get)
                        self.assertEqual((error.status, error.code, error.problem, error.maybe_applied), (status, "", None, status != 404))
                        self.assertRegex(str(error), r"is it a Foliot server\?$")

    def test_a_success_without_the_field_that_the_client_reads_is_a_problem_error(self) -> None:
        client = self.client
        calls: list[Callable[[], object]] = [
            lambda: list(client.tasks.list()),
            lambda: list(client.schedules.list()),
            lambda: list(client.queues.list()),
            lambda: client.tasks.wait("x", timeout=1),
        ]
        for body in (b"{}", b'{"tasks":null,"schedules":7,"queues":{},"results":"x","id":7}'):
            self.reply(200, body, "application/json")
            for call in calls:
                error = self.refusal(call)
                self.assertTrue(error.maybe_applied)
                self.assertRegex(str(error), "without a Foliot reply")

    def test_a_problem_is_not_a_success_and_the_media_type_is_compared_without_case(self) -> None:
        self.reply(200, b'{"code":"exists","id":"1"}')
        self.assertEqual(self.refusal(self.get).code, "exists")
        self.reply(409, b'{"code":"exists"}', "Application/Problem+JSON; charset=utf-8")
        self.assertEqual(self.refusal(self.get).code, "exists")
        self.reply(200, b'{"id":"1"}', "Application/JSON")
        self.assertEqual(self.get(), {"id": "1"})

    def test_a_reply_of_more_than_64_mib_is_a_problem_error(self) -> None:
        def send(length: int, chunked: bool, close: bool) -> None:
            body = b'{"id":"1","name":"' + b"a" * (length - 20) + b'"}'

            def answer(request: Request) -> None:
                request.send_response(200)
                request.send_header("Content-Type", "application/json")
                if chunked:
                    request.send_header("Transfer-Encoding", "chunked")
                elif not close:
                    request.send_header("Content-Length", str(length))
                if close:
                    request.send_header("Connection", "close")
                request.end_headers()
                try:
                    request.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (length, body) if chunked else body)
                except OSError:
                    pass
                if length % 2 == 1:  # the reply is too long, so the client closes the connection
                    request.close_connection = True

            self.answer = answer

        send(64 << 20, chunked=False, close=False)
        self.assertEqual(self.client.tasks.get("x")["id"], "1")
        send((64 << 20) + 1, chunked=False, close=False)
        self.assertRegex(str(self.refusal(self.get)), "with more than 64 MiB: is it")
        self.requests = 0
        for chunked, close in ((False, False), (True, False), (False, True), (True, True)):
            with self.subTest(chunked=chunked, close=close), unittest.mock.patch("foliot._http._MAX_REPLY", 1 << 20):
                send(1 << 20, chunked, close)
                self.assertEqual(self.client.tasks.get("x")["id"], "1")
                send((1 << 20) + 1, chunked, close)
                self.assertRegex(str(self.refusal(self.get)), "with more than 64 MiB: is it")
        self.assertEqual(self.requests, 8)

    def test_a_reply_that_breaks_http_is_a_transport_error(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
        for reply in (
            b"",
            b"SSH-2.0-x\r\n",
            b"HTTP/1.1 abc\r\n\r\n",
            b"HTTP/9.9 200 OK\r\n\r\n",
            head + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
            head + b"X: a\r\n" * 20_000 + b"\r\n",
            head + b"Content-Length: 20\r\n\r\n{}",
            chunked + b"-5\r\n{}\r\n",
            chunked + b"x\r\n{}\r\n",
            chunked + b"5\r\n{}",
            chunked + b"f" * 30 + b"\r\n{}",
        ):
            with self.subTest(reply[:100]):

                def answer(request: Request, reply: bytes = reply) -> None:
                    request.wfile.write(reply)
                    request.close_connection = True

                self.answer, self.requests = answer, 0
                with self.assertRaises(TransportError) as raised:
                    self.get()
                self.assertTrue(raised.exception.maybe_applied)
                self.assertEqual(self.requests, 3)

    def test_endless_100_continue_before_a_reply_is_a_transport_error(self) -> None:
        def answer(request: Request) -> None:
            request.close_connection = True
            try:
                while True:
                    request.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            except OSError:  # the client has closed the connection
                pass

        self.answer = answer
        with self.assertRaisesRegex(TransportError, "more than 100 replies 100 Continue"):
            self.get()
        self.assertEqual(self.requests, 3)

    def test_some_100_continue_before_a_reply_are_skipped(self) -> None:
        def answer(request: Request) -> None:
            request.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
            request.reply(200, b'{"id":"1"}', {"Content-Type": "application/json"})

        self.answer = answer
        self.assertEqual(self.get(), {"id": "1"})


class RepliesAsync(Replies):
    client_of = Blocking
