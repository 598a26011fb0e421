"""Checks of the agent that is installed: an extension that Azure upgrades moves by itself."""

from collections.abc import Iterator

from contract.compatibility import AGENTS, installed_conflict, is_newer
from contract.messages.survey import ExtensionFacts, Presence
from infra.faults import Fault
from infra.preflight.finding import Finding
from infra.settings import UNLESS_ALLOWED, Settings


def installed_agent(settings: Settings, extension: ExtensionFacts) -> str:
    """The version that runs and that this update leaves; empty where only the update shows it.

    A pinned version is held against the contract by the settings; another release train, or an
    end of a pin, brings a version that nobody knows before.
    """
    wanted = settings.inspektor_gadget
    kept = (
        extension.presence is Presence.FOUND
        and wanted.version is None
        and extension.release_train.lower() == wanted.release_train.lower()
        and extension.auto_upgrade == wanted.auto_upgrade
    )
    return extension.current_version if kept else ""


def check_agent(settings: Settings, extension: ExtensionFacts) -> Iterator[Finding]:
    """Whether the server will store the profiles of the agent that is there."""
    agent = installed_agent(settings, extension)
    if agent:
        yield from check_contract(settings, agent)


def check_contract(settings: Settings, agent: str) -> Iterator[Finding]:
    """Whether the server will store the profiles of this agent."""
    if settings.pyroscope.existing is not None:
        return  # its version is its own: infra.preflight.existing_pyroscope
    server = settings.pyroscope
    if server.allow_incompatible_server:
        return
    conflict = installed_conflict(server=server.image_tag, agent=agent)
    if conflict is not None:
        yield Fault(
            path="gpuobs:pyroscope.imageTag",
            value=server.image_tag,
            rule=f"{conflict.rule}; the installed agent is {agent}",
            why=conflict.why,
            fix=f"{conflict.fix} {UNLESS_ALLOWED}",
        )
    elif is_newer(agent):
        yield (
            f"The installed agent is Inspektor Gadget {agent}; known to work with Pyroscope "
            f"{server.image_tag} is {AGENTS}. Where a later agent sends another encoding, every "
            "push succeeds and flame graphs stay empty: `python -m gpuobs check` tells. To stay on "
            "a version: gpuobs:inspektorGadget: { autoUpgrade: false, version: ... }"
        )
