"""What a change of one setting does to a deployed stack: nodes, agent, Pyroscope, private link.

The changes are made one upon the other on one stack, so each row also shows that the one before
left nothing to do. What a row does not name must not be touched.
"""

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text, dig, texts
from tests.engine.changes import STACK, Change, apply, check, order, touched
from tests.engine.portal import portal_of
from tests.engine.simulation import Simulation
from tests.simulator.azure import CLUSTER, Kubernetes

pytestmark = pytest.mark.engine

RELEASE = "pyroscope-release"
GUARD = "pyroscope-private-link-guard"
READY = "pyroscope-private-link-ready"
ENDPOINT = "private-endpoint-endpoint"
APPROVAL = "private-endpoint-approval"
SOURCE = "data-sources-pyroscope"
AGENT = "inspektor-gadget-extension"
POOL = "gpu-pool-pool"
DEVICE_PLUGIN = "gpu-pool-device-plugin-daemon-set"


@pytest.fixture(scope="module")
def dev(sim: Simulation) -> Simulation:
    """The stack, deployed."""
    sim.up(STACK)
    return sim


CHANGES = {
    "another image tag updates the release": Change(
        {"pyroscope.imageTag": "1.15.1"}, {RELEASE: "update"}
    ),
    "a chart value updates the release": Change(
        {"pyroscope.values": {"pyroscope": {"extraLabels": {"team": "ml"}}}}, {RELEASE: "update"}
    ),
    "resources update the release": Change(
        {"pyroscope.resources": {"requests": {"memory": "2Gi"}}}, {RELEASE: "update"}
    ),
    "a host name of the private link updates the release": Change(
        {"pyroscope.privateLink.fqdns": ["pyroscope.example.org"]}, {RELEASE: "update"}
    ),
    "a setting of the agent updates the extension": Change(
        {"inspektorGadget.settings": {"inspektor-gadget.config.daemonLogLevel": "debug"}},
        {AGENT: "update", "inspektor-gadget-settings": "update"},
    ),
    "another release train updates the extension": Change(
        {"inspektorGadget.releaseTrain": "stable"}, {AGENT: "update"}
    ),
    "a pinned version updates the extension": Change(
        {"inspektorGadget.version": "0.50.1", "inspektorGadget.autoUpgrade": False},
        {AGENT: "update"},
    ),
    "no metrics from the agent updates the extension": Change(
        {"inspektorGadget.azureMonitor": "off"}, {AGENT: "update"}
    ),
    "another number of nodes updates the pool": Change({"gpuPool.count": 2}, {POOL: "update"}),
    "another taint updates the pool, and what tolerates it": Change(
        {"gpuPool.taints": ["gpu=yes:NoSchedule"]}, {POOL: "update", DEVICE_PLUGIN: "update"}
    ),
    "another size of the nodes replaces the pool alone": Change(
        {"gpuPool.vmSize": "Standard_NC48ads_A100_v4"}, {POOL: "replace"}
    ),
    "no device plugin deletes it": Change(
        {"gpuPool.devicePlugin": False}, {DEVICE_PLUGIN: "delete"}
    ),
    "tags are put on whatever has tags": Change(
        {"azure.tags": {"team": "ml"}},
        {POOL: "update", "prometheus-endpoint": "update", "prometheus-rule": "update"},
    ),
    "without a GPU pool the rest stays": Change({"gpuPool.enabled": False}, {POOL: "delete"}),
}


@pytest.mark.parametrize("change", [pytest.param(row, id=name) for name, row in CHANGES.items()])
def test_a_change_touches_what_depends_on_it_and_nothing_else(
    dev: Simulation, change: Change
) -> None:
    check(dev, change)


# --- the private link --------------------------------------------------------------------------


def test_another_name_of_the_private_link_takes_its_users_down_and_up_again(
    dev: Simulation,
) -> None:
    """Source, approval, endpoint, wait, release, guard; then the same way back."""
    chain = [SOURCE, APPROVAL, ENDPOINT, READY, RELEASE, GUARD]
    outcome = apply(dev, {"pyroscope.privateLink.name": "other-pls"})
    assert touched(outcome) == dict.fromkeys(chain, "replace")
    assert order(outcome) == [f"- {name}" for name in chain] + [
        f"+ {name}" for name in reversed(chain)
    ]
    links = [key for key in dev.resources() if "/privatelinkservices/" in key.lower()]
    names = {key.split("/")[8] for key in links}
    assert names == {"other-pls"}, "the old one must be gone"


def test_another_name_of_the_endpoint_leaves_the_private_link_alone(dev: Simulation) -> None:
    chain = [SOURCE, APPROVAL, ENDPOINT]
    outcome = apply(dev, {"grafana.privateEndpoint.name": "other-mpe"})
    # The wait is told whose connection is the stack's own.
    assert touched(outcome) == {**dict.fromkeys(chain, "replace"), READY: "update"}
    assert order(outcome) == [f"- {name}" for name in chain] + [
        f"+ {name}" for name in reversed(chain)
    ]
    source = _pyroscope_source(dev)
    address = dig(dev.outputs(), "privateEndpoint", "privateIp")
    assert source["url"] == f"http://{address}:4040"


def _pyroscope_source(sim: Simulation) -> JsonObject:
    found = as_objects(dig(sim.inspect(), "grafana", "grafana-dev", "dataSources"))
    return next(item for item in found if item["uid"] == "local-pyroscope")


