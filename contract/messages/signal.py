"""Following the data from the agent to Grafana."""

from enum import StrEnum

from contract.messages.base import Message


class SignalRequest(Message):
    """Follow the data from the agent to Grafana, through Grafana's own data sources."""

    endpoint: str
    token_variable: str | None = None
    """Environment variable with a service account's token; None: Azure's Grafana."""
    pyroscope_uid: str
    prometheus_uid: str | None = None
    cluster_id: str = ""
    extension_id: str = ""
    """The agent's cluster extension, for its version; empty: a stack of an earlier program."""
    own_prometheus: bool = False
    """Whether the metrics are in a Prometheus of the user's own, which must be set to scrape."""
    window_minutes: int = 60


class Link(StrEnum):
    """The links of the chain, in the order in which they are checked."""

    GRAFANA = "grafana"
    PROMETHEUS_SOURCE = "prometheus-source"
    PROMETHEUS_ANSWER = "prometheus-answer"
    METRICS = "metrics"
    PYROSCOPE_SOURCE = "pyroscope-source"
    PYROSCOPE_ANSWER = "pyroscope-answer"
    VERSIONS = "versions"
    PROFILE_TYPE = "profile-type"
    SAMPLES = "samples"


class LinkReport(Message):
    """What was seen at one link, and what fixes it if it is broken."""

    link: Link
    ok: bool
    saw: str
    fix: str = ""


class Signal(Message):
    """The answer of ``check-signal``."""

    ok: bool
    links: tuple[LinkReport, ...]
    profile_type: str = ""
    bytes_in_window: int = 0
