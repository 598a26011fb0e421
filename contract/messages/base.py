"""What all messages share, and how a command runs an operation."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Message(BaseModel):
    """A request or an answer: camelCase JSON, closed, immutable."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        # A model inside another is never validated by itself.
        defer_build=True,
    )

    def to_json(self) -> str:
        """One line of JSON, in declared order; the same for equal messages."""
        return self.model_dump_json(by_alias=True, exclude_none=True)

    def as_observed(self) -> "Message":
        """What an observed revision is made for: all of it, unless a part is compared by itself."""
        return self


class Verb(StrEnum):
    """The verbs of ``python -m operations``; each reads one request and writes one JSON line."""

    SURVEY = "survey"
    CLEAR_LEFTOVERS = "clear-leftovers"
    REMOVE_LEFTOVERS = "remove-leftovers"
    KEEP_NAMESPACE = "keep-namespace"
    RELEASE_NAMESPACE = "release-namespace"
    RECORD_AGENT_SETTINGS = "record-agent-settings"
    RESTART_AGENT = "restart-agent"
    HOLD_PROFILE_STORAGE = "hold-profile-storage"
    LEAVE_PROFILE_STORAGE = "leave-profile-storage"
    AWAIT_PROFILE_STORAGE = "await-profile-storage"
    RECOVER_EXTENSION = "recover-extension"
    HOLD_SERVER = "hold-server"
    AWAIT_SERVER_STOPPED = "await-server-stopped"
    RECOVER_RELEASE = "recover-release"
    REPAIR_RELEASE = "repair-release"
    HOLD_PRIVATE_LINK = "hold-private-link"
    AWAIT_PRIVATE_LINK_GONE = "await-private-link-gone"
    AWAIT_PRIVATE_LINK = "await-private-link"
    AWAIT_PRIVATE_LINK_UNUSED = "await-private-link-unused"
    APPROVE_PRIVATE_ENDPOINT = "approve-private-endpoint"
    DELETE_PRIVATE_ENDPOINT = "delete-private-endpoint"
    APPLY_DATA_SOURCE = "apply-data-source"
    DELETE_DATA_SOURCE = "delete-data-source"
    APPLY_DASHBOARD = "apply-dashboard"
    DELETE_DASHBOARD = "delete-dashboard"
    OBSERVE = "observe"
    CHECK_SIGNAL = "check-signal"
    KUBE_TOKEN = "kube-token"  # noqa: S105 - a verb


OBSERVED_VARIABLE = "GPUOBS_OBSERVED"
"""Environment variable of a command that carries the observed revision of its live object.

``observe`` answers the one stored in the live object while the object is as requested, otherwise a
fresh random one; the changed environment makes the engine update the command, and the command
stores the new revision. Never part of a request: observing must not depend on the last answer.
"""

TIME_SCALE_VARIABLE = "GPUOBS_TIME_SCALE"
"""For tests: wall seconds per second slept. Deadlines go on counting unscaled seconds."""

LAUNCHER = "sh operations/run"
"""How a command starts an operation: relative to the program's directory, the same everywhere."""


def command_line(verb: Verb) -> str:
    """The text of a command that runs ``verb``."""
    return f"{LAUNCHER} {verb.value}"
