"""Every kind of change to the Helm release, on one deployed stack, one after the other."""

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.portal import portal_of
from tests.engine.simulation import Simulation
from tests.kubernetes.cluster import GADGET, PREFIX, SERVICE, STATEFUL_SET, Cluster, name_of
from tests.simulator.azure import CLUSTER

pytestmark = [pytest.mark.engine, pytest.mark.kubernetes]

CHAIN = [
    "data-sources-pyroscope",
    "private-endpoint-approval",
    "private-endpoint-endpoint",
    "pyroscope-private-link-ready",
    "pyroscope-release",
]
"""What a replaced release takes along, in the order in which it goes."""
REPAIR = "pyroscope-release-repair"
IN_PLACE = {"pyroscope-release": "update", "pyroscope": "update"}


@pytest.fixture(scope="module", autouse=True)
def deployed(real: Simulation) -> None:
    real.up()


def container(cluster: Cluster) -> JsonObject:
    """Pyroscope's, as the API server has it."""
    spec = dig(cluster.get(STATEFUL_SET), "spec", "template", "spec")
    return as_objects(as_object(spec)["containers"])[0]


def revisions(cluster: Cluster) -> list[str]:
    """Helm's records of the release."""
    return [name_of(item) for item in as_objects(cluster.get(f"{GADGET}/secrets")["items"])]


def test_the_services_annotations_are_strings_byte_for_byte(cluster: Cluster) -> None:
    annotations = cluster.annotations()
    name = annotations.pop(f"{PREFIX}pls-name")
    assert as_text(name).startswith("pyroscope-dev-")
    assert annotations == {
        "meta.helm.sh/release-name": "pyroscope",
        "meta.helm.sh/release-namespace": "gadget",
        f"{PREFIX}load-balancer-internal": "true",
        f"{PREFIX}pls-create": "true",
        f"{PREFIX}pls-proxy-protocol": "false",
        f"{PREFIX}pls-visibility": "*",
    }


@pytest.mark.handles("annotation-boolean")
def test_settings_reach_the_objects_of_the_chart_in_place(
    real: Simulation, cluster: Cluster
) -> None:
    annotations = {"example.com/flag": True, "example.com/number": 5}
    real.stack_file(
        "dev",
        {
            "pyroscope.imageTag": "1.15.1",
            "pyroscope.resources": {"requests": {"cpu": 1, "memory": "1Gi"}},
            "pyroscope.privateLink": {
                "visibility": ["*"],
                "autoApproval": [
                    "11111111-1111-4111-8111-111111111111",
                    "33333333-3333-4333-8333-333333333333",
                ],
            },
            "pyroscope.values": {
                "pyroscope": {
                    "service": {"annotations": annotations},
                    "structuredConfig": {"limits": {"max_query_length": "2d"}},
                    "topologySpreadConstraints": [
                        {
                            "maxSkew": 1,
                            "topologyKey": "topology.kubernetes.io/zone",
                            "whenUnsatisfiable": "ScheduleAnyway",
                        }
                    ],
                }
            },
        },
    )
    assert real.up().ops() == IN_PLACE
    found = cluster.annotations()
    assert found["example.com/flag"] == "true"
    assert found["example.com/number"] == "5"
    assert found[f"{PREFIX}pls-auto-approval"] == (
        "11111111-1111-4111-8111-111111111111 33333333-3333-4333-8333-333333333333"
    )
    assert container(cluster)["image"] == "grafana/pyroscope:1.15.1"
    assert container(cluster)["resources"] == {"requests": {"cpu": "1", "memory": "1Gi"}}
    pod = as_object(dig(cluster.get(STATEFUL_SET), "spec", "template", "spec"))
    assert as_objects(pod["topologySpreadConstraints"])[0]["maxSkew"] == 1
    assert pod["terminationGracePeriodSeconds"] == 600
    config = as_text(
        dig(cluster.get(f"{GADGET}/configmaps/pyroscope-config"), "data", "config.yaml")
    )
    assert "max_query_length: 2d" in config
    assert "reporting_enabled: false" in config
    assert revisions(cluster) == [f"sh.helm.release.v1.pyroscope.v{n}" for n in (1, 2)]
    assert real.up().ops() == {}


def test_objects_edited_by_hand_are_put_back_and_no_pod_is_restarted_for_it(
    real: Simulation, cluster: Cluster
) -> None:
    by_hand = {f"{PREFIX}pls-visibility": "11111111-1111-4111-8111-111111111111", "mine": "kept"}
    template = dig(cluster.get(STATEFUL_SET), "spec", "template")
    cluster.patch(SERVICE, {"metadata": {"annotations": by_hand}})
    cluster.patch(STATEFUL_SET, {"spec": {"replicas": 2}})
    # Neither Helm nor the provider compares what they rendered with what is there.
    assert real.refresh().ops().keys() <= {"inspektor-gadget-namespace"}
    preview = real.preview()
    said = "\n".join(preview.diagnostics)
    assert f"metadata.annotations.{PREFIX}pls-visibility." in said
    assert "StatefulSet gadget/pyroscope was changed by hand: spec.replicas." in said
    assert preview.ops() == real.up().ops() == {REPAIR: "create"}
    assert cluster.annotations()[f"{PREFIX}pls-visibility"] == "*"
    assert cluster.annotations()["mine"] == "kept"
    assert dig(cluster.get(STATEFUL_SET), "spec", "replicas") == 1
    assert dig(cluster.get(STATEFUL_SET), "spec", "template") == template
    assert real.up().ops() == {}


