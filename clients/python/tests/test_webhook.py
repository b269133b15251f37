from __future__ import annotations

import base64
import io
import math
import time
import unittest
from datetime import datetime, timezone
from email.message import Message
from typing import Any

from foliot import Client, webhook

from .server import Foliot, Request, listen

SECRET = "whsec_" + base64.b64encode(bytes([7]) * 32).decode()
OTHER = "whsec_" + base64.b64encode(bytes([8]) * 32).decode()


def signed(body: bytes, at: int | None = None, id: str = "task-1") -> dict[str, str]:
    stamp = str(int(time.time()) if at is None else at)
    signature = webhook.sign(SECRET, id, int(stamp), body)
    return {"webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": signature, "content-length": str(len(body))}


class Webhooks(unittest.TestCase):
    def test_a_delivery_of_the_server_is_verified_and_a_changed_one_is_refused(self) -> None:
        server = Foliot(self.addCleanup)
        first = server.command("secret", "create")
        second = server.command("secret", "create", "--overlap", "1h")
        got: list[tuple[Message, bytes]] = []

        def answer(request: Request, body: bytes) -> None:
            got.append((request.headers, body))
            request.reply(204)

        url = listen(self, answer)
        with Client(server.url) as client:
            full = client.tasks.create({"delay": "0s", "http": {"url": url, "body": {"order": 42, "note": "ä"}}})
            client.tasks.wait(full["name"], timeout=30)
            bare = client.tasks.create({"delay": "0s", "http": {"url": url}})
            client.tasks.wait(bare["name"], timeout=30)
        (headers, body), (empty, nothing) = got
        for secrets in (first, second, [OTHER, second], (first, second)):
            self.assertEqual(webhook.verify(secrets, headers, body).id, full["id"])
        plain = dict(headers.items())
        self.assertEqual(webhook.verify(first, plain, body).id, full["id"])
        self.assertEqual(webhook.verify(first, dict(empty.items()), nothing).id, bare["id"])
        for secrets, changed, data in (
            (OTHER, plain, body),
            (first, plain, body + b" "),
            (first, plain, b""),
            (first, {**plain, "webhook-id": "another"}, body),
            (first, {**dict(empty.items()), "content-type": "multipart/form-data"}, b""),
            (first, {**{name: value for name, value in empty.items() if name.lower() != "content-length"}, "Transfer-Encoding": "chunked"}, b""),
        ):
            with self.assertRaises(webhook.UntrustedError):
                webhook.verify(secrets, {name.lower(): value for name, value in changed.items()}, data)

    def test_old_callbacks_and_those_from_the_future_are_refused_within_the_tolerance_they_are_not(self) -> None:
        now = int(time.time())
        for at, tolerance, valid in ((now - 290, 300, True), (now - 310, 300, False), (now + 310, 300, False), (now - 310, 400, True), (now - 20, 10, False)):
            with self.subTest(at=at - now, tolerance=tolerance):
                if valid:
                    self.assertEqual(webhook.verify(SECRET, signed(b"x", at), b"x", tolerance=tolerance).timestamp.timestamp(), at)
                else:
                    with self.assertRaisesRegex(webhook.UntrustedError, "too old, or from the future"):
                        webhook.verify(SECRET, signed(b"x", at), b"x", tolerance=tolerance)

    def test_an_infinite_tolerance_accepts_any_time_and_an_invalid_one_is_an_error_of_the_program(self) -> None:
        for at in (0, 99_999_999_999):
            self.assertEqual(webhook.verify(SECRET, signed(b"x", at), b"x", tolerance=math.inf).timestamp.timestamp(), at)
        for tolerance in (math.nan, -1, -math.inf):
            with self.subTest(tolerance), self.assertRaisesRegex(ValueError, "^invalid tolerance .*: expected seconds"):
                webhook.verify(SECRET, signed(b"x"), b"x", tolerance=tolerance)

    def test_an_id_that_http_cannot_transfer_is_refused(self) -> None:
        for id in ("\udce4", "\ud800", "\u65e5", "a b", "a\n", "a.b", ""):
            with self.subTest(id), self.assertRaisesRegex(webhook.UntrustedError, "webhook-id is missing or invalid"):
                webhook.verify(SECRET, {**signed(b"x"), "webhook-id": id}, b"x")
            with self.subTest(id), self.assertRaisesRegex(ValueError, "^invalid id"):
                signed(b"x", id=id)

    def test_broken_headers_are_refused(self) -> None:
        good = signed(b"x")
        signature = good["webhook-signature"]
        for change in (
            {"webhook-id": ""},
            {"webhook-id": "a.1"},
            {"webhook-timestamp": "now"},
            {"webhook-timestamp": "1e9"},
            {"webhook-timestamp": "\u0661\u0662"},
            {"webhook-timestamp": ""},
            {"webhook-timestamp": "9" * 12},
            {"webhook-timestamp": "9" * 400},
            {"webhook-timestamp": "\udce4"},
            {"webhook-signature": ""},
            {"webhook-signature": "v1,"},
            {"webhook-signature": "v1,\udce4"},
            {"webhook-signature": "v1,\u65e5"},
            {"webhook-signature": "v1,%%%"},
            {"webhook-signature": "v1"},
            {"Webhook-Id": "task-2"},
            {"Webhook-Signature": signature},
            {"webhook-signature": signature.replace("v1,", "v2,")},
        ):
            with self.subTest(change), self.assertRaises(webhook.UntrustedError):
                webhook.verify(SECRET, {**good, **change}, b"x", tolerance=math.inf)
        for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
            with self.subTest(name), self.assertRaises(webhook.UntrustedError):
                webhook.verify(SECRET, {header: value for header, value in good.items() if header != name}, b"x", tolerance=math.inf)
        twice = Message()
        for header, value in (*good.items(), ("Webhook-Id", "task-1")):
            twice[header] = value
        with self.assertRaisesRegex(webhook.UntrustedError, "webhook-id occurs more than once"):
            webhook.verify(SECRET, twice, b"x")
        self.assertEqual(webhook.verify(SECRET, {**good, "webhook-signature": "v2,abc " + signature}, b"x").id, "task-1")
        self.assertEqual(webhook.verify(SECRET, {name.upper(): value for name, value in good.items()}, b"x").id, "task-1")

    def test_a_parsed_body_is_an_error_that_asks_for_the_raw_bytes(self) -> None:
        parsed: Any = ({"order": 42}, "text", None)
        for body in parsed:
            with self.assertRaisesRegex(TypeError, "expected the raw bytes"):
                webhook.verify(SECRET, signed(b"x"), body)

    def test_a_missing_or_invalid_secret_is_an_error_of_the_program_not_of_the_callback(self) -> None:
        for bad in ([], "", "whsec_", "whsec_short", SECRET[6:], [SECRET, "whsec_%%%"], SECRET.replace("=", ""), SECRET + "=", SECRET.replace("c=", "d="), SECRET + "\n", "whsec_\u65e5"):
            with self.subTest(bad), self.assertRaises(ValueError):
                webhook.verify(bad, signed(b"x"), b"x")

    def test_the_event_has_what_the_headers_say_and_nothing_of_malformed_ones(self) -> None:
        says = {
            "Foliot-Task": "order-42",
            "Foliot-Queue": "mail",
            "Foliot-Due-At": "2030-01-02T03:04:05.678Z",
            "Foliot-Schedule": "report",
            "Foliot-Instant": "2030-01-02T03:04:00.000Z",
            "Foliot-Attempt": "3",
            "Foliot-Max-Attempts": "8",
        }
        event = webhook.verify(SECRET, {**signed(b"x"), **says}, b"x")
        due, instant = datetime(2030, 1, 2, 3, 4, 5, 678_000, timezone.utc), datetime(2030, 1, 2, 3, 4, tzinfo=timezone.utc)
        self.assertEqual((event.id, event.body, event.task, event.queue, event.schedule), ("task-1", b"x", "order-42", "mail", "report"))
        self.assertEqual((event.due_at, event.instant, event.attempt, event.max_attempts), (due, instant, 3, 8))
        for time_text, number in (("soon", "-1"), ("2030-13-01T00:00:00Z", "1e3"), ("", "9" * 20), ("2030-01-02T03:04:05", "\u0661")):
            event = webhook.verify(SECRET, {**signed(b"x"), "foliot-due-at": time_text, "foliot-attempt": number}, b"x")
            self.assertEqual((event.due_at, event.attempt, event.task, event.instant), (None, 0, "", None))

    def test_the_signature_is_that_of_standard_webhooks_and_the_clock_can_be_given(self) -> None:
        key = "whsec_" + base64.b64encode(b"0123456789abcdef01234567").decode()
        at = datetime.fromtimestamp(1_700_000_000.999, timezone.utc)
        signature = webhook.sign([key, SECRET], "msg_1", at, b'{"a":1}')
        self.assertEqual(signature.split(" ")[0], "v1,WUgAXU8H0NQ1/7M+TtMwKma2b74a3/TCgekiM3YUdN8=")
        headers = {"webhook-id": "msg_1", "webhook-timestamp": "1700000000", "webhook-signature": signature}
        self.assertEqual(webhook.verify(SECRET, headers, b'{"a":1}', now=at.timestamp()).id, "msg_1")
        with self.assertRaisesRegex(webhook.UntrustedError, "too old"):
            webhook.verify(SECRET, headers, b'{"a":1}')
        webhook.check_secret(SECRET)
        with self.assertRaisesRegex(ValueError, "^invalid secret: expected whsec_"):
            webhook.check_secret("whsec_x")

    def test_a_request_is_read_and_verified_up_to_a_size(self) -> None:
        for body in (b"", b"x" * 100, b"x" * (1 << 20)):
            self.assertEqual(webhook.read(SECRET, signed(body), io.BytesIO(body + b"next request")).body, body)
            if body:
                with self.assertRaisesRegex(webhook.UntrustedError, "longer than"):
                    webhook.read(SECRET, signed(body), io.BytesIO(body), max_body=len(body) - 1)
                with self.assertRaisesRegex(webhook.UntrustedError, "bytes of the body are gone"):
                    webhook.read(SECRET, signed(body), io.BytesIO())
                with self.assertRaisesRegex(EOFError, "reply with an error"):
                    webhook.read(SECRET, signed(body), io.BytesIO(body[:-1]))
