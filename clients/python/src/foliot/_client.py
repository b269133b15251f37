from __future__ import annotations

import inspect
import os
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from ._core import Core
from ._retry import RetryPolicy

if TYPE_CHECKING:
    from typing_extensions import Unpack  # only checkers of types read it, and they bring it

B = TypeVar("B", bound="Base")
M = TypeVar("M", bound=Callable[..., Any])


class ClientOptions(TypedDict, total=False):
    """The options of a client."""

    token: str | None
    """An access token. Default: none is sent."""
    namespace: str | None
    """For an operator's token, which is valid for all namespaces: the namespace of the calls."""
    timeout: float
    """The seconds without progress after which a request ends, not counting the time that it asks the server to wait. math.inf: no limit. Default: 60."""
    retry: RetryPolicy
    """How calls are repeated."""
    batching: bool
    """Whether creates, puts, cancels and touches that are under way at the same time share requests. Default: True."""
    ssl_context: ssl.SSLContext | None
    """For a certificate authority or a client certificate of your own."""
    user_agent: str | None
    """Identifies the program to the server. Default: "foliot-python" and the version of this package."""


class Base:
    """What Client and AsyncClient have in common."""

    def __init__(
        self,
        server: str,
        *,
        token: str | None = None,
        namespace: str | None = None,
        timeout: float = 60,
        retry: RetryPolicy = RetryPolicy(),
        batching: bool = True,
        ssl_context: ssl.SSLContext | None = None,
        user_agent: str | None = None,
    ) -> None:
        """Make a client. server is a URL such as http://127.0.0.1:8750. ClientOptions describes the options. Nothing is sent."""
        self._start(Core(server, token, namespace, timeout, retry, ssl_context, user_agent, batching))

    @classmethod
    def from_env(cls: type[B], **options: Unpack[ClientOptions]) -> B:
        """Make a client of the variables that the commands of foliot read too.

        FOLIOT_SERVER has the URL, and is http://127.0.0.1:8750 by default. FOLIOT_TOKEN has the
        access token, and FOLIOT_NAMESPACE the namespace. An option replaces its variable.
        """
        given: ClientOptions = {"token": os.environ.get("FOLIOT_TOKEN"), "namespace": os.environ.get("FOLIOT_NAMESPACE")}
        given.update(options)
        return cls(os.environ.get("FOLIOT_SERVER") or "http://127.0.0.1:8750", **given)

    def _start(self, core: Core) -> None:
        raise NotImplementedError


def describe_as(method: M, source: Callable[..., Any]) -> M:
    """Give a method the name, the doc and the parameters of the function that it calls."""
    method.__name__, method.__qualname__, method.__doc__ = source.__name__, source.__qualname__, source.__doc__
    signature = inspect.signature(source)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    setattr(method, "__signature__", signature.replace(parameters=[own, *signature.parameters.values()], return_annotation=inspect.Signature.empty))
    return method
