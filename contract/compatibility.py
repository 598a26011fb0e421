"""Which Pyroscope understands which agent, and which chart fits which Pyroscope.

The agent sends profiles as OpenTelemetry does, in an encoding whose fields moved between versions.
A server of another encoding accepts every push and stores nothing readable: no error anywhere, and
an empty flame graph. So the three versions are a contract, kept here as tables. Found in the
sources of Inspektor Gadget, Pyroscope and its chart, and tried with pushes to real servers.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Versions:
    """Releases from ``first`` up to, not including, ``before`` (None: and all later ones)."""

    first: tuple[int, int]
    before: tuple[int, int] | None = None

    def __contains__(self, version: tuple[int, int]) -> bool:
        """Whether ``version``, as (major, minor), is one of them."""
        return self.first <= version and (self.before is None or version < self.before)

    def __str__(self) -> str:
        """E.g. ``1.15 to before 1.20``."""
        first = f"{self.first[0]}.{self.first[1]}"
        if self.before is None:
            return f"{first} and later"
        return f"{first} to before {self.before[0]}.{self.before[1]}"


AGENTS = Versions(first=(0, 49), before=(0, 56))
"""Inspektor Gadget releases that are known to send profiles in OTLP's encoding 1.9. A later one may
move on to the encoding of Pyroscope 2 (inspektor-gadget 5442 and 5538 discuss it)."""

SERVER_ENCODINGS = (
    (Versions(first=(0, 0), before=(1, 15)), "1.7 or older"),
    (Versions(first=(1, 15), before=(1, 20)), "1.8 and 1.9"),
    (Versions(first=(1, 20)), "1.10"),
)
"""Which encoding of OTLP profiles a Pyroscope release reads; every release is in one row."""

SERVERS = SERVER_ENCODINGS[1][0]
"""The Pyroscope releases that understand the agents' encoding."""

AGENT_SERVERS = (
    (Versions(first=(0, 49), before=(0, 54)), Versions(first=(1, 15), before=(1, 16))),
    (Versions(first=(0, 54), before=(0, 56)), SERVERS),
)
"""Which servers store the profiles of which agents; every one of :data:`AGENTS` is in one row.
Servers name a profile by its period type from 1.16 on, and agents send one from 0.54 on: of an
older agent such a server refuses every push with ``invalid metric name``."""

CHARTS = Versions(first=(1, 15), before=(2, 0))
"""Charts whose values fit the servers that understand the agent. The chart's own image does not
have to: chart 1.15.0 brings server 1.14.1, hence the image tag is always set. From 2.0 the chart
passes flags that those servers do not know and stop at, and opens two more ports on the Service."""

DEFAULT_CHART = "1.15.0"
DEFAULT_SERVER = "1.15.0"


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """One broken part of the contract; ``part`` is ``server``, ``chart`` or ``agent``."""

    part: str
    rule: str
    why: str
    fix: str


def conflicts(*, server: str, chart: str | None, agent: str | None) -> tuple[Conflict, ...]:
    """What keeps profiles from arriving with these versions.

    ``server`` is Pyroscope's image tag, ``chart`` its chart's version (None: not knowable) and
    ``agent`` Inspektor Gadget's version (None: not known before it is installed).
    """
    alone = (_of_server(server), _of_chart(chart), _of_agent(agent))
    found = tuple(conflict for conflict in alone if conflict is not None)
    if agent is None or any(conflict.part != "chart" for conflict in found):
        return found
    pair = _of_pair(server, agent)
    return found if pair is None else (*found, pair)


def installed_conflict(*, server: str, agent: str) -> Conflict | None:
    """What keeps profiles of an agent that runs from arriving at this server; the first reason.

    An agent that is newer than this table says nothing (:func:`is_newer`), nor does an empty text:
    its version is not known.
    """
    older = None if is_newer(agent) else _of_agent(agent or None)
    return _of_server(server) or older or _of_pair(server, agent)


def is_newer(agent: str) -> bool:
    """Whether the agent is of a release that came after this table was made."""
    number = release(agent)
    return number is not None and AGENTS.before is not None and number >= AGENTS.before


def _of_server(server: str) -> Conflict | None:
    if (number := release(server)) is None:
        return Conflict(
            part="server",
            rule=f"a tag that states Pyroscope's version: {SERVERS}",
            why="whether this server understands the agent's profiles cannot be known; where it "
            "does not, every push succeeds and every flame graph stays empty.",
            fix=f'write imageTag: "{DEFAULT_SERVER}"',
        )
    if number in SERVERS:
        return None
    encoding = next(name for servers, name in SERVER_ENCODINGS if number in servers)
    return Conflict(
        part="server",
        rule=f"Pyroscope {SERVERS}",
        why=f"the agent sends OTLP profiles 1.9 and this server reads {encoding}: every push "
        "succeeds and every flame graph stays empty, without an error.",
        fix=f'write imageTag: "{DEFAULT_SERVER}"',
    )


def _of_chart(chart: str | None) -> Conflict | None:
    if chart is None or ((number := release(chart)) is not None and number in CHARTS):
        return None
    return Conflict(
        part="chart",
        rule=f"the Pyroscope chart {CHARTS}",
        why="from 2.0 the chart passes flags on which a 1.x server stops; older charts know other "
        "values, and ignore those they do not know.",
        fix=f'write chart: {{ version: "{DEFAULT_CHART}" }}',
    )


def _of_agent(agent: str | None) -> Conflict | None:
    if agent is None or ((number := release(agent)) is not None and number in AGENTS):
        return None
    if is_newer(agent):
        why = (
            "whether a later agent still sends profiles that Pyroscope 1.x reads is not known; "
            "where it does not, every flame graph stays empty, without an error."
        )
    else:
        why = (
            "an older agent sends profiles in an encoding that Pyroscope does not read: flame "
            "graphs stay empty, without an error."
        )
    return Conflict(
        part="agent",
        rule=f"Inspektor Gadget {AGENTS}",
        why=why,
        fix=f'write a version of these, e.g. version: "{_LATEST_AGENT}", or leave `version` out',
    )


_LATEST_AGENT = "0.55.1"


def _of_pair(server: str, agent: str) -> Conflict | None:
    """What two versions that are each one of ours do not have in common."""
    server_number, agent_number = release(server), release(agent)
    if server_number is None or agent_number is None:
        return None
    for agents, servers in AGENT_SERVERS:
        if agent_number in agents and server_number not in servers:
            return Conflict(
                part="server",
                rule=f"Pyroscope {servers} with Inspektor Gadget {agents} (this agent: {agent})",
                why="the server names a profile by its period type, which this agent does not "
                "send: every push is refused with `invalid metric name`, and only the agent's log "
                "says so.",
                fix=f'write imageTag: "{DEFAULT_SERVER}", or install an agent '
                f"{AGENT_SERVERS[1][0]}: gpuobs:inspektorGadget: {{ autoUpgrade: false, version: "
                f'"{_LATEST_AGENT}" }}',
            )
    return None


def release(version: str) -> tuple[int, int] | None:
    """Major and minor of ``version`` (``1.15.0-rc1`` is 1.15), or None where it names none."""
    match = re.fullmatch(r"([0-9]{1,6})\.([0-9]{1,6})(\.[0-9]+)?([-+][0-9A-Za-z.+-]*)?", version)
    return (int(match[1]), int(match[2])) if match else None
