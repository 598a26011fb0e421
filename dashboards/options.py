"""What a dashboard is built from. Everything else about it is fixed in this package."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DashboardOptions:
    """Where the dashboard finds its data, and how it introduces itself.

    The two data sources are only *preselected*: both are variables of the dashboard, so one
    dashboard also serves other clusters whose sources live on the same Grafana.
    """

    uid: str
    """Grafana's uid, at most 40 characters; the dashboard's address is ``/d/<uid>``."""
    title: str
    pyroscope_uid: str
    """uid of the Pyroscope data source that holds the profiles."""
    prometheus_uid: str | None
    """uid of the Prometheus data source; None: no metrics, and no panels that need them."""
    owner_text: str = ""
    """A sentence on who manages the dashboard; becomes part of its description."""
    documentation_url: str | None = None
    """Where this project's ``docs/`` folder can be read; None: the texts name the files only."""
