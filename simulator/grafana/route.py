"""What a route of the Grafana API is: a method and path, the role it needs, and its handler."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from simulator.grafana import dashboards, data_sources
from simulator.grafana.errors import bad_request
from simulator.grafana.workspace import Workspace
from simulator.http import MalformedBodyError, Request
from simulator.values import JsonObject


class Role(IntEnum):
    """What a caller may do; each role includes those before it."""

    NONE = 0
    VIEWER = 1
    EDITOR = 2
    ADMIN = 3


@dataclass(frozen=True)
class Call:
    """A request to a workspace, with the parts of the path that its route captured."""

    workspace: Workspace
    request: Request
    captured: dict[str, str]
    caller: str = ""
    """Object id of who asks; of a service account its login."""
    role: Role = Role.NONE

    def source(self) -> JsonObject:
        """The data source that the path names by uid, name or numeric id."""
        if "uid" in self.captured:
            return data_sources.by_uid(self.workspace, self.captured["uid"])
        if "name" in self.captured:
            return data_sources.by_name(self.workspace, self.captured["name"])
        return data_sources.by_id(self.workspace, int(self.captured["id"]))

    def dashboard(self) -> JsonObject:
        """The stored dashboard that the path names by uid or numeric id."""
        if "uid" in self.captured:
            return dashboards.by_uid(self.workspace, self.captured["uid"])
        return dashboards.by_id(self.workspace, int(self.captured["id"]))

    def number(self, name: str) -> int:
        """A number of the query; 0 if it is none."""
        text = self.request.query.get(name, "")
        return int(text) if text.isdigit() else 0

    def body(self) -> object:
        """The body as JSON.

        Raises:
            GrafanaError: 400, it is not JSON.
        """
        try:
            return self.request.json()
        except MalformedBodyError as error:
            raise bad_request() from error


Handler = Callable[[Call], object]
"""Answers the body of a 200, or a whole response."""


@dataclass(frozen=True)
class Route:
    """A method and path with what it needs."""

    method: str
    path: re.Pattern[str]
    role: Role
    handler: Handler
    permission: str = ""
    until_major: int = 99
    """The last major that has it."""
