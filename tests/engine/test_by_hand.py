"""Whoever followed the manual procedure: all of it is found, and the page leads out of it."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
import yaml

from simulator.values import JsonObject, as_object
from tests.engine.changes import touched
from tests.engine.portal import Portal, portal_of
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import EXTENSION, Kubernetes

pytestmark = pytest.mark.engine

PAGE = Path(__file__).parents[2] / "docs" / "users" / "by-hand.md"
SOURCE: JsonObject = {
    "name": "local-pyroscope",
    "uid": "local-pyroscope",
    "type": "grafana-pyroscope-datasource",
    "access": "proxy",
    "url": "http://10.0.0.4:4040",
    "jsonData": {"keepCookies": ["pyroscope_git_session"]},
}
DASHBOARD: JsonObject = {
    "dashboard": {"uid": "AdvancedGPUObservability", "title": "Advanced GPU Observability"},
    "overwrite": True,
}


def blocks(language: str) -> list[str]:
    """The page's code of a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def follow_the_procedure(azure: Portal) -> None:
    """The manual procedure, from the GPU pool to the dashboard."""
    azure.add_pool()
    azure.install_agent()
    kubernetes = Kubernetes(azure)
    kubernetes.install_device_plugin()
    assert kubernetes.release()["status"] == "deployed"
    azure.make_endpoint()
    azure.decide("Approved")
    azure.refresh()
    assert azure.grafana("POST", "/api/datasources", SOURCE).status_code == 200
    assert azure.grafana("POST", "/api/dashboards/db", DASHBOARD).status_code == 200


def do(azure: Portal, line: str) -> None:
    """What one of the page's lines does."""
    command, _, rest = line.partition(" --")
    words = shlex.split(f"--{rest}")
    options = dict(zip(words[::2], words[1::2], strict=True))
    if command == "az resource delete":
        azure.delete(options["--ids"])
        return
    assert command == "az aks command invoke", line
    assert options["--command"] == "helm uninstall pyroscope --namespace gadget"
    assert Kubernetes(azure).uninstall() == {}


@dataclass(frozen=True)
class Way:
    """From the procedure to a stack."""

    preview: Outcome
    up: Outcome
    changed: bool
    """Whether the refused ``up`` changed anything in Azure."""
    after: Outcome
    """``up`` once the page was followed."""
    quiet: Outcome
    destroy: Outcome
    left: JsonObject
    """What is in Azure after ``destroy``."""


@pytest.fixture(scope="module")
def way(sim: Simulation) -> Way:
    with portal_of(sim) as azure:
        follow_the_procedure(azure)
    before = sim.resources()
    preview = sim.preview(check=False)
    up = sim.up(check=False)
    changed = sim.resources() != before
    with portal_of(sim) as azure:
        for line in "".join(blocks("sh")).splitlines():
            do(azure, line)
    for section, values in as_object(yaml.safe_load(blocks("yaml")[0])).items():
        for key, value in as_object(values).items():
            sim.stack_file("dev", {f"{section.removeprefix('gpuobs:')}.{key}": value})
    after = sim.up()
    quiet = sim.up()
    return Way(
        preview=preview,
        up=up,
        changed=changed,
        after=after,
        quiet=quiet,
        destroy=sim.destroy(),
        left=sim.inspect(),
    )


@pytest.mark.parametrize(
    "said",
    [
        *"".join(blocks("sh")).splitlines(),
        "createNamespace: false",
        "gpuobs:gpuPool: { enabled: false }",
        "local-pyroscope",
        "AdvancedGPUObservability",
        "gpuobs:grafana.adopt: true",
        "kubectl delete namespace gadget",
    ],
)
def test_everything_is_found_at_once_with_its_line_or_setting(way: Way, said: str) -> None:
    assert not way.preview.ok
    assert said in way.preview.output


def test_nothing_is_made_beside_it(way: Way) -> None:
    assert not way.up.ok
    assert not way.changed


def test_the_page_leads_to_a_stack_that_has_converged(way: Way) -> None:
    assert touched(way.after)["inspektor-gadget-extension"] == "create"
    assert touched(way.quiet) == {}


def test_what_was_taken_over_in_the_cluster_stays_at_the_end(way: Way) -> None:
    resources = as_object(way.left["resources"])
    assert EXTENSION not in resources
    assert any(key.endswith("/agentPools/gpu") for key in resources)
    (cluster,) = [
        one for key, one in as_object(way.left["kubernetes"]).items() if key.endswith("/aks-dev")
    ]
    assert "gadget" in cast("list[object]", as_object(cluster)["namespaces"])
