from __future__ import annotations

import base64
import hashlib
import hmac
import math
import time
import unittest
from email.message import Message
from typing import Any

from foliot import Client, WebhookError, verify_webhook

from .server import Foliot, Request, listen

SECRET = "whsec_" + base64.b64encode(bytes([7]) * 32).decode()
OTHER = "whsec_" + base64.b64encode(bytes([8]) * 32).decode()


def signed(body: bytes, at: int | None = None, id: str = "task-1") -> dict[str, str]:
    stamp = str(int(time.time()) if at is None else at)
    mac = hmac.new(bytes([7]) * 32, f"{id}.{stamp}.".encode("utf-8", "replace") + body, hashlib.sha256).digest()
    return {"webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": "v1," + base64.b64encode(mac).decode(), "content-length": str(len(body))}


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
            self.assertEqual(verify_webhook(secrets, headers, body).id, full["id"])
        plain = dict(headers.items())
        self.assertEqual(verify_webhook(first, plain, body).id, full["id"])
        self.assertEqual(verify_webhook(first, dict(empty.items()), nothing).id, bare["id"])
        for secrets, changed, data in (
            (OTHER, plain, body),
            (first, plain, body + b" "),
            (first, plain, b""),
            (first, {**plain, "webhook-id": "another"}, body),
            (first, {**dict(empty.items()), "content-type": "multipart/form-data"}, b""),
            (first, {**{name: value for name, value in empty.items() if name.lower() != "content-length"}, "Transfer-Encoding": "chunked"}, b""),
        ):
            with self.assertRaises(WebhookError):
                verify_webhook(secrets, {name.lower(): value for name, value in changed.items()}, data)

    def test_old_callbacks_and_those_from_the_future_are_refused_within_the_tolerance_they_are_not(self) -> None:
        now = int(time.time())
        for at, tolerance, valid in ((now - 290, 300, True), (now - 310, 300, False), (now + 310, 300, False), (now - 310, 400, True), (now - 20, 10, False)):
            with self.subTest(at=at - now, tolerance=tolerance):
                if valid:
                    self.assertEqual(verify_webhook(SECRET, signed(b"x", at), b"x", tolerance=tolerance).timestamp.timestamp(), at)
                else:
                    with self.assertRaisesRegex(WebhookError, "too old, or from the future"):
                        verify_webhook(SECRET, signed(b"x", at), b"x", tolerance=tolerance)

    def test_an_infinite_tolerance_accepts_any_time_and_an_invalid_one_is_an_error_of_the_program(self) -> None:
        for at in (0, 99_999_999_999):
            self.assertEqual(verify_webhook(SECRET, signed(b"x", at), b"x", tolerance=math.inf).timestamp.timestamp(), at)
        for tolerance in (math.nan, -1, -math.inf):
            with self.subTest(tolerance), self.assertRaisesRegex(ValueError, "^invalid tolerance .*: expected seconds"):
                verify_webhook(SECRET, signed(b"x"), b"x", tolerance=tolerance)

    def test_an_id_that_http_cannot_transfer_is_refused_even_with_a_signature(self) -> None:
        for id in ("\udce4", "\ud800", "\u65e5", "a b", "a\n"):
            with self.subTest(id), self.assertRaisesRegex(WebhookError, "webhook-id is missing or invalid"):
                verify_webhook(SECRET, signed(b"x", id=id), b"x")

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
            with self.subTest(change), self.assertRaises(WebhookError):
                verify_webhook(SECRET, {**good, **change}, b"x", tolerance=math.inf)
        for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
            with self.subTest(name), self.assertRaises(WebhookError):
                verify_webhook(SECRET, {header: value for header, value in good.items() if header != name}, b"x", tolerance=math.inf)
        twice = Message()
        for header, value in (*good.items(), ("Webhook-Id", "task-1")):
            twice[header] = value
        with self.assertRaisesRegex(WebhookError, "webhook-id occurs more than once"):
            verify_webhook(SECRET, twice, b"x")
        self.assertEqual(verify_webhook(SECRET, {**good, "webhook-signature": "v2,abc " + signature}, b"x").id, "task-1")
        self.assertEqual(verify_webhook(SECRET, {name.upper(): value for name, value in good.items()}, b"x").id, "task-1")

    def test_a_parsed_body_is_an_error_that_asks_for_the_raw_bytes(self) -> None:
        parsed: Any = ({"order": 42}, "text", None)
        for body in parsed:
            with self.assertRaisesRegex(TypeError, "expected the raw bytes"):
                verify_webhook(SECRET, signed(b"x"), body)

    def test_a_missing_or_invalid_secret_is_an_error_of_the_program_not_of_the_callback(self) -> None:
        for bad in ([], "", "whsec_", "whsec_short", SECRET[6:], [SECRET, "whsec_%%%"], SECRET.replace("=", ""), SECRET + "=", SECRET.replace("c=", "d="), SECRET + "\n", "whsec_\u65e5"):
            with self.subTest(bad), self.assertRaises(ValueError):
                verify_webhook(bad, signed(b"x"), b"x")
