from __future__ import annotations

import math
import time
import unittest
import unittest.mock
from typing import Any

from foliot import Client, ProblemError, RetryPolicy
from foliot._retry import retry_after  # pyright: ignore[reportPrivateUsage]

from .server import Blocking, Case, Request, listen

NUMBERS = (math.nan, -1, -math.inf)
MONTH = 2.0**31 / 1000 + 1  # more seconds than a socket can wait


class Options(Case):
    def test_a_timeout_of_any_length_is_longer_than_a_slow_reply(self) -> None:
        def answer(request: Request, body: bytes) -> None:
            time.sleep(0.02)
            request.reply(200, b'{"id":"1"}', {"Content-Type": "application/json"})

        url = listen(self, answer)
        for timeout, wait in ((math.inf, "1s"), (MONTH, "1s"), (1e300, "1s"), (60, "600h"), (60, "9" * 400 + "h")):
            with self.subTest(timeout=timeout, wait=wait), self.open(url, timeout=timeout, retry=RetryPolicy(attempts=1)) as client:
                for _ in range(2):  # with a new connection, and with an idle one
                    self.assertEqual(client.tasks.get("x", wait=wait)["id"], "1")

    def test_an_invalid_number_is_refused_when_the_client_is_made(self) -> None:
        for timeout in (*NUMBERS, 0):
            with self.subTest(timeout), self.assertRaisesRegex(ValueError, "^invalid timeout .*: expected seconds above 0"):
                self.open("http://127.0.0.1:9", timeout=timeout)
        for name in ("attempts", "min_backoff", "max_backoff"):
            for value in NUMBERS:
                fields: dict[str, Any] = {name: value}
                with self.subTest(fields), self.assertRaisesRegex(ValueError, f"^invalid {name} "):
                    RetryPolicy(**fields)
        with self.assertRaisesRegex(ValueError, "expected 1 or more"):
            RetryPolicy(attempts=0)
        RetryPolicy(min_backoff=0, max_backoff=math.inf)

    def test_wait_refuses_a_timeout_that_is_no_number(self) -> None:
        with self.assertRaisesRegex(ValueError, "invalid timeout nan"):
            self.open("http://127.0.0.1:9").tasks.wait("x", timeout=math.nan)

    def test_a_backoff_never_exceeds_its_limit_not_even_after_thousands_of_requests(self) -> None:
        error = ProblemError("get x", 503, None, "busy", 0, False)
        for backoff in (0, 0.1):
            pause = RetryPolicy(attempts=10_000, min_backoff=backoff, max_backoff=0.25).pause(error, 5000, True)
            self.assertTrue(pause is not None and 0 <= pause <= 0.25, pause)

    def test_a_pause_of_any_length_is_waited_for(self) -> None:
        slept: list[float] = []
        long = "9" * 10  # seconds, more than time.sleep accepts

        def answer(request: Request, body: bytes) -> None:
            request.reply(503, b"", {"Retry-After": long})

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            if len(slept) == 10:
                raise KeyboardInterrupt

        client = Client(listen(self, answer), retry=RetryPolicy(max_backoff=math.inf))
        self.addCleanup(client.close)
        with unittest.mock.patch("foliot._sync.time.sleep", sleep), self.assertRaises(KeyboardInterrupt):
            client.whoami()
        self.assertTrue(all(1e6 < seconds < 2.0**31 / 1000 for seconds in slept), slept)

    def test_a_retry_after_that_is_not_valid_is_ignored(self) -> None:
        for value, seconds in (
            ("", 0.0),
            ("soon", 0.0),
            ("-5", 0.0),
            ("7", 7.0),
            ("9" * 12, 999_999_999_999.0),
            ("9" * 400, math.inf),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
            ("Fri, 31 Dec 9999 23:59:59 -0000", None),
            ("Mon, 01 Jan 0001 00:00:00 -0000", 0.0),
            ("Dec +99999999999999999999 0001 1:2 -0000", 0.0),
        ):
            with self.subTest(value):
                got = retry_after(value)
                self.assertTrue(got == seconds or (seconds is None and got >= 0), got)


class OptionsAsync(Options):
    client_of = Blocking

    def test_a_pause_of_any_length_is_waited_for(self) -> None:
        self.skipTest("the test is about time.sleep")
