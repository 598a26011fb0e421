"""What people change by hand in the cluster: what preview, refresh and `up` show, and put back."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from simulator.values import as_object, as_objects, dig
from tests.engine.portal import Portal, portal_of
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import Kubernetes

pytestmark = pytest.mark.engine

SERVICE = "/api/v1/namespaces/gadget/services/pyroscope"
STATEFUL_SET = "/apis/apps/v1/namespaces/gadget/statefulsets/pyroscope"
POD = "/api/v1/namespaces/gadget/pods/pyroscope-0"
VISIBILITY = "service.beta.kubernetes.io/azure-pls-visibility"
REPAIR = "pyroscope-release-repair"
APPROVAL = "private-endpoint-approval"


@dataclass(frozen=True)
class Deployed:
    """The stack while it is up, and a person with kubectl."""

    sim: Simulation
    person: Portal
    kubectl: Kubernetes

    def works(self) -> bool:
        return self.person.health("local-pyroscope").status_code == 200


@pytest.fixture(scope="module")
def deployed(sim: Simulation) -> Iterator[Deployed]:
    sim.up()
    with portal_of(sim) as person:
        yield Deployed(sim, person, Kubernetes(person))


# --- the release ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Edited:
    """What the engine makes of a change by hand."""

    refresh: Outcome
    preview: Outcome
    up: Outcome


def edited(deployed: Deployed) -> Edited:
    return Edited(deployed.sim.refresh(), deployed.sim.preview(), deployed.sim.up())


def test_annotations_and_replicas_of_a_release_are_shown_and_put_back_without_a_restart(
    deployed: Deployed,
) -> None:
    pod = deployed.kubectl.get(POD)
    deployed.kubectl.edit(
        SERVICE, {"metadata": {"annotations": {VISIBILITY: "nobody", "mine": "kept"}}}
    )
    deployed.kubectl.edit(STATEFUL_SET, {"spec": {"replicas": 2}})
    found = edited(deployed)
    assert "pyroscope-release" not in found.refresh.ops(), "Helm's own record has not changed"
    assert found.preview.ops() == {REPAIR: "create"}
    said = "\n".join(found.preview.diagnostics)
    assert (
        f"Service gadget/pyroscope was changed by hand: metadata.annotations.{VISIBILITY}" in said
    )
    assert "StatefulSet gadget/pyroscope was changed by hand: spec.replicas" in said
    assert "restarts the server" not in said
    assert found.up.ops() == found.preview.ops()
    annotations = as_object(dig(deployed.kubectl.get(SERVICE), "metadata", "annotations"))
    assert (annotations[VISIBILITY], annotations["mine"]) == ("*", "kept")
    assert dig(deployed.kubectl.get(STATEFUL_SET), "spec", "replicas") == 1
    assert dig(deployed.kubectl.get(POD), "metadata", "uid") == dig(pod, "metadata", "uid")
    assert deployed.sim.preview().ops() == {}


def test_what_the_pods_are_made_of_is_put_back_and_the_preview_says_what_the_restart_loses(
    deployed: Deployed,
) -> None:
    containers = dig(deployed.kubectl.get(STATEFUL_SET), "spec", "template", "spec", "containers")
    other = [{**one, "image": "grafana/pyroscope:1.12.0"} for one in as_objects(containers)]
    deployed.kubectl.edit(STATEFUL_SET, {"spec": {"template": {"spec": {"containers": other}}}})
    found = edited(deployed)
    assert found.preview.ops() == {REPAIR: "update"}
    (said,) = found.preview.diagnostics
    assert "spec.template.spec.containers[0].image" in said
    assert "restarts the server: the profiles in its pod are lost" in said
    assert found.up.ops() == found.preview.ops()
    assert (
        dig(deployed.kubectl.get(STATEFUL_SET), "spec", "template", "spec", "containers")
        == containers
    )


def test_a_service_that_was_deleted_comes_back_with_its_link_and_grafanas_connection(
    deployed: Deployed,
) -> None:
    deployed.kubectl.delete(SERVICE)
    deployed.sim.azure.control("POST", "advance", {"seconds": 300})
    found = edited(deployed)
    assert found.preview.ops().keys() >= {REPAIR, APPROVAL}
    assert "was deleted by hand" in "\n".join(found.preview.diagnostics)
    assert found.up.ops()[REPAIR] == "update"
    assert deployed.works()
    assert deployed.sim.preview().ops() == {}
