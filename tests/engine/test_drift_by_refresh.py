"""What people change by hand of what the engine knows: a refresh sees it, and `up` puts it back.

The engine compares its state with the program, so a plain preview shows none of it; `--refresh`
looks first. What the stack declares is put back; what it does not say is left alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from simulator.values import JsonObject, as_list, as_object, as_objects, as_text, dig, merge_patch
from tests.engine.portal import Portal, portal_of
from tests.engine.simulation import Simulation
from tests.simulator.azure import Kubernetes

pytestmark = pytest.mark.engine

SOMEBODY = "33333333-3333-4333-8333-333333333333"
NAMESPACE = "/api/v1/namespaces/gadget"
PLUGIN = "/apis/apps/v1/namespaces/kube-system/daemonsets/nvidia-device-plugin-gpu"
POLICY = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/gpuobs-keep-gadget"
PROTECTION = "inspektor-gadget-namespace-protection"
EXTENSION = "inspektor-gadget-extension"


@dataclass(frozen=True)
class Deployed:
    """The stack while it is up, and a person with every right."""

    sim: Simulation
    person: Portal
    kubectl: Kubernetes

    def in_azure(self, type_: str, change: JsonObject) -> None:
        """Change the stack's only resource of this type."""
        id_ = self.only(type_)
        answer = self.person.call("PUT", id_, merge_patch(self.person.get(id_), change))
        assert answer.status_code in (200, 201, 202), answer.text
        self.sim.control("POST", "advance", {"seconds": 1800})

    def delete_in_azure(self, type_: str) -> None:
        self.person.delete(self.only(type_))

    def only(self, type_: str) -> str:
        own = ("dev-83335922", "/gpu", "inspektor-gadget")
        (found,) = [one for one in self.person.kind(type_) if one.endswith(own)]
        return found

    def delete_role(self) -> None:
        (found,) = [
            one
            for one in self.person.kind("roleAssignments")
            if dig(self.person.get(one), "properties", "principalId") == SOMEBODY
        ]
        self.person.delete(found)

    def plugin_image(self) -> str:
        containers = dig(self.kubectl.get(PLUGIN), "spec", "template", "spec", "containers")
        return as_text(as_objects(containers)[0]["image"])

    def properties(self, type_: str) -> JsonObject:
        return as_object(self.person.get(self.only(type_))["properties"])

    def has_role(self) -> bool:
        return any(
            dig(self.person.get(one), "properties", "principalId") == SOMEBODY
            for one in self.person.kind("roleAssignments")
        )


@pytest.fixture(scope="module")
def deployed(sim: Simulation) -> Iterator[Deployed]:
    roles = [{"principalId": SOMEBODY, "principalType": "User", "role": "Viewer"}]
    sim.stack_file("dev", {"grafana.roleAssignments": roles}, like="dev")
    sim.up()
    # The marks of the namespace come into the state.
    sim.refresh()
    with portal_of(sim) as person:
        yield Deployed(sim, person, Kubernetes(person))


@dataclass(frozen=True)
class Edit:
    """A change by hand, and what comes of it."""

    change: Callable[[Deployed], object]
    ops: dict[str, str]
    back: Callable[[Deployed], object]
    """True once it is as it was."""
    diffs: tuple[str, ...] = ()
    seen_without: dict[str, str] = field(default_factory=dict[str, str])
    """What a preview without ``--refresh`` shows."""


def _settings(deployed: Deployed) -> JsonObject:
    return as_object(deployed.properties("extensions")["configurationSettings"])


PLUGIN_NAME = "gpu-pool-device-plugin-daemon-set"
OTHER_IMAGE: JsonObject = {
    "spec": {"template": {"spec": {"containers": [{"name": "other", "image": "other"}]}}}
}
EDITS = {
    "the namespace's mark for the extension": Edit(
        lambda one: one.kubectl.edit(
            NAMESPACE, {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}}
        ),
        {PROTECTION: "update"},
        lambda one: dig(
            one.kubectl.get(NAMESPACE), "metadata", "labels", "app.kubernetes.io/managed-by"
        ),
        ("environment",),
        {PROTECTION: "update"},
    ),
    "the namespace's protection": Edit(
        lambda one: one.kubectl.delete(POLICY),
        {PROTECTION: "update"},
        lambda one: one.kubectl.get(POLICY),
        ("environment",),
        {PROTECTION: "update"},
    ),
    "the device plugin edited": Edit(
        lambda one: one.kubectl.edit(PLUGIN, OTHER_IMAGE),
        {PLUGIN_NAME: "update"},
        lambda one: "k8s-device-plugin" in one.plugin_image(),
        ("spec",),
    ),
    "the device plugin deleted": Edit(
        lambda one: one.kubectl.delete(PLUGIN),
        {PLUGIN_NAME: "create"},
        lambda one: "k8s-device-plugin" in one.plugin_image(),
    ),
    "a setting of the extension": Edit(
        lambda one: one.in_azure(
            "extensions",
            {"properties": {"configurationSettings": {"gpuObservability.enabled": "false"}}},
        ),
        {EXTENSION: "update"},
        lambda one: _settings(one)["gpuObservability.enabled"] == "true",
        ("configurationSettings",),
    ),
    "the extension's version": Edit(
        lambda one: one.in_azure(
            "extensions",
            {"properties": {"autoUpgradeMinorVersion": False, "version": "0.50.1"}},
        ),
        {EXTENSION: "update"},
        lambda one: one.properties("extensions")["autoUpgradeMinorVersion"] is True,
        ("autoUpgradeMinorVersion", "version"),
    ),
    "a role assignment deleted": Edit(
        lambda one: one.delete_role(),
        {f"grafana-viewer-{SOMEBODY}": "create"},
        lambda one: one.has_role(),
    ),
    "the collection rule edited": Edit(
        lambda one: one.in_azure("dataCollectionRules", {"properties": {"dataFlows": []}}),
        {"prometheus-rule": "update"},
        lambda one: as_list(one.properties("dataCollectionRules")["dataFlows"]),
        ("dataFlows",),
    ),
    "the collection rule's association deleted": Edit(
        lambda one: one.delete_in_azure("dataCollectionRuleAssociations"),
        {"prometheus-rule-association": "create"},
        lambda one: one.only("dataCollectionRuleAssociations"),
    ),
    "the GPU pool's taints": Edit(
        lambda one: one.in_azure("agentPools", {"properties": {"nodeTaints": ["a=b:NoSchedule"]}}),
        {"gpu-pool-pool": "update"},
        lambda one: one.properties("agentPools")["nodeTaints"] != ["a=b:NoSchedule"],
        ("nodeTaints",),
    ),
}


@pytest.mark.parametrize("edit", [pytest.param(row, id=name) for name, row in EDITS.items()])
def test_what_was_changed_by_hand_is_shown_with_refresh_and_put_back_by_up(
    deployed: Deployed, edit: Edit
) -> None:
    sim = deployed.sim
    edit.change(deployed)
    assert sim.preview().ops() == edit.seen_without
    preview = sim.preview("dev", "--refresh")
    assert preview.ops() == edit.ops
    assert {step.diffs for step in preview.changes} == {edit.diffs}
    assert sim.up("dev", "--refresh").ops() == edit.ops
    assert edit.back(deployed)
    assert sim.preview("dev", "--refresh").ops() == {}
