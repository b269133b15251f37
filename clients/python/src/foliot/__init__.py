"""The client of Foliot: call this URL at this time."""

from . import types, webhook
from ._async import AsyncClient
from ._call import Cancelled, Result
from ._client import ClientOptions
from ._errors import FoliotError, ProblemError, ReplacedError, TransportError
from ._retry import RetryPolicy
from ._sync import Client
from ._version import __version__

__all__ = [
    "AsyncClient",
    "Cancelled",
    "Client",
    "ClientOptions",
    "FoliotError",
    "ProblemError",
    "ReplacedError",
    "Result",
    "RetryPolicy",
    "TransportError",
    "__version__",
    "types",
    "webhook",
]
