"""How much time a Pyroscope answers for: its ``limits``, and what its overrides say of a tenant.

The server reads the overrides' file (``runtime-config.file``) anew every ten seconds; what it does
not say of a tenant is as the configuration has it (``UnmarshalYAML`` of ``pkg/validation``).
Without multitenancy every request is of the tenant ``anonymous``. ``0`` lifts a limit.
"""

import re
from dataclasses import dataclass
from typing import Final

from simulator.values import JsonObject, as_object, dig, is_object

TENANT: Final = "anonymous"
_PART: Final = re.compile(r"(\d+)(ms|[smhdwy])")
_SECONDS: Final = {
    "ms": 0.001,
    "s": 1,
    "m": 60,
    "h": 3600,
    "d": 86400,
    "w": 604_800,
    "y": 31_536_000,
}


@dataclass(frozen=True)
class Limits:
    """Seconds; 0: no limit."""

    query_length: float = 24 * 3600
    """``max_query_length``: a longer range is an error."""
    query_lookback: float = 7 * 24 * 3600
    """``max_query_lookback``: what is older is left out without a word."""
    retention: float = 0
    """``compactor_blocks_retention_period``: blocks that are older are marked, then deleted."""

    def changed(self, said: JsonObject) -> "Limits":
        """With what a document's ``limits`` say."""
        return Limits(
            _seconds(said.get("max_query_length"), self.query_length),
            _seconds(said.get("max_query_lookback"), self.query_lookback),
            _seconds(said.get("compactor_blocks_retention_period"), self.retention),
        )

    def document(self) -> JsonObject:
        """As the server's pages show them."""
        return {
            "max_query_length": text_of(self.query_length),
            "max_query_lookback": text_of(self.query_lookback),
            "compactor_blocks_retention_period": text_of(self.retention),
        }


@dataclass(frozen=True)
class ServerLimits:
    """What a server has of them."""

    configured: Limits = Limits()
    overridden: Limits | None = None
    """The tenant's; None: the overrides do not name it."""

    @property
    def effective(self) -> Limits:
        """What counts for the tenant."""
        return self.overridden or self.configured


def limits_of(config: JsonObject, overrides: JsonObject) -> ServerLimits:
    """The limits of a server with this configuration and this overrides' file."""
    configured = Limits().changed(as_object(config.get("limits")))
    said = dig(overrides, "overrides", TENANT)
    return ServerLimits(configured, configured.changed(said) if is_object(said) else None)


def seconds_of(duration: str) -> float:
    """A duration as the server's configuration has it, such as ``1h30m``."""
    return sum(int(count) * _SECONDS[unit] for count, unit in _PART.findall(duration))


def text_of(seconds: float) -> str:
    """A duration as the server's messages write it."""
    days = seconds / 86400
    return f"{days:g}d" if days >= 1 and days.is_integer() else f"{seconds / 3600:g}h"


def _seconds(value: object, default: float) -> float:
    if value is None:
        return default
    return seconds_of(str(value))
