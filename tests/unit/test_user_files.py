"""Files that people write: taken, or refused in one message that names the setting."""

import gzip
import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as property_of
from hypothesis import strategies as st

from infra.dashboard import dashboard_model
from infra.faults import ConfigurationError
from infra.local_chart import local_chart
from infra.settings import DashboardSettings, load, sections_of
from infra.settings.project_file import lost_settings
from tests.unit.stack_files import EXISTING, settings
from tests.unit.user_files import DEEP, EXAMPLES, damages, files, texts

DESCRIPTION: Final = "apiVersion: v2\nname: pyroscope\nversion: 1.15.0\n"
CHART: Final = "gpuobs:pyroscope.chart.path"
DASHBOARD: Final = "gpuobs:grafana.dashboard.file"

tried = property_of(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
nested = pytest.mark.parametrize("text", DEEP, ids=[f"{one[:2]}-{len(one)}" for one in DEEP])


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's folder, in which the program runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused_at(path: str, read: Callable[[], object]) -> bool:
    """Whether what is read is refused, which one message says, at ``path``."""
    error = refusal_of(read)
    if error is None:
        return False
    assert {fault.path for fault in error.faults} == {path}
    for fault in error.faults:
        assert fault.rule
        assert fault.why
        assert fault.fix
    str(error).encode()  # a terminal can show it
    return True


def refusal_of(read: Callable[[], object]) -> ConfigurationError | None:
    try:
        read()
    except ConfigurationError as error:
        return error
    return None


def chart(name: str) -> Callable[[], object]:
    return lambda: local_chart(settings(pyroscope={"chart": {"path": name}}).pyroscope)


def dashboard(name: str) -> Callable[[], object]:
    return lambda: dashboard_model(
        DashboardSettings(file=name),
        uid="gpu",
        title="GPU",
        pyroscope_uid="profiles",
        prometheus_uid="metrics",
        owner_text="owner",
    )


def a_folder(description: bytes) -> str:
    Path("chart").mkdir(exist_ok=True)
    Path("chart/Chart.yaml").write_bytes(description)
    return "chart"


def a_package(description: bytes, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """A package as ``helm package`` makes it, with one file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("pyroscope/Chart.yaml")
        member.type, member.linkname, member.size = kind, link, len(description)
        archive.addfile(member, io.BytesIO(description))
    return packed.getvalue()


# --- charts --------------------------------------------------------------------------------------


@tried
@given(files)
def test_any_description_of_a_chart_is_taken_or_refused_at_its_path(content: bytes) -> None:
    refused_at(CHART, chart(a_folder(content)))


@nested
def test_a_description_of_any_depth_is_refused(text: str) -> None:
    assert refused_at(CHART, chart(a_folder(text.encode())))


@tried
@given(files)
def test_any_file_as_a_package_is_refused(content: bytes) -> None:
    Path("chart.tgz").write_bytes(content)
    assert refused_at(CHART, chart("chart.tgz"))


@tried
@given(damages, st.booleans())
def test_a_damaged_package_is_taken_or_refused(places: list[tuple[int, int]], inside: bool) -> None:
    """``inside``: before it was compressed."""
    content = bytearray(a_package(DESCRIPTION.encode() * 20))
    if inside:
        content = bytearray(gzip.decompress(content))
    for place, byte in places:
        content[place % len(content)] = byte
    Path("chart.tgz").write_bytes(gzip.compress(content) if inside else content)
    refused_at(CHART, chart("chart.tgz"))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
def test_a_package_that_is_cut_off_is_refused(share: float) -> None:
    content = a_package(DESCRIPTION.encode() * 50)
    Path("chart.tgz").write_bytes(content[: int(len(content) * share)])
    assert refused_at(CHART, chart("chart.tgz"))


@pytest.mark.parametrize("link", ["nowhere", "../../etc/passwd", "pyroscope/Chart.yaml"])
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_package_whose_description_is_a_link_is_refused(kind: bytes, link: str) -> None:
    Path("chart.tgz").write_bytes(a_package(b"", kind, link))
    assert refused_at(CHART, chart("chart.tgz"))


def test_a_folder_with_a_link_to_nowhere_in_it_is_read(project: Path) -> None:
    a_folder(DESCRIPTION.encode())
    (project / "chart/link").symlink_to("nowhere")
    assert not refused_at(CHART, chart("chart"))


# --- dashboards ----------------------------------------------------------------------------------


@tried
@given(files)
def test_any_file_as_a_dashboard_is_taken_or_refused_at_its_path(content: bytes) -> None:
    Path("dashboard.json").write_bytes(content)
    refused_at(DASHBOARD, dashboard("dashboard.json"))


@nested
def test_a_dashboard_of_any_depth_is_taken_or_refused(text: str) -> None:
    Path("dashboard.json").write_text(f'{{"panels": [], "more": {text}}}', encoding="utf-8")
    refused_at(DASHBOARD, dashboard("dashboard.json"))


# --- names of files ------------------------------------------------------------------------------


@tried
@given(st.text(max_size=300))
def test_any_name_of_a_file_is_refused_where_there_is_none(name: str) -> None:
    def read(path: str) -> Iterator[object]:
        if path == CHART:
            found = settings(pyroscope={"chart": {"path": name}})
        else:
            found = settings(grafana={"dashboard": {"file": name}})
        if found.pyroscope.chart.path:
            yield local_chart(found.pyroscope)
        if found.grafana.dashboard.file:
            yield dashboard(found.grafana.dashboard.file)()

    for path in (CHART, DASHBOARD):
        refused_at(path, lambda path=path: list(read(path)))


# --- stack files and the project's ---------------------------------------------------------------


@tried
@given(st.dictionaries(st.sampled_from(sorted(EXISTING)) | st.text(max_size=8), texts, max_size=4))
def test_any_text_of_a_section_is_read_or_refused_at_a_path(written: dict[str, str]) -> None:
    sections = sections_of({f"gpuobs:{key}": text for key, text in written.items()})
    error = refusal_of(lambda: load(sections))
    if error is not None:
        assert all(fault.path.startswith("gpuobs:") for fault in error.faults)
        str(error).encode()


@nested
def test_a_section_of_any_depth_is_refused_at_a_path(text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load({**EXISTING, **sections_of({"gpuobs:pyroscope": f'{{"values": {text}}}'})})
    assert all(fault.path.startswith("gpuobs:pyroscope") for fault in raised.value.faults)


@tried
@given(texts)
def test_any_project_file_is_read_without_an_error(text: str) -> None:
    for note in lost_settings(f"config: {text}", EXISTING):
        assert note.startswith("Pulumi.yaml sets ")


@nested
def test_a_project_file_of_any_depth_is_read_without_an_error(text: str) -> None:
    assert list(lost_settings(f"config: {text}", EXISTING)) == []
