"""What a change of one setting does to a deployed stack: sources, dashboard, metrics, access.

The changes are made one upon the other on one stack, so each row also shows that the one before
left nothing to do. What a row does not name must not be touched.
"""

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.changes import STACK, Change, apply, check, order, touched
from tests.engine.simulation import Simulation

pytestmark = pytest.mark.engine

PROFILES = "data-sources-pyroscope"
METRICS = "data-sources-prometheus"
DASHBOARD = "dashboard-dashboard"
COLLECTION = [
    "prometheus-endpoint",
    "prometheus-rule",
    "prometheus-rule-association",
]
OWN_DASHBOARD = "tests/dashboards/golden-without-metrics.json"
SOMEBODY = "44444444-4444-4444-8444-444444444444"


@pytest.fixture(scope="module")
def dev(sim: Simulation) -> Simulation:
    """The stack, deployed."""
    sim.up(STACK)
    return sim


CHANGES = {
    "another title of the dashboard updates it": Change(
        {"grafana.dashboard.title": "Our GPUs"}, {DASHBOARD: "update"}
    ),
    "another uid of the dashboard replaces it": Change(
        {"grafana.dashboard.uid": "our-gpus"}, {DASHBOARD: "replace"}
    ),
    "a folder takes the dashboard in": Change({"grafana.folder": "GPU"}, {DASHBOARD: "update"}),
    "another title of the folder updates the dashboard": Change(
        {"grafana.folder": "GPU team"}, {DASHBOARD: "update"}
    ),
    "another name of a source updates it": Change(
        {"grafana.dataSources.pyroscope.name": "profiles"}, {PROFILES: "update"}
    ),
    "another uid of a source replaces it, and updates the dashboard that names it": Change(
        {"grafana.dataSources.pyroscope.uid": "profiles"},
        {PROFILES: "replace", DASHBOARD: "update"},
    ),
    "looking for drift no longer changes nothing": Change({"grafana.driftDetection": False}, {}),
    "looking for drift again changes nothing": Change({"grafana.driftDetection": True}, {}),
    "the administrator's credentials only change how the cluster is reached": Change(
        {"cluster.credentials": "admin"},
        {
            "cluster-leftovers": "update",
            "inspektor-gadget-namespace-protection": "update",
            "inspektor-gadget-settings": "update",
        },
    ),
    "a role for somebody is one assignment": Change(
        {
            "grafana.roleAssignments": [
                {"principalId": SOMEBODY, "principalType": "User", "role": "Viewer"}
            ]
        },
        {f"grafana-viewer-{SOMEBODY}": "create"},
    ),
    "no metrics collected deletes the rules and keeps the source": Change(
        {"prometheus.azureMonitorWorkspace.collect": False}, dict.fromkeys(COLLECTION, "delete")
    ),
    "metrics collected again makes them again": Change(
        {"prometheus.azureMonitorWorkspace.collect": None}, dict.fromkeys(COLLECTION, "create")
    ),
}


@pytest.mark.parametrize("change", [pytest.param(row, id=name) for name, row in CHANGES.items()])
def test_a_change_touches_what_depends_on_it_and_nothing_else(
    dev: Simulation, change: Change
) -> None:
    check(dev, change)


def test_a_dashboard_of_ones_own_takes_the_place_of_the_built_in_one(dev: Simulation) -> None:
    built_in = _dashboard(dev)
    outcome = apply(dev, {"grafana.dashboard.file": OWN_DASHBOARD})
    assert touched(outcome) == {DASHBOARD: "update"}
    assert _dashboard(dev)["uid"] == built_in["uid"]
    assert _dashboard(dev) != built_in
    assert touched(apply(dev, {"grafana.dashboard.file": None})) == {DASHBOARD: "update"}


def _dashboard(sim: Simulation) -> JsonObject:
    (found,) = as_objects(dig(sim.inspect(), "grafana", "grafana-dev", "dashboards"))
    return found


@pytest.mark.handles("prometheus-source-duplicated")
def test_metrics_go_from_azure_monitor_to_ones_own_and_to_none(dev: Simulation) -> None:
    """There is one source of metrics or none, never two."""
    own = apply(dev, {"prometheus": {"url": "https://prometheus.example.org"}})
    assert touched(own) == {
        **dict.fromkeys(COLLECTION, "delete"),
        METRICS: "update",
    }
    (source,) = _metrics(dev)
    assert source["url"] == "https://prometheus.example.org"
    none = apply(dev, {"prometheus": None})
    assert touched(none) == {METRICS: "delete", DASHBOARD: "update"}
    assert _metrics(dev) == []
    assert "prometheus" not in as_object(dev.outputs()["dataSourceUids"])
    existing = {"name": "amw-dev", "resourceGroup": "rg-dev"}
    again = apply(dev, {"prometheus": {"azureMonitorWorkspace": {"existing": existing}}})
    assert touched(again) == {
        **dict.fromkeys(COLLECTION, "create"),
        METRICS: "create",
        DASHBOARD: "update",
    }
    assert order(again).index("+ prometheus-rule") < order(again).index(f"+ {METRICS}")
    (source,) = _metrics(dev)
    assert "prometheus.example.org" not in as_text(source["url"])


def _metrics(sim: Simulation) -> list[JsonObject]:
    sources = as_objects(dig(sim.inspect(), "grafana", "grafana-dev", "dataSources"))
    return [source for source in sources if "prometheus" in as_text(source["type"])]


def test_nothing_is_left_to_do_after_all_the_changes(dev: Simulation) -> None:
    dev.refresh(STACK)
    assert touched(dev.up(STACK)) == {}
