"""Which Pyroscope understands which agent, and which chart fits which Pyroscope.

The agent sends profiles as OpenTelemetry does, in an encoding whose fields moved between versions.
A server of another encoding accepts every push and stores nothing readable: no error anywhere, and
an empty flame graph. So the three versions are a contract, kept here as a table. Found in the
sources of Inspektor Gadget, Pyroscope and its chart, and tried.
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


AGENTS = Versions(first=(0, 49))
"""Inspektor Gadget releases that send profiles in OTLP's encoding 1.9."""

SERVER_ENCODINGS = (
    (Versions(first=(0, 0), before=(1, 15)), "1.7 or older"),
    (Versions(first=(1, 15), before=(1, 20)), "1.8 and 1.9"),
    (Versions(first=(1, 20)), "1.10"),
)
"""Which encoding of OTLP profiles a Pyroscope release reads; every release is in one row."""

SERVERS = SERVER_ENCODINGS[1][0]
"""The Pyroscope releases that understand the agents."""

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

    ``server`` is Pyroscope's image tag, ``chart`` its chart's version (None: not knowable, a chart
    of the user's own) and ``agent`` Inspektor Gadget's version (None: the newest).
    """
    found: list[Conflict] = []
    if (number := release(server)) is None:
        found.append(
            Conflict(
                part="server",
                rule=f"a tag that states Pyroscope's version: {SERVERS}",
                why="whether this server understands the agent's profiles cannot be known; where "
                "it does not, every push succeeds and every flame graph stays empty.",
                fix=f'write imageTag: "{DEFAULT_SERVER}"',
            )
        )
    elif number not in SERVERS:
        encoding = next(name for servers, name in SERVER_ENCODINGS if number in servers)
        found.append(
            Conflict(
                part="server",
                rule=f"Pyroscope {SERVERS}",
                why=f"the agent sends OTLP profiles 1.9 and this server reads {encoding}: every "
                "push succeeds and every flame graph stays empty, without an error.",
                fix=f'write imageTag: "{DEFAULT_SERVER}"',
            )
        )
    if chart is not None and ((number := release(chart)) is None or number not in CHARTS):
        found.append(
            Conflict(
                part="chart",
                rule=f"the Pyroscope chart {CHARTS}",
                why="from 2.0 the chart passes flags on which a 1.x server stops; older charts "
                "know other values, and ignore those they do not know.",
                fix=f'write chart: {{ version: "{DEFAULT_CHART}" }}',
            )
        )
    if agent is not None and ((number := release(agent)) is None or number not in AGENTS):
        found.append(
            Conflict(
                part="agent",
                rule=f"Inspektor Gadget {AGENTS}",
                why="an older agent sends profiles in an encoding that Pyroscope does not read: "
                "flame graphs stay empty, without an error.",
                fix="leave `version` out for the newest",
            )
        )
    return tuple(found)


def release(version: str) -> tuple[int, int] | None:
    """Major and minor of ``version`` (``1.15.0-rc1`` is 1.15), or None where it names none."""
    match = re.fullmatch(r"([0-9]{1,6})\.([0-9]{1,6})(\.[0-9]+)?([-+][0-9A-Za-z.+-]*)?", version)
    return (int(match[1]), int(match[2])) if match else None
