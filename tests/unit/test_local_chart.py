"""A chart in the project: read, and refused with the fix, before anything is deployed."""

import tarfile
from pathlib import Path

import pytest

from infra.faults import ConfigurationError, Fault
from infra.local_chart import LocalChart, local_chart
from tests.unit.stack_files import settings

DEPENDENT = """\
apiVersion: v2
name: pyroscope
version: 1.15.0
dependencies:
  - {name: alloy, version: 1.x}
  - {name: grafana-agent, alias: agent, version: 0.x}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's folder, in which the program runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def chart(version: str = "1.15.0", **more: str) -> str:
    lines = {"apiVersion": "v2", "name": "pyroscope", "version": version, **more}
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def packed(folder: str, to: str) -> None:
    with tarfile.open(to, "w:gz") as archive:
        archive.add(folder)


def read(path: str = "chart", **pyroscope: object) -> LocalChart:
    found = local_chart(settings(pyroscope={"chart": {"path": path}, **pyroscope}).pyroscope)
    assert found is not None
    return found


def refused(path: str = "chart", **pyroscope: object) -> list[Fault]:
    with pytest.raises(ConfigurationError) as raised:
        read(path, **pyroscope)
    faults = list(raised.value.faults)
    assert {fault.path for fault in faults} == {"gpuobs:pyroscope.chart.path"}
    return faults


def test_a_folder_and_a_package_of_it_are_read_alike() -> None:
    write("chart/Chart.yaml", chart())
    write("chart/templates/a.yaml", "a: 1")
    packed("chart", "chart-1.15.0.tgz")

    assert read("chart") == read("chart-1.15.0.tgz")
    assert read("chart").version == "1.15.0"


def test_an_edit_changes_the_digest_though_the_version_stays() -> None:
    write("chart/Chart.yaml", chart())
    write("chart/templates/a.yaml", "a: 1")
    before = read()
    write("chart/templates/a.yaml", "a: 2")

    assert read().version == before.version
    assert read().digest != before.digest


def test_no_path_is_no_chart_in_the_project() -> None:
    assert local_chart(settings().pyroscope) is None


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "cannot be read"),
        ({"chart/values.yaml": ""}, "there is no Chart.yaml"),
        ({"chart/Chart.yaml": "- a"}, "no mapping"),
        ({"chart/Chart.yaml": "a: ["}, "no YAML"),
        ({"chart/Chart.yaml": "name: pyroscope"}, "no version"),
        ({"chart/Chart.yaml": chart(type="library")}, "library"),
    ],
)
def test_what_helm_could_not_load_is_refused_with_the_reason(
    files: dict[str, str], reason: str
) -> None:
    for name, text in files.items():
        write(name, text)
    (fault,) = refused()

    assert reason in fault.why
    assert "helm pull" in fault.fix


def test_a_file_that_is_no_package_is_refused() -> None:
    write("chart", "not a package")

    assert "cannot be read" in refused()[0].why


@pytest.mark.parametrize("version", ["1.14.0", "2.0.2", "0.1.0"])
def test_the_contract_counts_for_a_chart_in_the_project_too(version: str) -> None:
    write("chart/Chart.yaml", chart(version))
    (fault,) = refused()

    assert f"this one is {version}" in fault.rule
    assert read(allowIncompatibleServer=True).version == version


def test_a_chart_without_what_it_depends_on_is_refused_with_the_line_that_gets_it() -> None:
    write("chart/Chart.yaml", DEPENDENT)
    write("chart/charts/alloy/Chart.yaml", "name: alloy")
    (fault,) = refused()

    assert "grafana-agent" in fault.rule
    assert "alloy" not in fault.rule
    assert fault.fix == "helm dependency build chart"
    write("chart/charts/grafana-agent-0.44.2.tgz", "")
    assert read().missing == ()
