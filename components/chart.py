"""Where a Helm chart comes from."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ChartArgs:
    """Where the chart comes from, in Helm's own terms."""

    chart: str
    """OCI address, name in ``repository``, or a folder or archive relative to the project."""
    repository: str | None = None
    """URL of a chart repository."""
    version: str | None = None
    """None: the chart's own, for one in the project."""
    digest: str | None = None
    """Of the files of one in the project: an edit is deployed though the version stays."""
