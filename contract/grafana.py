"""Grafana's types of data sources, and the marks that say whose an object is.

A data source carries its owner and revision in ``jsonData``; a dashboard, which keeps no such
field, in a tag and in the message of its newest version.
"""

from typing import Final
from urllib.parse import urlsplit

PYROSCOPE: Final = "grafana-pyroscope-datasource"
PROMETHEUS: Final = "prometheus"
AZURE_PROMETHEUS: Final = "grafana-azureprometheus-datasource"
PROMETHEUS_TYPES: Final = frozenset({PROMETHEUS, AZURE_PROMETHEUS})
"""Grafana 13 moves Prometheus sources with Azure credentials to the second; both are ours."""

OWNER_MARK: Final = "gpuobs"
"""Key in a data source's ``jsonData``, and a tag of a dashboard."""
OWNER_TAG_PREFIX: Final = "gpuobs-owner:"
FOLDER_TAG_PREFIX: Final = "gpuobs-folder:"
"""On a dashboard: its stack also made the folder of this uid."""

TOKEN_VARIABLE: Final = "GPUOBS_GRAFANA_TOKEN"  # noqa: S105 - a name
"""Environment variable with the token of a service account, for a Grafana that is not Azure's."""
OLDEST: Final = (11, 6)
"""Major and minor version of the oldest Grafana whose flame graph panel the dashboard can use."""
PERMISSIONS: Final = (
    "datasources:read",
    "datasources:create",
    "datasources:write",
    "datasources:delete",
    "dashboards:read",
    "dashboards:create",
    "dashboards:write",
    "dashboards:delete",
)
"""What a deployment does on Grafana, in the words of its access control."""
FOLDER_PERMISSIONS: Final = ("folders:read", "folders:create", "folders:delete")
"""What it does besides where the dashboard goes into a folder."""

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def may_carry_a_token(url: str) -> bool:
    """Whether a token is safe on its way there: over https, or to this machine itself.

    Raises:
        ValueError: it is no URL.
    """
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
