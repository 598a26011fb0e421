"""Images and the chart from a registry of one's own."""

import re
from pathlib import Path

import pytest

from contract.choices import DEVICE_PLUGIN_TAG
from contract.compatibility import DEFAULT_CHART, DEFAULT_SERVER
from contract.images import CHART, DEVICE_PLUGIN, FORWARDER, FORWARDER_TAG, SERVER, mirrored
from tests.unit.stack_files import faults, settings
from tests.unit.test_program import Sections, dev

PREFIX = "registry.example.com:5000/mirror"
OPERATING = Path(__file__).parents[2] / "docs" / "users" / "operating.md"


def with_prefix(config: Sections) -> None:
    config["registry"] = {"prefix": PREFIX}


@pytest.mark.parametrize(
    ("reference", "there"),
    [
        (SERVER, f"{PREFIX}/grafana/pyroscope"),
        (DEVICE_PLUGIN, f"{PREFIX}/nvidia/k8s-device-plugin"),
        (CHART, f"oci://{PREFIX}/grafana/helm-charts/pyroscope"),
        ("localhost/a", f"{PREFIX}/a"),
        ("host:80/a/b", f"{PREFIX}/a/b"),
    ],
)
def test_a_mirror_has_the_path_of_the_public_registry_without_its_host(
    reference: str, there: str
) -> None:
    assert mirrored(reference, PREFIX) == there


def test_chart_and_images_come_from_below_the_prefix() -> None:
    recorded = dev(with_prefix)
    release = recorded.named("pyroscope-release").inputs
    assert release["chart"] == mirrored(CHART, PREFIX)
    assert release["values"]["pyroscope"]["image"]["repository"] == mirrored(SERVER, PREFIX)
    assert f"{mirrored(DEVICE_PLUGIN, PREFIX)}:{DEVICE_PLUGIN_TAG}" in str(
        recorded.named("gpu-pool-device-plugin-daemon-set").inputs
    )


def test_what_the_stack_file_names_itself_wins_over_the_prefix() -> None:
    def named(config: Sections) -> None:
        with_prefix(config)
        config["pyroscope"] = {
            "chart": {"oci": "oci://charts.example.com/pyroscope"},
            "values": {"pyroscope": {"image": {"repository": "images.example.com/pyroscope"}}},
        }

    release = dev(named).named("pyroscope-release").inputs
    assert release["chart"] == "oci://charts.example.com/pyroscope"
    assert release["values"]["pyroscope"]["image"]["repository"] == "images.example.com/pyroscope"


@pytest.mark.parametrize(
    "value",
    [
        "https://a.example",
        "oci://a.example/x",
        "example",
        "a.example/",
        "a.example/X",
        "a.b/x:1",
        "",
    ],
)
def test_a_prefix_that_no_image_could_come_from_is_refused(value: str) -> None:
    assert set(faults(registry={"prefix": value})) == {"registry.prefix"}


@pytest.mark.parametrize("value", ["example.azurecr.io", "a.b/c-d/e_f.g", "localhost", "host:5000"])
def test_a_prefix_is_a_host_with_or_without_a_path(value: str) -> None:
    assert settings(registry={"prefix": value}).registry.prefix == value


def test_the_lines_that_fill_the_registry_name_the_versions_that_are_deployed() -> None:
    imports = re.findall(r"az acr import .*--source (\S+) --image (\S+)", OPERATING.read_text())
    hub = f"docker.io/{SERVER}"
    assert [source for source, _ in imports] == [
        f"{CHART.removeprefix('oci://')}:{DEFAULT_CHART}",
        f"{hub}:{DEFAULT_SERVER}",
        f"{DEVICE_PLUGIN}:{DEVICE_PLUGIN_TAG}",
        f"docker.io/{FORWARDER}:{FORWARDER_TAG}",
    ]
    assert all(f"p.io/{image}" == mirrored(source, "p.io") for source, image in imports)
