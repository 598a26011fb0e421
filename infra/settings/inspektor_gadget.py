"""Section ``inspektorGadget``: the agent on every GPU node, an AKS cluster extension."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from infra.settings.section import RuleViolation, Section, Stringified
from infra.settings.types import ExtensionName, ReleaseTrain, Version

PASSTHROUGH_PREFIX = "inspektor-gadget."
"""Every setting needs it but those of the extension itself."""
_EXTENSION_PREFIXES = ("gpuObservability.", "azureMonitor.")
_OWNED = {
    "gpuObservability.enabled": "leave it out: recording GPU memory is what this product is for",
    "azureMonitor.enabled": "write `azureMonitor: on` or `off` in gpuobs:inspektorGadget",
}


class AzureMonitorMetrics(StrEnum):
    """Whether the agent's metrics go to Azure Monitor."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


def _switch(value: object) -> object:
    """YAML's older readers take ``on`` and ``off`` for booleans."""
    if isinstance(value, bool):
        return AzureMonitorMetrics.ON if value else AzureMonitorMetrics.OFF
    return value


class InspektorGadgetSettings(Section):
    """The agent that records GPU memory allocations."""

    name: ExtensionName = "inspektor-gadget"
    """Name of the extension."""
    release_train: ReleaseTrain = "preview"
    """Release train of the extension."""
    version: Version | None = None
    """One version to stay on; needs `autoUpgrade: false`."""
    auto_upgrade: bool = True
    """Let Azure install new minor versions."""
    settings: Mapping[str, Annotated[str, Stringified()]] = Field(default_factory=dict)
    """Settings of the extension, such as `inspektor-gadget.config.daemonLogLevel`. Azure adds and
    never removes: a key that is taken out here stays on the extension."""
    azure_monitor: Annotated[AzureMonitorMetrics, BeforeValidator(_switch)] = (
        AzureMonitorMetrics.AUTO
    )
    """Send metrics to Azure Monitor: `auto` does where the cluster's metrics add-on is on."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """The version rule and the prefix rule of the extension's settings."""
        if self.version is not None and self.auto_upgrade:
            yield RuleViolation(
                fields=("version", "autoUpgrade"),
                at="version",
                value=self.version,
                rule="a pinned version needs `autoUpgrade: false`",
                why="Azure refuses a version on an extension that upgrades itself.",
                fix="write `autoUpgrade: false`, or leave `version` out",
            )
        for key in self.settings:
            if (at := f"settings.{key}") and key in _OWNED:
                yield RuleViolation(
                    fields=(at,),
                    rule="this setting is the product's own",
                    why="two places that set it could disagree.",
                    fix=_OWNED[key],
                )
            elif not _well_formed(key):
                yield RuleViolation(
                    fields=(at,),
                    rule=f"a setting's key starts with `{PASSTHROUGH_PREFIX}`, or with "
                    "`gpuObservability.` or `azureMonitor.`",
                    why="the extension silently ignores any other key, and the key stays on it for "
                    "good.",
                    fix=_prefixed(key),
                )


def _well_formed(key: str) -> bool:
    prefix = next((p for p in (PASSTHROUGH_PREFIX, *_EXTENSION_PREFIXES) if key.startswith(p)), "")
    rest = key[len(prefix) :]
    return bool(prefix) and bool(re.fullmatch(r"[^\s.]+(\.[^\s.]+)*", rest))


def _prefixed(key: str) -> str:
    for prefix in (PASSTHROUGH_PREFIX, *_EXTENSION_PREFIXES):
        if key.lower().startswith(prefix.lower()):
            return f"write `{prefix}` and the rest of the key after it, without spaces"
    return f"write `{PASSTHROUGH_PREFIX}{key.strip().strip('.') or 'config.daemonLogLevel'}`"
