"""The agent's extension as it is already, and what follows for an update of it.

What Azure adds by itself (settings, a newer version) comes into the engine's inputs with a refresh.
It is no change as long as nothing of ours is to be sent, and is sent as it is where something is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from components.options import FAILED_BEFORE

_OWN_SETTINGS = ("gpuObservability.", "azureMonitor.", "inspektor-gadget.")
"""What the settings of the agent begin with; others are Azure's own."""


@dataclass(frozen=True, kw_only=True)
class PresentExtensionArgs:
    """The extension where it is there already, as it is now."""

    installed: bool
    """Whether an installation was ever completed: a later upgrade that fails leaves it running."""
    release_train: str
    version: str
    """What it was asked for, or what Azure made of it; may be empty."""
    auto_upgrade: bool
    settings: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ExtensionUpdate:
    """What an update sends, and what it leaves to Azure."""

    settings: Mapping[str, str]
    ignored: list[str]
    """Inputs, as the engine spells their paths."""
    replaced: list[str]
    """What makes another extension necessary, besides what cannot be changed."""


def extension_update(
    present: PresentExtensionArgs | None,
    *,
    settings: Mapping[str, str],
    release_train: str,
    auto_upgrade: bool,
    version: str | None,
) -> ExtensionUpdate:
    """The update to these ``settings``, train and version; ``present`` is None before a create."""
    if present is None:
        return ExtensionUpdate(settings=settings, ignored=[], replaced=[])
    added = {
        key: value
        for key, value in present.settings.items()
        if key not in settings and not key.startswith(_OWN_SETTINGS)
    }
    as_wanted = (
        present.release_train.lower() == release_train.lower()
        and present.auto_upgrade == auto_upgrade
        and version in (None, present.version)
        and settings.items() <= present.settings.items()
    )
    # A failed install is refused until the failed extension is deleted. One that runs is not
    # deleted because its upgrade failed: the next update tries that again.
    replaced = [] if present.installed else [FAILED_BEFORE]
    if not as_wanted:
        return ExtensionUpdate(settings={**added, **settings}, ignored=[], replaced=replaced)
    ignored = [f'configurationSettings["{key}"]' for key in added]
    if version is None:
        ignored.append("version")
    return ExtensionUpdate(settings=settings, ignored=ignored, replaced=replaced)