# --- storage -----------------------------------------------------------------------------------


def test_a_disk_replaces_the_release_which_is_deleted_first(dev: Simulation) -> None:
    """A StatefulSet's volumes are fixed; the private link goes with the Service, and comes back."""
    chain = [SOURCE, APPROVAL, ENDPOINT, READY, RELEASE]
    outcome = apply(dev, {"pyroscope.storage": {"disk": {"size": "100Gi"}}})
    assert touched(outcome) == dict.fromkeys(chain, "replace")
    assert order(outcome) == [f"- {name}" for name in chain] + [
        f"+ {name}" for name in reversed(chain)
    ]


def claimed(sim: Simulation) -> str:
    """The size of the profiles' claim."""
    path = "/api/v1/namespaces/gadget/persistentvolumeclaims/data-pyroscope-0"
    with portal_of(sim) as person:
        found = as_object(Kubernetes(person).call("GET", path).json())
    return as_text(dig(found, "spec", "resources", "requests", "storage"))


def test_a_disk_grows_in_place_and_nothing_is_replaced(dev: Simulation) -> None:
    assert claimed(dev) == "100Gi"
    outcome = apply(dev, {"pyroscope.storage": {"disk": {"size": "200Gi"}}})
    assert touched(outcome) == {"pyroscope-disk": "create"}
    assert claimed(dev) == "200Gi"
    again = apply(dev, {"pyroscope.storage": {"disk": {"size": "300Gi"}}})
    assert touched(again) == {"pyroscope-disk": "update"}
    assert claimed(dev) == "300Gi"
    assert touched(dev.up(STACK)) == {}


def test_a_disk_that_would_shrink_is_refused_with_the_size_it_has(dev: Simulation) -> None:
    for smaller in ("100Gi", "250Gi"):
        dev.stack_file(STACK, {"pyroscope.storage": {"disk": {"size": smaller}}})
        refused = dev.preview(STACK, check=False)
        assert not refused.ok
        assert "at least 300Gi, which the disk has" in refused.output
        assert refused.changes == []


def test_another_storage_class_is_said_to_have_no_effect_and_replaces_nothing(
    dev: Simulation,
) -> None:
    disk = {"size": "300Gi", "storageClassName": "managed-csi-premium"}
    outcome = apply(dev, {"pyroscope.storage": {"disk": disk}})
    assert touched(outcome) == {}
    assert any("Kubernetes moves no claim to another class" in one for one in outcome.diagnostics)
    apply(dev, {"pyroscope.storage": {"disk": {"size": "300Gi"}}})


# --- the namespace -----------------------------------------------------------------------------


def test_a_namespace_that_is_given_up_stays_with_all_that_is_in_it(dev: Simulation) -> None:
    kept = {"cluster-leftovers": "update", "inspektor-gadget-namespace-protection": "update"}
    assert touched(apply(dev, {"cluster.createNamespace": False})) == kept
    assert "gadget" in texts(dig(dev.inspect(), "kubernetes", CLUSTER.lower(), "namespaces"))
    assert touched(dev.up(STACK)) == {}


# --- nodes -------------------------------------------------------------------------------------


@pytest.fixture
def with_pool(dev: Simulation) -> Simulation:
    """The stack with a pool of two nodes, whatever the rows above made of it."""
    dev.stack_file(STACK, {"gpuPool": {"count": 2}})
    dev.up(STACK)
    return dev


@pytest.mark.handles("autoscaler-without-count")
def test_the_autoscaler_is_given_limits_around_the_nodes_there_are(with_pool: Simulation) -> None:
    """The pool keeps its number of nodes, and the autoscaler goes on from there."""
    for minimum, maximum in ((0, 3), (3, 4), (0, 2)):
        limits = {"min": minimum, "max": maximum}
        outcome = apply(with_pool, {"gpuPool.count": None, "gpuPool.autoscaling": limits})
        assert touched(outcome) == {POOL: "update"}
        assert _pool(with_pool)["count"] == 2
    assert touched(with_pool.up(STACK)) == {}


@pytest.mark.handles("spot-taint")
def test_spot_nodes_keep_the_taint_that_azure_puts_on_them(with_pool: Simulation) -> None:
    outcome = apply(
        with_pool,
        {
            "gpuPool.spot": {},
            "gpuPool.count": None,
            "gpuPool.autoscaling": {"min": 0, "max": 1},
        },
    )
    assert touched(outcome) == {POOL: "replace", DEVICE_PLUGIN: "update"}
    assert order(outcome) == [f"- {POOL}", f"+ {POOL}"]
    spot = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"
    assert spot in texts(_pool(with_pool)["nodeTaints"])
    assert touched(with_pool.up(STACK)) == {}
    more = apply(with_pool, {"gpuPool.autoscaling": {"min": 0, "max": 2}})
    assert touched(more) == {POOL: "update"}
    assert "nodeTaints" not in more.step(POOL).diffs
    assert spot in texts(_pool(with_pool)["nodeTaints"])


def _pool(sim: Simulation) -> JsonObject:
    (pool,) = [
        body for key, body in sim.resources().items() if as_text(key).endswith("/agentPools/gpu")
    ]
    return as_object(pool["properties"])


def test_nothing_is_left_to_do_after_all_the_changes(dev: Simulation) -> None:
    dev.refresh(STACK)
    assert touched(dev.up(STACK)) == {}
