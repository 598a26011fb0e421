"""The shipped stack ``dev`` on the real engine: everything outside the cluster exists already."""

import json

import pytest

from simulator.values import (
    JsonObject,
    as_number,
    as_object,
    as_objects,
    as_text,
    dig,
    texts,
)
from tests.engine.simulation import Simulation
from tests.engine.whole_life import WholeLife, live

pytestmark = [pytest.mark.engine, pytest.mark.as_shipped]


@pytest.fixture(scope="module")
def dev(sim: Simulation) -> WholeLife:
    return live(sim, "dev")


def _on_grafana(dev: WholeLife, what: str) -> list[JsonObject]:
    return as_objects(dig(dev.inside, "grafana", "grafana-dev", what))


def test_the_preview_says_exactly_what_up_does(dev: WholeLife) -> None:
    assert dev.preview.ops() == dev.up.ops()
    assert set(dev.up.ops().values()) == {"create"}


def test_nothing_that_existed_already_is_made(dev: WholeLife) -> None:
    made = {step.type for step in dev.up.changes}
    assert not made & {
        "azure-native:containerservice:ManagedCluster",
        "azure-native:dashboard:Grafana",
        "azure-native:monitor:AzureMonitorWorkspace",
        "azure-native:resources:ResourceGroup",
        # On things that exist already, who may read what is not the stack's to decide.
        "azure-native:authorization:RoleAssignment",
    }


@pytest.mark.handles("fixed-sleeps-empty-address")
@pytest.mark.handles("address-read-before-refresh")
def test_the_endpoint_is_approved_and_has_an_address(dev: WholeLife) -> None:
    address = as_text(dig(dev.outputs, "privateEndpoint", "privateIp"))
    assert dig(dev.outputs, "privateEndpoint", "state") == "Approved"
    assert address
    (source,) = [one for one in _on_grafana(dev, "dataSources") if one["uid"] == "local-pyroscope"]
    assert source["url"] == f"http://{address}:4040"


def test_the_dashboard_has_the_published_address(dev: WholeLife) -> None:
    endpoint = as_text(dev.outputs["grafanaEndpoint"])
    assert dev.outputs["dashboardUrl"] == f"{endpoint}/d/AdvancedGPUObservability"
    uids = [board["uid"] for board in _on_grafana(dev, "dashboards")]
    assert uids == ["AdvancedGPUObservability"]


def test_the_data_sources_are_those_of_the_outputs(dev: WholeLife) -> None:
    uids = as_object(dev.outputs["dataSourceUids"])
    assert set(uids) == {"pyroscope", "prometheus"}
    sources = _on_grafana(dev, "dataSources")
    assert {source["uid"] for source in sources} == set(uids.values())


def test_the_installed_agents_version_and_the_servers_address_are_said(dev: WholeLife) -> None:
    (extension,) = [
        body for key, body in dev.resources.items() if "/extensions/inspektor-gadget" in key.lower()
    ]
    assert dev.outputs["agentVersion"] == dig(extension, "properties", "currentVersion")
    assert dev.outputs["pyroscopeUrl"] == "http://pyroscope.gadget.svc:4040"


@pytest.mark.handles("only-later-allocations-are-seen")
@pytest.mark.handles("started-earlier")
def test_the_notes_say_what_is_not_recorded(dev: WholeLife) -> None:
    notes = " ".join(texts(dev.outputs["notes"]))
    assert "after the agent started" in notes
    assert "may lack symbols" in notes
    assert "refresh off" in notes


def test_the_data_flows_from_the_agent_to_grafana(dev: WholeLife) -> None:
    assert "The signal arrives." in dev.signal
    assert "BROKEN" not in dev.signal


def test_the_flame_graph_shows_who_takes_the_memory(dev: WholeLife) -> None:
    first = as_objects(as_object(json.loads(dev.hotspots))["functions"])[0]
    assert first["attributedSelf"] == 55_100_000_000
    assert "_allocate_kv_cache_tensors" in as_text(first["name"])


def test_the_ledger_adds_up_to_the_devices_own_number(dev: WholeLife) -> None:
    found = as_object(json.loads(dev.ledger))
    assert found["deviceSource"] == "a DCGM exporter"
    (account,) = as_objects(found["accounts"])
    rows = as_objects(account["rows"])
    assert sum(as_number(row["bytes"]) for row in rows) == account["usedBytes"]
    held = {as_text(row["pod"]): as_number(row["bytes"]) for row in rows if row["pid"]}
    assert held["inference/vllm-0"] > 55_100_000_000
    (gone,) = as_objects(account["ended"])
    assert gone["pid"] == "902"
    causes = {as_text(row["cause"]): as_number(row["bytes"]) for row in rows if row["cause"]}
    assert causes["CUDA context and libraries"] > 0
    assert causes["not attributed"] == 0


def test_the_verdict_on_the_server_is_its_configured_size(dev: WholeLife) -> None:
    (found,) = as_objects(json.loads(dev.explanation))
    assert found["verdict"] == "configured"
    assert "KV cache" in [one["part"] for one in as_objects(found["parts"])]


def test_the_dashboard_is_written_for_the_stacks_own_sources(dev: WholeLife) -> None:
    dashboard = as_object(json.loads(dev.dashboard))
    assert dashboard["uid"] == "AdvancedGPUObservability"
    chosen = {
        as_text(dig(one, "current", "value"))
        for one in as_objects(dig(dashboard, "templating", "list"))
        if one["type"] == "datasource"
    }
    assert chosen == set(as_object(dev.outputs["dataSourceUids"]).values())


def test_a_second_up_changes_nothing(dev: WholeLife) -> None:
    assert [str(step) for step in dev.again.changes] == []


def test_a_refresh_learns_of_the_namespaces_mark_and_brings_nothing_to_change(
    dev: WholeLife,
) -> None:
    """A command made that mark; see :mod:`operations.namespace`."""
    assert [str(step) for step in dev.refresh.changes] == ["update inspektor-gadget-namespace"]
    assert [str(step) for step in dev.preview_after_refresh.changes] == []


@pytest.mark.handles("things-left-behind")
def test_destroy_leaves_azure_as_it_was_before(dev: WholeLife) -> None:
    assert dev.left_in_azure == []
    assert dev.left_in_state == []


def test_no_command_warns(dev: WholeLife) -> None:
    said = [dev.preview, dev.up, dev.again, dev.refresh, dev.preview_after_refresh, dev.destroy]
    assert [line for outcome in said for line in outcome.diagnostics] == []
