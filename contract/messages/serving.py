"""Asking the process of the operations beside a program: a line of JSON each way."""

from collections.abc import Mapping
from typing import Any

from contract.messages.base import Message, Verb


class Question(Message):
    """What the program asks."""

    verb: Verb
    """``survey`` or ``observe``."""
    request: Mapping[str, Any]
    """What the verb reads when it is run by itself."""


class Reply(Message):
    """Its answer, or why there is none."""

    answer: Mapping[str, Any] | None = None
    error: str = ""
    """What happened, why and what to do, for the person at the terminal."""
