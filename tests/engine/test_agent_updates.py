"""The agent's extension on the second day: upgrades that fail, and what Azure changes by itself."""

from collections.abc import Iterator

import pytest

from simulator.values import JsonObject, as_object, as_objects
from tests.engine.changes import STACK, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Simulation
from tests.simulator.azure import Kubernetes

pytestmark = pytest.mark.engine

EXTENSION = "inspektor-gadget-extension"
UPDATED = {EXTENSION: "update", "inspektor-gadget-settings": "update"}
"""The pods are restarted, as they read their settings when they start."""
DAEMON_SET = "/apis/apps/v1/namespaces/gadget/daemonsets/gadget"
LOG_LEVEL = "inspektor-gadget.config.daemonLogLevel"


@pytest.fixture(scope="module")
def dev(sim: Simulation) -> Iterator[Simulation]:
    sim.up(STACK)
    yield sim
    sim.destroy(STACK)


def set_log_level(sim: Simulation, level: str) -> None:
    sim.stack_file(STACK, {"inspektorGadget.settings": {LOG_LEVEL: level}})


def extension(person: Portal) -> JsonObject:
    """Its properties."""
    return as_object(person.get(person.find("/extensions/inspektor-gadget"))["properties"])


@pytest.mark.handles("failed-upgrade-of-the-agent")
def test_an_upgrade_that_fails_is_tried_again_and_never_deletes_an_agent_that_runs(
    dev: Simulation, person: Portal
) -> None:
    set_log_level(dev, "debug")
    error: JsonObject = {"code": "ExtensionOperationFailed", "message": "no nodes are ready"}
    failing: JsonObject = {
        "service": "arm",
        "method": "PUT",
        "path": ".*/extensions/[^/]+",
        "then": {"operation": {"status": "Failed", "error": error}},
    }
    dev.faults(failing)
    failed = dev.up(STACK, check=False)
    dev.faults()
    assert not failed.ok
    assert "no nodes are ready" in failed.output
    assert Kubernetes(person).call("GET", DAEMON_SET).status_code == 200
    foreseen = dev.preview(STACK)
    again = dev.up(STACK)
    assert touched(foreseen) == touched(again) == UPDATED
    assert as_object(extension(person)["configurationSettings"])[LOG_LEVEL] == "debug"
    assert touched(dev.up(STACK)) == {}


@pytest.mark.handles("what-azure-adds-to-the-agent")
@pytest.mark.parametrize("value", ["first", "second"])
def test_a_setting_that_azure_added_is_no_change_and_is_not_lost(
    dev: Simulation, person: Portal, value: str
) -> None:
    path = person.find("/extensions/inspektor-gadget")
    added: JsonObject = {"properties": {"configurationSettings": {"Azure.Region": value}}}
    assert person.call("PATCH", path, added).status_code == 202
    person.settled(path)
    if value == "first":
        dev.refresh(STACK)
        assert touched(dev.preview(STACK)) == {}
    # Changed again after the refresh; and then something of ours.
    set_log_level(dev, value)
    assert touched(dev.up(STACK)) == UPDATED
    assert extension(person)["configurationSettings"] == {
        "Azure.Region": value,
        "azureMonitor.enabled": "true",
        "gpuObservability.enabled": "true",
        LOG_LEVEL: value,
    }
    assert touched(dev.preview(STACK)) == {}
    dev.refresh(STACK)
    assert touched(dev.up(STACK)) == {}


@pytest.mark.handles("what-azure-adds-to-the-agent")
def test_a_version_that_azure_installed_by_itself_is_no_change(
    dev: Simulation, person: Portal
) -> None:
    newer: JsonObject = {"properties": {"currentVersion": "0.55.0", "version": "0.55.0"}}
    path = ".*/extensions/[^/]+"
    rule: JsonObject = {"service": "arm", "method": "GET", "path": path, "count": None}
    dev.faults({**rule, "then": {"patch": newer}})
    dev.refresh(STACK)
    assert touched(dev.preview(STACK)) == {}
    # ... and does not keep an update from being accepted.
    set_log_level(dev, "info")
    assert touched(dev.up(STACK)) == UPDATED
    dev.faults()
    assert as_objects(extension(person)["statuses"]) == []
