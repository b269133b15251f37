from __future__ import annotations

import http.client
import os
import socket
import socketserver
import tempfile
import threading
import time
import unittest
import urllib.parse
from collections.abc import Callable
from typing import Any
from unittest import mock

from foliot import Client, FoliotError, ProblemError, RetryPolicy, TransportError
from foliot.types import TaskInput

from .server import Blocking, Case, Foliot, Request, listen

SPEC: TaskInput = {"delay": "1h", "http": {"url": "http://127.0.0.1:9/"}}
Fault = Callable[[Request], None]


def refuse(status: int, headers: dict[str, str] | None = None) -> Fault:
    problem = b'{"type":"about:blank","title":"Unavailable","status":503,"code":"unavailable","detail":"the server is stopping"}'
    return lambda request: request.reply(status, problem, {"Content-Type": "application/problem+json", **(headers or {})})


def hang_up(request: Request) -> None:
    request.close_connection = True
    request.connection.shutdown(socket.SHUT_RDWR)


class Retries(Case):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Foliot(cls.addClassCleanup)

    def front(self, *faults: Fault, **options: Any) -> tuple[Client, list[Request]]:
        """Start a server in front of foliot. For each request it takes the next fault. Without one it forwards."""
        left = list(faults)
        requests: list[Request] = []
        target = urllib.parse.urlsplit(self.server.url)

        def answer(request: Request, body: bytes) -> None:
            requests.append(request)
            if left:
                left.pop(0)(request)
                return
            forward = http.client.HTTPConnection(target.netloc)
            headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
            forward.request(request.command, request.path, body, headers)
            reply = forward.getresponse()
            request.reply(reply.status, reply.read(), {"Content-Type": reply.headers["Content-Type"]})
            forward.close()

        client = self.open(listen(self, answer), retry=RetryPolicy(min_backoff=0.005), **options)
        self.addCleanup(client.close)
        return client, requests

    def test_a_create_is_repeated_after_503_and_a_lost_reply_with_one_idempotency_key(self) -> None:
        client, requests = self.front(refuse(503), hang_up, refuse(504))
        self.assertEqual(client.tasks.create({**SPEC, "name": "repeated"})["state"], "scheduled")
        keys = [request.headers["Idempotency-Key"] for request in requests]
        self.assertEqual(len(keys), 4)
        self.assertEqual(len(set(keys)), 1)
        self.assertTrue(keys[0])

    def test_retry_after_is_waited_for(self) -> None:
        client, requests = self.front(refuse(503, {"Retry-After": "1"}))
        began = time.monotonic()
        client.tasks.page()
        self.assertEqual(len(requests), 2)
        self.assertGreaterEqual(time.monotonic() - began, 1)

    def test_a_retry_after_above_the_limit_ends_the_call(self) -> None:
        client, requests = self.front(refuse(503, {"Retry-After": "60"}))
        with self.assertRaises(ProblemError) as raised:
            client.tasks.page()
        self.assertEqual((raised.exception.retry_after, len(requests)), (60, 1))

    def test_requests_that_are_not_idempotent_are_never_repeated_if_they_may_have_arrived(self) -> None:
        calls: dict[str, Callable[[Client], object]] = {
            "patch": lambda c: c.tasks.patch("x", {"queue": "other"}),
            "move": lambda c: c.tasks.move("x", delay="1h"),
            "run": lambda c: c.tasks.run("x"),
            "retry": lambda c: c.tasks.retry("x"),
            "cancel with a condition": lambda c: c.tasks.cancel("x", if_match='"1.1"'),
            "touch with a condition": lambda c: c.tasks.touch("x", if_match='"1.1"'),
            "cancel matching": lambda c: c.tasks.cancel_matching(all=True),
            "retry matching": lambda c: c.tasks.retry_matching(all=True),
            "move matching": lambda c: c.tasks.move_matching({"by": "1h"}, all=True),
            "delete a schedule": lambda c: c.schedules.delete("x"),
            "put a schedule with a condition": lambda c: c.schedules.put("x", {"every": "1m", "task": {}}, if_none_match="*"),
            "delete a queue": lambda c: c.queues.delete("x"),
            "purge": lambda c: c.queues.purge("x"),
        }
        for name, call in calls.items():
            for fault in (refuse(503), hang_up):
                with self.subTest(name):
                    client, requests = self.front(fault)
                    with self.assertRaises((ProblemError, TransportError)) as raised:
                        call(client)
                    self.assertEqual(len(requests), 1)
                    self.assertTrue(raised.exception.maybe_applied)

    def test_a_request_that_certainly_did_not_arrive_is_repeated(self) -> None:
        client, requests = self.front(refuse(429))
        client.tasks.create({**SPEC, "name": "late"})
        self.assertEqual(len(requests), 2)
        client, requests = self.front(refuse(429))
        client.tasks.patch("late", {"priority": "low"})
        self.assertEqual(len(requests), 2)

    def test_a_redirect_is_not_followed_and_another_server_is_named_as_such(self) -> None:
        client, requests = self.front(
            lambda request: request.reply(302, b"", {"Location": "http://127.0.0.1:9/"}), lambda request: request.reply(200, b"<html>", {"Content-Type": "text/html"})
        )
        with self.assertRaises(ProblemError) as raised:
            client.tasks.page()
        self.assertEqual(raised.exception.status, 302)
        with self.assertRaisesRegex(ProblemError, "is it a Foliot server"):
            client.tasks.page()
        self.assertEqual(len(requests), 2)

    def test_a_call_ends_with_the_timeout(self) -> None:
        done = threading.Event()
        self.addCleanup(done.set)

        def never(request: Request, body: bytes) -> None:
            done.wait()

        url = listen(self, never)
        with self.assertRaisesRegex(TransportError, "timed out"):
            self.open(url, timeout=0.05, retry=RetryPolicy(attempts=2, min_backoff=0.001)).tasks.page()

    def test_a_server_that_does_not_run_is_a_transport_error_and_nothing_was_applied(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            client = self.open(f"http://127.0.0.1:{unused.getsockname()[1]}", retry=RetryPolicy(attempts=2, min_backoff=0.001))
            with self.assertRaises(TransportError) as raised:
                client.tasks.patch("x", {})
        self.assertFalse(raised.exception.maybe_applied)

    def tls(self, answer: bytes) -> tuple[TransportError, int]:
        """Send a call to a server that ends each TLS handshake with an answer. Return the error, and the number of connections."""
        connections: list[object] = []

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                connections.append(self.client_address)
                self.request.recv(1 << 16)  # the first message of the handshake
                self.request.sendall(answer)

        with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,)).start()
            client = self.open(f"https://127.0.0.1:{server.server_address[1]}", retry=RetryPolicy(attempts=3, min_backoff=0.001))
            try:
                with self.assertRaises(TransportError) as raised:
                    client.tasks.patch("x", {})
            finally:
                server.shutdown()
        return raised.exception, len(connections)

    def test_a_connection_that_ends_during_the_tls_handshake_is_repeated(self) -> None:
        error, connections = self.tls(b"")
        self.assertEqual((error.permanent, error.maybe_applied, connections), (False, False, 3), str(error))

    def test_a_server_without_tls_is_not_called_again(self) -> None:
        error, connections = self.tls(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        self.assertEqual((error.permanent, error.maybe_applied, connections), (True, False, 1), str(error))

    def test_a_wait_ends_with_its_timeout_even_if_the_server_does_not_reply(self) -> None:
        done = threading.Event()
        self.addCleanup(done.set)

        def silent(request: Request) -> None:
            done.wait()

        def drip(request: Request) -> None:
            request.wfile.write(b"HTTP/1.1 200 OK\r\n")
            try:
                while not done.wait(0.1):
                    request.wfile.write(b"X: a\r\n")
            except OSError:  # the client has closed the connection
                request.close_connection = True

        def known(request: Request) -> None:
            request.reply(200, b'{"id":"1","state":"scheduled"}', {"Content-Type": "application/json"})

        busy = refuse(503, {"Retry-After": "9"})
        for faults, message in (
            ([silent], "the state of the task is unknown after 0.5 seconds"),
            ([drip], "the state of the task is unknown after 0.5 seconds"),
            ([busy], "the state of the task is unknown after 0.5 seconds"),
            ([known, silent], "the task is scheduled after 0.5 seconds"),
            ([known, drip], "the task is scheduled after 0.5 seconds"),
            ([known, busy], "the task is scheduled after 0.5 seconds"),
        ):
            with self.subTest(message, faults=len(faults)):
                client, requests = self.front(*faults)
                began = time.monotonic()
                with self.assertRaisesRegex(TimeoutError, message):
                    client.tasks.wait("x", timeout=0.5)
                self.assertLess(time.monotonic() - began, 5)
                self.assertEqual(len(requests), len(faults))

    def test_a_wait_longer_than_an_outage_ends_with_a_timeout_error_too(self) -> None:
        done = threading.Event()
        self.addCleanup(done.set)

        def known(request: Request) -> None:
            request.reply(200, b'{"id":"1","state":"scheduled"}', {"Content-Type": "application/json"})

        def silent(request: Request) -> None:
            done.wait()

        client, _ = self.front(known, silent)
        with mock.patch("foliot._tasks._OUTAGE", 0.1), self.assertRaisesRegex(TimeoutError, "the task is scheduled after 0.5 seconds"):
            client.tasks.wait("x", timeout=0.5)

    def test_a_connection_is_used_again_and_threads_have_their_own(self) -> None:
        client, requests = self.front(batching=False)
        for _ in range(5):
            client.tasks.page()
        self.assertEqual(len({request.client_address for request in requests}), 1)
        errors: list[FoliotError] = []

        def work() -> None:
            try:
                for _ in range(20):
                    client.tasks.create(SPEC)
            except FoliotError as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(len(requests), 165)

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_a_child_process_uses_no_connection_of_its_parent(self) -> None:
        client, requests = self.front()
        client.tasks.page()
        child = os.fork()
        if child == 0:
            try:
                client.tasks.page()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        client.tasks.page()
        addresses = [request.client_address for request in requests]
        self.assertNotEqual(addresses[1], addresses[0])
        self.assertEqual(addresses[2], addresses[0])

    def test_calls_go_on_across_a_restart_of_the_server_and_no_task_is_lost(self) -> None:
        directory = tempfile.mkdtemp(prefix="foliot-restart-")
        one = Foliot(self.addCleanup, store=directory)
        client = self.open(one.url, retry=RetryPolicy(attempts=40, max_backoff=0.25))
        self.addCleanup(client.close)
        client.tasks.create({**SPEC, "name": "survives"})
        states: list[str] = []

        def wait() -> None:
            states.append(client.tasks.wait("survives", timeout=60)["state"])

        def make() -> None:
            states.append(client.tasks.create({**SPEC, "name": "made-meanwhile"})["state"])

        waiting, making = threading.Thread(target=wait), threading.Thread(target=make)
        waiting.start()
        one.stop()
        making.start()
        Foliot(self.addCleanup, urllib.parse.urlsplit(one.url).netloc, directory)
        making.join()
        self.assertEqual(states, ["scheduled"])
        client.tasks.cancel("survives")
        waiting.join()
        self.assertEqual(states, ["scheduled", "cancelled"])

    def test_an_invalid_server_token_or_name_is_refused_before_anything_is_sent(self) -> None:
        for url, problem in (("foliot.internal", "expected a URL"), ("http://user:secret@127.0.0.1", "pass token"), ("http://127.0.0.1/?x=1", "query")):
            with self.assertRaisesRegex(ValueError, problem):
                self.open(url)
        with self.assertRaisesRegex(ValueError, "invalid token"):
            self.open(self.server.url, token="two words")
        with self.assertRaisesRegex(ValueError, "invalid name"):
            self.open(self.server.url).tasks.get("..")

    def test_a_token_is_sent_and_a_server_without_it_refuses_the_call(self) -> None:
        own = Foliot(self.addCleanup)
        token = own.command("token", "create", "--scope", "admin", "--for", "operator")
        with self.open(own.url, token=token) as client:
            self.assertTrue(client.whoami()["secured"])
        with self.open(own.url) as client, self.assertRaises(ProblemError) as raised:
            client.whoami()
        self.assertEqual((raised.exception.status, raised.exception.code), (401, "token_required"))


class RetriesAsync(Retries):
    client_of = Blocking

    def test_a_child_process_uses_no_connection_of_its_parent(self) -> None:
        self.skipTest("the child has no event loop")
