"""Finding a Helm chart as the provider does at every preview.

A local chart is read here. One in a registry or repository is the simulated API server's to know:
nothing here reaches beyond loopback.
"""

import tarfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from simulator.plugins.properties import Object
from simulator.values import as_object, as_text


class ChartError(Exception):
    """There is no such chart; the message is Helm's."""


@dataclass(frozen=True)
class LocalChart:
    """A chart of the file system."""

    name: str
    version: str
    app_version: str
    kind: str

    def to_json(self) -> Object:
        """What the simulated API server wants to know of it."""
        return {"name": self.name, "version": self.version, "appVersion": self.app_version}


def locate(chart: str, repository: str, version: str) -> LocalChart | None:
    """The chart if it is a local one; None if it is in a registry or repository.

    Raises:
        ChartError: it is neither.
    """
    chart = chart.strip()
    if repository:
        return None
    path = Path(chart)
    if path.is_dir() and (path / "Chart.yaml").exists():
        return _described((path / "Chart.yaml").read_text(), chart)
    if path.is_file():
        return _described(_packed(path), chart)
    if path.is_absolute() or chart.startswith("."):
        raise ChartError(f'path "{chart}" not found')
    if chart.startswith(("oci://", "https://", "http://")):
        return None
    at_version = f' at version "{version}"' if version else ""
    raise ChartError(f'failed to download "{chart}"{at_version}')


def _described(text: str, chart: str) -> LocalChart:
    document = as_object(yaml.safe_load(text))
    name, version = as_text(document.get("name")), as_text(document.get("version"))
    if not name or not version:
        raise ChartError(f"validation: chart.metadata of {chart} lacks a name or a version")
    app_version = str(document.get("appVersion") or "")
    return LocalChart(name, version, app_version, as_text(document.get("type")) or "application")


def _packed(path: Path) -> str:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name.count("/") == 1 and member.name.endswith("/Chart.yaml"):
                    file = archive.extractfile(member)
                    if file is not None:
                        return file.read().decode()
    except tarfile.TarError as error:
        raise ChartError(f"file '{path}' does not appear to be a gzipped archive") from error
    raise ChartError("Chart.yaml file is missing")
