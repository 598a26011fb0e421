"""Grafana's types of data sources, and the marks that say whose an object is.

A data source carries its owner and revision in ``jsonData``; a dashboard, which keeps no such
field, in a tag and in the message of its newest version.
"""

from typing import Final

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
