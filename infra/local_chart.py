"""A Helm chart in the project: whether it can be used, read before anything is paid for.

Helm loads it only when the release is made, which is after the GPU nodes.
"""

import hashlib
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import cast

from contract.compatibility import conflicts
from contract.images import CHART
from contract.lines import line
from infra.faults import ConfigurationError, Fault, shown
from infra.settings import UNLESS_ALLOWED, PyroscopeSettings

_PATH = "gpuobs:pyroscope.chart.path"
_DESCRIPTION = "Chart.yaml"
_PULL = line(
    *("helm", "pull", CHART, "--version", "1.15.0"),
    *("--untar", "--untardir", "charts"),
)


@dataclass(frozen=True, kw_only=True)
class LocalChart:
    """A chart that was read."""

    version: str
    missing: tuple[str, ...]
    """Charts that it depends on and that are not packed with it."""
    digest: str
    """Of all its files: what an edit changes also where the version stays."""


class UnusableChartError(Exception):
    """There is no chart that Helm could load; the message says why."""


def local_chart(settings: PyroscopeSettings) -> LocalChart | None:
    """The chart that ``settings`` name by its path; None where they name no path.

    Raises:
        ConfigurationError: it is no chart, lacks parts, or does not fit the server.
    """
    path = settings.chart.path
    if path is None:
        return None
    try:
        chart = read_chart(Path(path))
    except UnusableChartError as error:
        raise ConfigurationError(
            [
                Fault(
                    path=_PATH,
                    value=shown(path),
                    rule="a Helm chart: a folder with Chart.yaml, or a package made from one",
                    why=f"{error}. Helm would say so only after the GPU nodes are there.",
                    fix="write the path relative to the project's folder, e.g. charts/pyroscope "
                    f"({_PULL})",
                )
            ]
        ) from None
    if faults := list(_faults(settings, path, chart)):
        raise ConfigurationError(faults)
    return chart


def _faults(settings: PyroscopeSettings, path: str, chart: LocalChart) -> Iterator[Fault]:
    if chart.missing:
        yield Fault(
            path=_PATH,
            value=shown(path),
            rule=f"a chart with what it depends on ({', '.join(chart.missing)}) in its folder "
            "`charts`",
            why="Helm refuses to install it.",
            fix=line("helm", "dependency", "build", path),
        )
    if settings.allow_incompatible_server:
        return
    for conflict in conflicts(server=settings.image_tag, chart=chart.version, agent=None):
        if conflict.part == "chart":
            yield Fault(
                path=_PATH,
                value=shown(path),
                rule=f"{conflict.rule}; this one is {chart.version}",
                why=conflict.why,
                fix=f"take a chart of these versions {UNLESS_ALLOWED}",
            )


def read_chart(path: Path) -> LocalChart:
    """The chart in a folder or a package.

    Raises:
        UnusableChartError: it is none.
    """
    try:
        files = _folder(path) if path.is_dir() else _package(path)
    # A damaged package: the decompressors' own errors, and a link in it that leads nowhere.
    except (
        OSError,
        tarfile.TarError,
        EOFError,
        ValueError,
        KeyError,
        zlib.error,
        LZMAError,
    ) as error:
        raise UnusableChartError(f"{path} cannot be read as a chart: {error}") from None
    description = _description(files, path)
    name, version = description.get("name"), description.get("version")
    if not isinstance(name, str) or not isinstance(version, str):
        raise UnusableChartError(f"{_DESCRIPTION} in {path} states no name or no version")
    if description.get("type", "application") != "application":
        raise UnusableChartError(f"the chart in {path} is a library, which cannot be installed")
    return LocalChart(
        version=version,
        missing=tuple(sorted(_dependencies(description) - _packed(files))),
        digest=_digest(files),
    )


def _folder(path: Path) -> dict[str, bytes]:
    return {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def _package(path: Path) -> dict[str, bytes]:
    """The files of a package, without the folder that holds them all."""
    found: dict[str, bytes] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            inside = PurePosixPath(*PurePosixPath(member.name).parts[1:]).as_posix()
            if file is not None:
                found[inside] = file.read()
    return found


def _description(files: Mapping[str, bytes], path: Path) -> dict[str, object]:
    import yaml  # nearly no stack has a chart of its own

    if _DESCRIPTION not in files:
        raise UnusableChartError(f"there is no {_DESCRIPTION} in {path}")
    try:
        found: object = yaml.safe_load(files[_DESCRIPTION])
    # A date that is none is a ValueError.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnusableChartError(f"{_DESCRIPTION} in {path} is no YAML: {error}") from None
    if not isinstance(found, dict):
        raise UnusableChartError(f"{_DESCRIPTION} in {path} is no mapping")
    return cast("dict[str, object]", found)


def _dependencies(description: Mapping[str, object]) -> set[str]:
    listed = description.get("dependencies")
    if not isinstance(listed, list):
        return set()
    names: set[str] = set()
    for one in cast("list[object]", listed):
        if isinstance(one, dict):
            names.add(str(cast("dict[object, object]", one).get("name")))
    return names


def _packed(files: Mapping[str, bytes]) -> set[str]:
    """Names of the charts in the folder ``charts``, each a folder or a package."""
    names: set[str] = set()
    for file in files:
        parts = file.split("/")
        if len(parts) == 2 and parts[0] == "charts" and parts[1].endswith(".tgz"):
            names.add(re.split(r"-[0-9]+\.", parts[1])[0])
        elif len(parts) == 3 and parts[0] == "charts" and parts[2] == _DESCRIPTION:
            names.add(parts[1])
    return names


def _digest(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{name}\0{len(files[name])}\0".encode())
        whole.update(files[name])
    return whole.hexdigest()
