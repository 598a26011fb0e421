"""The release of Pyroscope as micro-services, and the agent's Service beside it."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from components.private_link import PrivateLinkArgs
from components.pyroscope_disk import DiskArgs
from components.pyroscope_microservices import ServerComponentArgs, selector
from components.pyroscope_storage import BlobArgs, KeepingArgs
from contract.microservices import SIZES
from infra.settings.published_values import Tree, chart_values
from tests.unit.recording import Recorded
from tests.unit.test_pyroscope import CHARTS, GUARD, LINK_ID, PREFIX, READY, RELEASE, deploy, unread

BLOB = KeepingArgs(blob=BlobArgs(account_name="a", container_name="c", client_id="id"))
COMPONENTS = {
    name.value: ServerComponentArgs(replicas=size.replicas, resources=size.resources)
    for name, size in SIZES.items()
}
SERVICE = "kubernetes:core/v1:Service"
STATEFUL = {"ingester", "store-gateway", "compactor"}
OF_A_COMPONENT = {"kind", "replicaCount"}
"""What the template asks a component for beside the values (``$cfg.kind``)."""


def distributed(**changes: Any) -> Recorded:
    given = {"components": COMPONENTS, "disk": DiskArgs(size="20Gi"), "keeping": BLOB}
    return deploy(**{**given, **changes})


def values(**changes: Any) -> dict[str, Any]:
    return distributed(**changes).only(RELEASE).inputs["values"]


def components(**changes: Any) -> dict[str, dict[str, Any]]:
    return values(**changes)["pyroscope"]["components"]


def ignored(given: Mapping[str, Any], tree: Tree) -> Iterator[str]:
    """What a chart does not read, components included: each may say whatever `pyroscope` may."""
    yield from unread(given, tree)
    of_all = cast("Tree", tree["pyroscope"])
    for name, own in given["pyroscope"].get("components", {}).items():
        for key in unread(own, {**of_all, **dict.fromkeys(OF_A_COMPONENT)}):
            yield f"{name}.{key}"


@pytest.mark.parametrize("chart", CHARTS)
def test_every_value_is_a_path_that_each_chart_reads(chart: str) -> None:
    tree = chart_values(chart)
    assert tree is not None
    link = PrivateLinkArgs(id=LINK_ID, name="pls", visibility=["*"], subnet="links")
    assert not list(ignored(values(private_link=link), tree))
    assert list(ignored({"pyroscope": {"components": {"querier": {"x": 1}}}}, tree)) == [
        "querier.x"
    ]


def test_no_chart_is_asked_for_components_of_its_own() -> None:
    assert "architecture" not in values()


def test_the_one_load_balancer_and_its_private_link_are_the_query_front_ends() -> None:
    found = values()["pyroscope"]
    services = {name: one.get("service", {}) for name, one in found["components"].items()}
    assert [name for name, one in services.items() if one] == ["query-frontend"]
    front = services["query-frontend"]
    assert front["type"] == "LoadBalancer"
    assert front["annotations"][f"{PREFIX}azure-pls-name"] == "pls"
    assert found["service"] == {"type": "ClusterIP", "port": 4040}


def test_annotations_of_the_stack_file_are_on_the_front_end_alone_too() -> None:
    mine = {"service": {"annotations": {"example.com/a": "b", "example.com/n": 5}}}
    found = values(values={"pyroscope": mine})["pyroscope"]
    assert "annotations" not in found["service"]
    annotations = found["components"]["query-frontend"]["service"]["annotations"]
    assert annotations["example.com/a"] == "b"
    assert annotations["example.com/n"] == "5"
    assert annotations[f"{PREFIX}azure-pls-create"] == "true"


def test_ingesters_alone_have_disks_as_nothing_makes_the_claim_of_a_deployment() -> None:
    found = values()["pyroscope"]
    assert "persistence" not in found
    with_disk = [name for name, one in found["components"].items() if "persistence" in one]
    assert with_disk == ["ingester"]
    assert found["components"]["ingester"]["persistence"] == {
        "enabled": True,
        "size": "20Gi",
        "accessModes": ["ReadWriteOnce"],
    }


def test_each_component_has_its_kind_its_size_and_its_place_in_zones_and_nodes() -> None:
    for name, one in components().items():
        assert one["kind"] == ("StatefulSet" if name in STATEFUL else "Deployment")
        assert one["replicaCount"] == COMPONENTS[name].replicas
        assert one["resources"] == COMPONENTS[name].resources
        spread = one["topologySpreadConstraints"]
        assert [each["topologyKey"] for each in spread] == [
            "topology.kubernetes.io/zone",
            "kubernetes.io/hostname",
        ]
        assert all(each["labelSelector"]["matchLabels"] == selector(name) for each in spread)


def test_profiles_are_on_three_ingesters_and_blocks_on_three_store_gateways() -> None:
    arguments = values()["pyroscope"]["extraArgs"]
    assert arguments["distributor.replication-factor"] == "3"
    assert arguments["store-gateway.sharding-ring.replication-factor"] == "3"
    assert arguments["memberlist.cluster-label"] == "gadget-pyroscope-micro-services"
    assert arguments["log.level"] == "info"


def test_what_a_stack_file_says_for_all_components_is_not_overridden_by_defaults() -> None:
    mine: dict[str, object] = {
        "topologySpreadConstraints": [],
        "terminationGracePeriodSeconds": 30,
        "readinessProbe": {"initialDelaySeconds": 5},
    }
    found = values(values={"pyroscope": mine})["pyroscope"]
    assert not any(set(one) & set(mine) for one in found["components"].values())
    assert {key: found[key] for key in mine} == mine


def test_all_sign_in_to_blob_as_the_one_identity() -> None:
    found = values()["pyroscope"]
    assert found["structuredConfig"]["storage"]["backend"] == "azure"
    assert found["serviceAccount"]["annotations"] == {"azure.workload.identity/client-id": "id"}
    assert found["extraLabels"] == {"azure.workload.identity/use": "true"}


def test_the_agents_service_leads_to_the_distributors_and_goes_with_the_release() -> None:
    recorded = distributed(stack_mark="gpuobs gpuobs dev")
    service = recorded.only(SERVICE)
    assert service.inputs["metadata"]["name"] == "pyroscope"
    assert service.inputs["metadata"]["namespace"] == "gadget"
    assert service.inputs["metadata"]["annotations"]["gpuobs/stack"] == "gpuobs gpuobs dev"
    assert service.inputs["spec"]["selector"] == selector("distributor")
    (port,) = service.inputs["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (4040, "http2")
    assert "pyroscope-release" in service.depends_on
    assert service.delete_before_replace
    assert not [one for one in deploy().resources if one.type == SERVICE]


def test_the_chain_is_about_the_front_ends_service_so_that_a_change_of_mode_replaces_it() -> None:
    recorded = distributed()
    for name in (GUARD, READY):
        assert "pyroscope-query-frontend" in recorded.named(name).inputs["stdin"]
    assert recorded.named(GUARD).inputs["triggers"] == [
        LINK_ID,
        "pyroscope-query-frontend",
        "gadget",
    ]
    assert recorded.outputs["pyroscope"]["url"] == "http://pyroscope-query-frontend.gadget.svc:4040"


def test_the_disk_of_every_ingester_grows() -> None:
    four = {**COMPONENTS, "ingester": ServerComponentArgs(replicas=4, resources={})}
    grown = DiskArgs(size="20Gi", grown_to="1Ti")
    recorded = distributed(components=four, disk=grown)
    patches = [one for one in recorded.resources if one.type.endswith("PersistentVolumeClaimPatch")]
    assert [one.inputs["metadata"]["name"] for one in patches] == [
        f"data-pyroscope-ingester-{number}" for number in range(4)
    ]


def test_no_request_or_limit_of_one_server_reaches_the_components() -> None:
    assert "resources" not in values()["pyroscope"]
    for one in components().values():
        assert set(one["resources"]["limits"]) == {"cpu", "memory"}, "policies demand both"
