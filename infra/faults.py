"""What is wrong with a configuration, reported to the person at the terminal.

A :class:`Fault` is one broken rule; a :class:`ConfigurationError` is all of them, in one message.
The settings (:mod:`infra.settings`) and the checks of what exists already (:mod:`infra.preflight`)
both speak through these. Nothing here knows a rule.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

SHOWN_CHARACTERS = 80
"""Longer values are shortened: a message is read on a terminal."""

_SECRET_NAME = re.compile(
    r"password|passwd|secret|token|credential|connection_?string|(access|account|api|shared)_?key"
    r"|\bsas\b|_sas",
    re.IGNORECASE,
)
_USER_INFORMATION = re.compile(r"//[^/@\s]*@")
_HIDDEN = "(not shown)"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One broken rule.

    ``path`` is where it is, as the stack file spells it (``gpuobs:pyroscope.privateLink.name``), or
    the resource in Azure. ``value`` is what was found, made fit to be shown by :func:`shown`; empty
    where there is nothing to show. ``why`` is the consequence of leaving it, ``fix`` what to do.
    """

    path: str
    rule: str
    why: str
    fix: str
    value: str = ""

    def __str__(self) -> str:
        """The fault in four short lines."""
        found = f" = {self.value}" if self.value else ""
        return "\n".join(
            (
                f"{self.path}{found}",
                f"    rule: {self.rule}",
                f"    why:  {self.why}",
                f"    fix:  {self.fix}",
            )
        )


class ConfigurationError(Exception):
    """Everything that is wrong, found before the first resource is touched.

    ``warnings`` are sentences on what may be behind it, or is to be known besides.
    """

    def __init__(self, faults: Iterable[Fault], warnings: Iterable[str] = ()) -> None:
        self.faults = tuple(faults)
        self.warnings = tuple(warnings)
        super().__init__(str(self))

    def __str__(self) -> str:
        """The one message."""
        count = len(self.faults)
        heading = "1 fault" if count == 1 else f"{count} faults"
        items = [f"{number}. {fault}" for number, fault in enumerate(self.faults, start=1)]
        besides = [f"Besides: {warning}" for warning in self.warnings]
        return "\n\n".join(
            (
                f"The configuration of this stack has {heading}. Nothing was changed.",
                *items,
                *besides,
            )
        )


def shown(value: object, path: str = "") -> str:
    """``value`` as a message may show it: quoted, shortened, and never a secret.

    A value whose path names a secret (``password``, ``accountKey``, ...) is hidden, and so is the
    user information of a URL.
    """
    if _SECRET_NAME.search(path):
        return _HIDDEN
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif value is None:
        text = "null"
    elif isinstance(value, str):
        text = '"' + _USER_INFORMATION.sub(f"//{_HIDDEN}@", value) + '"'
    elif isinstance(value, int | float):
        text = str(value)
    elif isinstance(value, dict):
        return "(a mapping)"
    else:
        return "(a list)"
    text = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    if len(text) <= SHOWN_CHARACTERS:
        return text
    return f"{text[: SHOWN_CHARACTERS - 20]}... ({len(str(value))} characters)"
