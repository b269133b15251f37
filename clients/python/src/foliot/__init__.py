"""The client of Foliot: call this URL at this time."""

from . import types
from ._client import Client
from ._errors import FoliotError, ProblemError, ReplacedError, TransportError
from ._queues import Queues
from ._retry import RetryPolicy
from ._schedules import Schedules
from ._tasks import Tasks
from ._version import __version__
from ._webhook import Webhook, WebhookError, verify_webhook

__all__ = [
    "Client",
    "FoliotError",
    "ProblemError",
    "Queues",
    "ReplacedError",
    "RetryPolicy",
    "Schedules",
    "Tasks",
    "TransportError",
    "Webhook",
    "WebhookError",
    "__version__",
    "types",
    "verify_webhook",
]
