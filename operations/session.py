"""What every operation is given: the clock, Azure's client, and the observed revision."""

import hashlib
import json
import os
import re
import secrets
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Self, cast

from contract.messages.base import OBSERVED_VARIABLE, Message
from operations.clock import Clock

if TYPE_CHECKING:
    from operations.azure import Azure
    from operations.credentials import CliAccount

_HASH_CHARACTERS = 12
_RANDOM_BYTES = 4
REVISION_CHARACTERS = _HASH_CHARACTERS + 1 + 2 * _RANDOM_BYTES
"""Length of a revision."""


@dataclass
class Session:
    """One run of one verb."""

    clock: Clock = field(default_factory=Clock.from_environment)
    deadline: float | None = None
    """Seconds; None: each operation's own default."""
    observed: str = field(default_factory=lambda: os.environ.get(OBSERVED_VARIABLE, ""))
    """The revision that ``observe`` answered for the object this run applies."""
    verb: str = ""
    """Which of the operations this is; empty for a command of a person's."""
    account: "CliAccount | None" = None
    """Of `az login`; None: its default."""
    connections: ExitStack = field(default_factory=ExitStack)
    """What is closed when the run ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connections.close()

    @cached_property
    def azure(self) -> "Azure":
        """Tokens and Resource Manager."""
        from operations.azure import Azure

        return self.connections.enter_context(Azure(self.account, user_agent=self.user_agent))

    @property
    def user_agent(self) -> str:
        """How requests name their sender: in the logs of services, and to the simulated Azure."""
        return f"gpuobs ({self.verb})" if self.verb else "gpuobs"

    def is_about(self, request: Message) -> None:
        """Sign in for the subscription of the ids in ``request``.

        Its tenant need not be that of the CLI's default account.
        """
        match = re.search(r"/subscriptions/([0-9a-f-]{36})/", request.to_json(), re.IGNORECASE)
        if match:
            from operations.credentials import CliAccount

            self.account = CliAccount(subscription=match[1])

    def is_in(self, tenant: str) -> None:
        """Sign in to this tenant, where it is `az login` that signs in."""
        from operations.credentials import CliAccount

        self.account = CliAccount(tenant=tenant)

    def within(self, default: float) -> float:
        """The deadline in seconds."""
        return default if self.deadline is None else self.deadline

    def revision_for(self, request: Message) -> str:
        """The revision to store in the live object of ``request``."""
        return self.observed or fresh_revision(request)


def request_hash(request: Message) -> str:
    """12 hex digits that equal requests share, whatever the order of their keys.

    Whole numbers may arrive as floats from the engine; 1 and 1.0 are the same here.
    """
    canonical = json.dumps(
        _whole_numbers(json.loads(request.as_observed().to_json())),
        sort_keys=True,
        separators=(",", ":"),
    )
    return hashlib.sha256(canonical.encode()).hexdigest()[:_HASH_CHARACTERS]


def fresh_revision(request: Message) -> str:
    """A revision of ``request`` that no live object carries."""
    return f"{request_hash(request)}-{secrets.token_hex(_RANDOM_BYTES)}"


def derived_revision(request: Message, instance: str) -> str:
    """The revision of ``request`` for the live object ``instance``, which cannot carry one."""
    digest = hashlib.sha256(instance.lower().encode()).hexdigest()
    return f"{request_hash(request)}-{digest[: 2 * _RANDOM_BYTES]}"


def is_revision_of(revision: str, request: Message) -> bool:
    """Whether ``revision`` was made for a request equal to ``request``."""
    return revision.startswith(f"{request_hash(request)}-")


def revision_at_end(text: str) -> str:
    """The revision that ``text`` ends in; empty where it ends in none."""
    match = re.search(r"(?:^|\s)([0-9a-f]{12}-[0-9a-f]{8})$", text)
    return match[1] if match else ""


def _whole_numbers(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {k: _whole_numbers(v) for k, v in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_whole_numbers(v) for v in cast("list[object]", value)]
    return value
