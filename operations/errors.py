"""The one failure an operation has, and the exit codes that distinguish its kinds.

An :class:`OperationError` is written for the person at the terminal: what happened and to which
resource, why, and what to do next. Not here: how a service's answer becomes an error
(:mod:`operations.azure`, :mod:`operations.grafana`) and which ones are waited through
(:mod:`operations.clock`).
"""

import os
from enum import IntEnum

DEBUG_VARIABLE = "GPUOBS_DEBUG"
"""Set: the traceback of an unexpected failure goes to standard error."""


class ExitCode(IntEnum):
    """Exit status of ``python -m operations``; also the kind of an :class:`OperationError`."""

    OK = 0
    UNEXPECTED = 1
    """A defect of ours; ``GPUOBS_DEBUG=1`` shows the traceback."""
    BAD_REQUEST = 2
    """The request or the command line is not understood."""
    NOT_FOUND = 3
    """What was waited for does not exist, or not yet."""
    FORBIDDEN = 4
    """The caller lacks a role, or a deny assignment is in the way."""
    REJECTED = 5
    """The service, or a person, said no to this very request; repeating it does not help."""
    CONFLICT = 6
    """The name or uid belongs to somebody else, or more than one object matches."""
    UNREACHABLE = 7
    """No answer: network, name resolution, TLS."""
    NOT_AUTHENTICATED = 8
    """No credential, or one that the service does not accept."""
    BUSY = 9
    """The service is throttling, failing, or occupied by another operation."""
    NO_SIGNAL = 10
    """``check-signal`` found a broken link."""


SHOWN_CHARACTERS = 800
"""Longer words are cut: a message is read on a terminal, and shown again at each progress line."""


class OperationError(Exception):
    """An expected failure.

    What is longer than a few lines in ``happened`` and ``why`` is cut, whoever said it.

    ``transient`` says that asking again may help; ``retry_after`` is the service's own advice in
    seconds. ``service_code`` is the error code of the service's answer, for exact distinctions.
    """

    def __init__(
        self,
        kind: ExitCode,
        happened: str,
        *,
        why: str = "",
        fix: str = "",
        transient: bool = False,
        retry_after: float | None = None,
        service_code: str = "",
    ) -> None:
        happened = in_short(happened)
        super().__init__(happened)
        self.kind = kind
        self.happened = happened
        self.why = in_short(why)
        self.fix = fix
        self.transient = transient
        self.retry_after = retry_after
        self.service_code = service_code

    def __str__(self) -> str:
        lines = [self.happened]
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)

    def sentence(self) -> str:
        """What happened and why on one line, for progress lines and reports."""
        text = self.happened.rstrip(".")
        return f"{text} ({self.why.rstrip('.')})" if self.why else text


def in_short(text: str) -> str:
    """``text`` on one line and cut, with its length, where it is long."""
    plain = " ".join(text.split())
    if len(plain) <= SHOWN_CHARACTERS:
        return plain
    return f"{plain[:SHOWN_CHARACTERS]}... ({len(plain)} characters)"


def explained(error: Exception, verb: str) -> str:
    """What went wrong in ``verb``, for the person at the terminal."""
    happened = error if isinstance(error, OperationError) else unexpected(error, verb)
    return f"error: {happened}"


def unexpected(error: Exception, verb: str) -> str:
    """What to say of a defect of ours in ``verb``; shows the traceback where it is asked for."""
    if os.environ.get(DEBUG_VARIABLE):
        import traceback

        traceback.print_exception(error)
    return (
        f"unexpected {type(error).__name__} in {verb}: {in_short(str(error))}\n"
        f"  fix: run it again with {DEBUG_VARIABLE}=1 for the traceback, and report it"
    )
