"""A chart value that a public chart would ignore: the real Helm refuses it with the stand-in."""

import base64
import json
from pathlib import Path

import pytest

from simulator.home import CHECKOUT
from simulator.session import CHART
from tests.engine.simulation import Simulation
from tests.kubernetes.cluster import Cluster

pytestmark = [pytest.mark.engine, pytest.mark.kubernetes]

PROGRAM = """\
import json
import pulumi
import pulumi_kubernetes as kubernetes

config = pulumi.Config("example")
cluster = kubernetes.Provider("cluster", kubeconfig=config.require("kubeconfig"))
kubernetes.helm.v3.Release(
    "pyroscope",
    name="pyroscope",
    namespace="default",
    chart=config.require("chart"),
    values=json.loads(config.require("values")),
    skip_await=True,
    opts=pulumi.ResourceOptions(provider=cluster),
)
"""
IGNORED = {"pyroscope": {"podLabels": {"team": "ml"}}}
"""What the server's public FAQ names, and no chart from 1.15.0 to 1.19.2 reads."""


def test_a_stack_file_with_it_is_refused(real: Simulation) -> None:
    """A chart from the project is the operator's own, so only Helm can say; of a public one the
    program says it first (``tests/unit/test_settings_pyroscope.py``)."""
    real.stack_file("dev", {"pyroscope.values": IGNORED})
    refused = real.up(check=False)
    real.stack_file("dev", {"pyroscope.values": None})
    assert not refused.ok
    assert "podLabels" in refused.output


def test_the_real_helm_refuses_it_with_the_chart_that_stands_in(
    real: Simulation, cluster: Cluster, program_folder: Path
) -> None:
    real.up()
    port = json.loads((cluster.folder / "ports.json").read_text())[2]
    authority = (real.home.path / "azure" / "ca.pem").read_bytes()
    server = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority-data": base64.b64encode(authority).decode(),
    }
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": server}],
        "users": [{"name": "u", "user": {"token": cluster.token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    stacks = {
        name: {
            "example:kubeconfig": json.dumps(kubeconfig),
            "example:chart": str(CHECKOUT / CHART),
            "example:values": json.dumps(values),
        }
        for name, values in {
            "ignored": IGNORED,
            "read": {"pyroscope": {"extraLabels": {"team": "ml"}}},
        }.items()
    }
    program = real.of_program(program_folder, PROGRAM, stacks=stacks)
    refused = program.up("ignored", check=False)
    assert not refused.ok
    assert "podLabels" in refused.output
    assert program.up("read").ok
