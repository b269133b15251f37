from __future__ import annotations

import ssl
from typing import cast

from ._connection import Call, Connection
from ._queues import Queues
from ._retry import RetryPolicy
from ._schedules import Schedules
from ._tasks import Tasks
from .types import Identity


class Client:
    """Calls one Foliot server. Several threads may use it.

    server is a URL such as http://127.0.0.1:8750. The constructor sends nothing.

    token is an access token. Without it, none is sent. namespace is for an operator's token,
    which is valid for all namespaces. timeout has the seconds without progress after which a
    request ends, not counting the time that it asks the server to wait. math.inf means no limit.
    ssl_context is for a certificate authority or a client certificate of your own.
    """

    def __init__(
        self,
        server: str,
        *,
        token: str | None = None,
        namespace: str | None = None,
        timeout: float = 60,
        retry: RetryPolicy = RetryPolicy(),
        ssl_context: ssl.SSLContext | None = None,
        user_agent: str | None = None,
    ) -> None:
        self._connection = Connection(server, token, namespace, timeout, retry, ssl_context, user_agent)
        self.tasks = Tasks(self._connection)
        self.schedules = Schedules(self._connection)
        self.queues = Queues(self._connection)

    def whoami(self) -> Identity:
        """Return the rights of the token, and describe the server."""
        return cast(Identity, self._connection.call(Call("get the caller", "GET", "/v1/whoami", repeatable=True)))

    def close(self) -> None:
        """Close the idle connections. The client can still be used."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
