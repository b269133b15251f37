"""The real server, and other servers of a test."""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import subprocess
import threading
import unittest
from collections.abc import AsyncIterator, Callable, Coroutine
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from foliot import AsyncClient, Client

BINARY = os.environ.get("FOLIOT_BINARY", "")
if not BINARY:
    raise RuntimeError("FOLIOT_BINARY is not set: run make clients-test")

# The server refuses unknown variables, and must not get settings of this machine.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("FOLIOT_")}


class Foliot:
    """A process of foliot serve. It ends with the test."""

    def __init__(self, add_cleanup: Callable[..., object], listen: str = "127.0.0.1:0", store: str = "memory:") -> None:
        command = [BINARY, "serve", "--listen", listen, "--store", store, "--egress-allow", "127.0.0.0/8"]
        self._process = subprocess.Popen(command, env=_ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        add_cleanup(self.stop)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.match(r"listening on (http:\S+)", line):
                self.url = found[1]
                return
        raise RuntimeError("the server does not listen")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def command(self, *args: str) -> str:
        """Run another command of foliot, and return its output."""
        env = {**_ENVIRONMENT, "FOLIOT_SERVER": self.url}
        return subprocess.run([BINARY, *args], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()


class Request(BaseHTTPRequestHandler):
    """One request to a server of a test, with its body."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise each reply waits 40 ms for an acknowledgement of its headers
    answer: ClassVar[Callable[[Request, bytes], None]]

    def do(self) -> None:
        type(self).answer(self, self.rfile.read(int(self.headers.get("content-length") or 0)))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do

    def reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def listen(test: unittest.TestCase | type[unittest.TestCase], answer: Callable[[Request, bytes], None]) -> str:
    """Start an HTTP server on a free port, and return its URL. It ends with the test."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Request,), {"answer": answer}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    def stop() -> None:
        server.shutdown()
        server.server_close()

    if isinstance(test, unittest.TestCase):
        test.addCleanup(stop)
    else:
        test.addClassCleanup(stop)
    return f"http://127.0.0.1:{server.server_port}"


class Blocking:
    """AsyncClient with the methods of Client: its calls run in an event loop of another thread."""

    def __init__(self, server: str, **options: Any) -> None:
        self._wrap(AsyncClient(server, **options))

    @classmethod
    def of(cls, client: AsyncClient) -> Blocking:
        """Return a client with the calls of another."""
        made = cls.__new__(cls)
        made._wrap(client)
        return made

    def _wrap(self, client: AsyncClient) -> None:
        self.client = client
        for name in ("tasks", "schedules", "queues"):
            setattr(self, name, _Group(getattr(self.client, name)))

    def whoami(self) -> object:
        return run(self.client.whoami())

    def close(self) -> None:
        run(self.client.close())

    def __enter__(self) -> Blocking:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Group:
    def __init__(self, group: object) -> None:
        self._group = group

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            result = getattr(self._group, name)(*args, **options)
            return iter(run(_all(result))) if name == "list" else run(result)

        return call


async def _all(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


_loops: list[asyncio.AbstractEventLoop] = []


def run(call: Coroutine[Any, Any, Any]) -> Any:
    """Await a call in the event loop of another thread, which all tests share."""
    if not _loops:
        _loops.append(asyncio.new_event_loop())
        thread = threading.Thread(target=_loops[0].run_forever, daemon=True)
        thread.start()

        def stop() -> None:
            _loops[0].call_soon_threadsafe(_loops[0].stop)
            thread.join()
            _loops[0].close()

        atexit.register(stop)
    return asyncio.run_coroutine_threadsafe(call, _loops[0]).result()


class Case(unittest.TestCase):
    """A test of Client. A subclass with another client runs it for AsyncClient."""

    client_of: ClassVar[Any] = Client

    @classmethod
    def open(cls, server: str, **options: Any) -> Client:
        """Make a client."""
        return cls.client_of(server, **options)