def test_what_the_api_server_spells_differently_is_no_change_by_hand(
    real: Simulation, cluster: Cluster
) -> None:
    """The release is as rendered: ``cpu: 1`` is ``"1"`` there, and ports have a node's port."""
    spec = as_object(cluster.get(SERVICE)["spec"])
    assert as_objects(spec["ports"])[0]["nodePort"]
    preview = real.preview()
    assert "by hand" not in preview.output
    assert "could not be seen" not in preview.output
    assert preview.ops() == {}


def test_a_deleted_configuration_and_an_edited_port_are_put_back(
    real: Simulation, cluster: Cluster
) -> None:
    before = as_objects(as_object(cluster.get(SERVICE)["spec"])["ports"])
    config = f"{GADGET}/configmaps/pyroscope-config"
    data = cluster.get(config)["data"]
    cluster.delete(config)
    cluster.patch(SERVICE, {"spec": {"ports": [{**before[0], "port": 4041}]}})
    assert real.up().ops() == {REPAIR: "update"}
    assert cluster.get(config)["data"] == data
    assert as_objects(as_object(cluster.get(SERVICE)["spec"])["ports"]) == before
    assert real.up().ops() == {}


def test_the_next_change_of_a_value_puts_everything_back_as_well(
    real: Simulation, cluster: Cluster
) -> None:
    by_hand = {f"{PREFIX}pls-visibility": "11111111-1111-4111-8111-111111111111"}
    cluster.patch(SERVICE, {"metadata": {"annotations": by_hand}})
    real.stack_file("dev", {"pyroscope.imageTag": "1.15.0"})
    assert real.up().ops() == {**IN_PLACE, REPAIR: "update"}
    assert cluster.annotations()[f"{PREFIX}pls-visibility"] == "*"


@pytest.mark.handles("kubeconfig-rotates")
def test_rotated_credentials_replace_nothing_and_are_used(
    real: Simulation, cluster: Cluster
) -> None:
    before = cluster.get(STATEFUL_SET)
    real.control("POST", "credentials/aks-dev")
    real.stack_file("dev", {"pyroscope.resources": None})
    outcome = real.up()
    assert outcome.ops() == IN_PLACE
    assert outcome.step("cluster-kubernetes").op == "update"
    after = cluster.get(STATEFUL_SET)
    assert dig(after, "metadata", "uid") == dig(before, "metadata", "uid")


@pytest.mark.handles("local-accounts-disabled")
def test_entra_id_turned_on_later_replaces_nothing_and_its_tokens_are_used(
    real: Simulation, cluster: Cluster
) -> None:
    with portal_of(real) as azure:
        body = azure.get(CLUSTER)
        properties = {**as_object(body["properties"]), "aadProfile": {"managed": True}}
        properties["disableLocalAccounts"] = True
        azure.put(CLUSTER, {**body, "properties": properties})
    before = cluster.get(STATEFUL_SET)
    real.stack_file("dev", {"pyroscope.values": None})
    # The provider runs `sh operations/run kube-token`, from here on to the end of the stack.
    assert real.up().ops() == IN_PLACE
    after = cluster.get(STATEFUL_SET)
    assert dig(after, "metadata", "uid") == dig(before, "metadata", "uid")
    assert dig(after, "metadata", "generation") != dig(before, "metadata", "generation")


def test_a_disk_replaces_the_release_and_all_that_depends_on_it_in_order(
    real: Simulation, cluster: Cluster
) -> None:
    real.stack_file("dev", {"pyroscope.storage": {"disk": {"size": "60Gi"}}})
    outcome = real.up()
    assert outcome.order("delete-replaced") == CHAIN
    assert outcome.order("create-replacement") == CHAIN[::-1]
    claims = as_objects(cluster.get(f"{GADGET}/persistentvolumeclaims")["items"])
    assert [name_of(claim) for claim in claims] == ["data-pyroscope-0"]
    assert dig(claims[0], "spec", "resources", "requests", "storage") == "60Gi"


def test_another_name_of_the_private_link_replaces_the_chain_in_order(
    real: Simulation, cluster: Cluster
) -> None:
    real.stack_file("dev", {"pyroscope.privateLink": {"name": "renamed"}})
    outcome = real.up()
    assert outcome.order("delete-replaced") == [*CHAIN, "pyroscope-private-link-guard"]
    assert outcome.order("create-replacement") == ["pyroscope-private-link-guard", *CHAIN[::-1]]
    links = [key for key in real.resources() if "/privatelinkservices/" in key.lower()]
    assert [key.rsplit("/", 1)[-1] for key in links] == ["renamed"]
    # The disk outlived both releases.
    claims = as_objects(cluster.get(f"{GADGET}/persistentvolumeclaims")["items"])
    assert [name_of(claim) for claim in claims] == ["data-pyroscope-0"]


@pytest.mark.handles("namespace-before-extension")
def test_destroy_takes_the_namespace_last_with_the_claim_in_it(
    real: Simulation, cluster: Cluster
) -> None:
    gone = real.destroy().order("delete")
    assert gone.index("inspektor-gadget-extension") < gone.index("inspektor-gadget-namespace")
    assert gone.index("pyroscope-private-link-guard") < gone.index("inspektor-gadget-namespace")
    assert cluster.find(GADGET) is None
