"""A Grafana workspace as the handlers see it: content, version, identity."""

import secrets
from dataclasses import dataclass

from simulator.values import JsonObject, as_integer, as_object, as_text
from simulator.world import GrafanaState, Resource, World


@dataclass(frozen=True)
class Workspace:
    """One workspace: its ARM resource and its content."""

    world: World
    resource: Resource
    state: GrafanaState

    @property
    def major(self) -> int:
        """The major version; it decides which routes exist."""
        text = as_text(self.resource.properties.get("grafanaMajorVersion"), "12")
        return int(text) if text.isdigit() else 12

    @property
    def version(self) -> str:
        """The full version, as ``/api/health`` tells it; empty until the workspace is made."""
        return as_text(self.resource.properties.get("grafanaVersion"))

    @property
    def principal_id(self) -> str:
        """Object id of the workspace's managed identity; empty without one."""
        return as_text(as_object(self.resource.body.get("identity")).get("principalId"))

    def next_id(self) -> int:
        """A numeric id that was never given before in this workspace."""
        number = as_integer(self.state.other.get("lastId")) + 1
        self.state.other["lastId"] = number
        return number

    def drawer(self, name: str) -> JsonObject:
        """What Grafana keeps under ``name`` besides sources, dashboards and folders."""
        kept = as_object(self.state.other.setdefault(name, dict[str, object]()))
        self.state.other[name] = kept
        return kept


def generated_uid() -> str:
    """A uid for something that was created without one."""
    return secrets.token_hex(7)
