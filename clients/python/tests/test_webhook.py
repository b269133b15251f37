from __future__ import annotations

import base64
import hashlib
import hmac
import time
import unittest
from email.message import Message

from foliot import Client, WebhookError, verify_webhook

from .server import Foliot, Request, listen

SECRET = "whsec_" + base64.b64encode(bytes([7]) * 32).decode()
OTHER = "whsec_" + base64.b64encode(bytes([8]) * 32).decode()


def signed(body: bytes, at: int | None = None) -> dict[str, str]:
    stamp = str(int(time.time()) if at is None else at)
    mac = hmac.new(bytes([7]) * 32, f"task-1.{stamp}.".encode() + body, hashlib.sha256).digest()
    return {"webhook-id": "task-1", "webhook-timestamp": stamp, "webhook-signature": "v1," + base64.b64encode(mac).decode(), "content-length": str(len(body))}


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
            {"webhook-signature": ""},
            {"webhook-signature": "v1,"},
            {"webhook-signature": "v1,\udce4"},
            {"webhook-signature": signature.replace("v1,", "v2,")},
        ):
            with self.subTest(change), self.assertRaises(WebhookError):
                verify_webhook(SECRET, {**good, **change}, b"x")
        self.assertEqual(verify_webhook(SECRET, {**good, "webhook-signature": "v2,abc " + signature}, b"x").id, "task-1")
        self.assertEqual(verify_webhook(SECRET, {name.upper(): value for name, value in good.items()}, b"x").id, "task-1")

    def test_a_missing_or_invalid_secret_is_an_error_of_the_program_not_of_the_callback(self) -> None:
        for bad in ([], "", "whsec_", "whsec_short", SECRET[6:], [SECRET, "whsec_%%%"]):
            with self.subTest(bad), self.assertRaises(ValueError):
                verify_webhook(bad, signed(b"x"), b"x")
