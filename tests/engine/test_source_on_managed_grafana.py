"""A Pyroscope of one's own that Azure's Grafana shows already: the stack uses that data source."""

import pytest

from simulator.values import as_object
from tests.engine.changes import STACK, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.engine.test_existing_pyroscope import HOST, SERVICE, server
from tests.simulator.azure import Kubernetes

pytestmark = pytest.mark.engine

CENTRAL = {
    "name": "central",
    "uid": "central",
    "type": "grafana-pyroscope-datasource",
    "access": "proxy",
    "url": f"http://{HOST}:4040",
}


@pytest.fixture(scope="module")
def first(sim: Simulation, person: Portal) -> Outcome:
    """The first `up`: the server and its data source are there."""
    cluster = Kubernetes(person)
    cluster.make_namespace("monitoring")
    sets = "/apis/apps/v1/namespaces/monitoring/statefulsets"
    assert cluster.call("POST", sets, server("1.15.0")).is_success
    assert cluster.call("POST", "/api/v1/namespaces/monitoring/services", SERVICE).is_success
    assert person.grafana("POST", "/api/datasources", CENTRAL).is_success
    existing = {"url": CENTRAL["url"], "dataSource": "central"}
    sim.stack_file(STACK, {"pyroscope.existing": existing, "grafana.dataSources": None})
    return sim.up(STACK)


def test_it_makes_no_source_link_or_endpoint_and_the_dashboard_asks_that_source(
    first: Outcome, sim: Simulation, person: Portal
) -> None:
    assert not {"data-sources-pyroscope", "private-endpoint-endpoint"} & set(first.ops())
    assert person.kind("privateLinkServices") == []
    assert as_object(sim.outputs(STACK)["dataSourceUids"])["pyroscope"] == "central"
    assert '"central"' in str(person.dashboard("AdvancedGPUObservability")).replace("'", '"')


def test_a_second_up_changes_nothing(first: Outcome, sim: Simulation) -> None:
    assert touched(sim.up(STACK)) == {}


def test_destroy_leaves_the_source_as_it_was(
    first: Outcome, sim: Simulation, person: Portal
) -> None:
    before = person.source("central")
    sim.destroy(STACK)
    assert person.source("central") == before
    assert before["url"] == CENTRAL["url"]
