"""The simulated clusters: objects, Helm releases, and what the cloud controller makes of
Services."""

import pytest

from simulator.seed import SUBSCRIPTION_ID
from simulator.values import JsonObject, as_object, as_text, bury, clone_object, dig, text_map
from tests.simulator.azure import (
    CLUSTER,
    EXTENSION,
    NODE_GROUP,
    PLS,
    Azure,
    Kubernetes,
    pyroscope_values,
)

PREFIX = "service.beta.kubernetes.io/azure-pls-"


@pytest.fixture
def kubernetes(azure: Azure) -> Kubernetes:
    cluster = Kubernetes(azure)
    cluster.make_namespace()
    return cluster


def with_value(value: object, *path: str) -> JsonObject:
    values = clone_object(pyroscope_values())
    bury(values, value, *path)
    return values


# --- objects -------------------------------------------------------------------------------------


def test_a_namespace_that_exists_cannot_be_created_again(kubernetes: Kubernetes) -> None:
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gadget"}}
    assert kubernetes.call("POST", "/api/v1/namespaces", manifest).status_code == 409


def test_without_the_clusters_token_nothing_is_answered(azure: Azure) -> None:
    cluster = Kubernetes(azure)
    cluster.token = azure.server.token()
    assert cluster.call("GET", "/api/v1/namespaces").status_code == 401


def test_an_unknown_resource_is_not_found(kubernetes: Kubernetes) -> None:
    path = "/apis/batch/v1/namespaces/gadget/jobs"
    assert kubernetes.call("POST", path, {"kind": "Job"}).status_code == 404


def test_an_annotation_that_is_no_string_is_refused(kubernetes: Kubernetes) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "annotations": {"b": True}},
    }
    path = "/api/v1/namespaces/gadget/configmaps"
    assert kubernetes.call("POST", path, manifest).status_code == 400


def test_a_namespace_is_gone_only_when_its_content_is(azure: Azure, kubernetes: Kubernetes) -> None:
    kubernetes.release()
    azure.make_endpoint()
    assert kubernetes.call("DELETE", "/api/v1/namespaces/gadget").status_code == 200
    held = kubernetes.call("GET", "/api/v1/namespaces/gadget").json()
    assert held["status"]["phase"] == "Terminating"
    service = kubernetes.service()
    assert dig(service, "metadata", "finalizers") == ["service.kubernetes.io/load-balancer-cleanup"]


def test_a_namespace_deleted_before_its_extension_is_stuck_with_it(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    azure.install_agent()
    kubernetes.call("DELETE", "/api/v1/namespaces/gadget")
    assert kubernetes.call("GET", "/api/v1/namespaces/gadget").status_code == 200
    azure.call("DELETE", EXTENSION)
    left = azure.settled(EXTENSION)
    assert dig(left, "properties", "provisioningState") == "Failed"
    assert kubernetes.call("GET", "/api/v1/namespaces/gadget").status_code == 200


# --- releases ------------------------------------------------------------------------------------


def test_the_release_renders_the_charts_objects(kubernetes: Kubernetes) -> None:
    release = kubernetes.release()
    assert release["status"] == "deployed"
    assert release["appVersion"] == "1.14.1"
    assert sorted(str(item) for item in as_list_of(release["resources"])) == [
        "apps/v1/StatefulSet/gadget/pyroscope",
        "policy/v1/PodDisruptionBudget/gadget/pyroscope",
        "v1/ConfigMap/gadget/pyroscope-config",
        "v1/ConfigMap/gadget/pyroscope-overrides-config",
        "v1/Service/gadget/pyroscope",
        "v1/Service/gadget/pyroscope-headless",
        "v1/Service/gadget/pyroscope-memberlist",
        "v1/ServiceAccount/gadget/pyroscope",
    ]


def as_list_of(value: object) -> list[object]:
    assert isinstance(value, list)
    return value  # pyright: ignore[reportUnknownVariableType]


def test_the_services_annotations_arrive_byte_for_byte(kubernetes: Kubernetes) -> None:
    kubernetes.release()
    shown = text_map(dig(kubernetes.service(), "metadata", "annotations"))
    asked = text_map(dig(pyroscope_values(), "pyroscope", "service", "annotations"))
    assert {key: value for key, value in shown.items() if key in asked} == asked


def test_a_release_needs_its_namespace(azure: Azure) -> None:
    refused = Kubernetes(azure).release()
    assert refused["code"] == 404
    assert 'namespaces "gadget" not found' in as_text(refused["message"])


def test_a_name_in_use_is_refused_also_after_a_failed_install(kubernetes: Kubernetes) -> None:
    bad = with_value(True, "pyroscope", "structuredConfig", "retention_enabled")
    failed = kubernetes.release(bad)
    assert failed["status"] == "failed"
    assert "retention_enabled not found" in as_text(failed["message"])
    again = kubernetes.release()
    assert again["message"] == "cannot re-use a name that is still in use"
    assert kubernetes.uninstall() == {}
    assert kubernetes.release()["status"] == "deployed"


def test_an_unknown_chart_value_changes_nothing(kubernetes: Kubernetes) -> None:
    assert kubernetes.release(with_value("x", "pyroscope", "podLabels"))["status"] == "deployed"


def test_an_annotation_that_is_a_boolean_fails_the_release(kubernetes: Kubernetes) -> None:
    failed = kubernetes.release(pyroscope_values(pls_create=True))
    assert failed["status"] == "failed"
    assert "cannot unmarshal bool" in as_text(failed["message"])


@pytest.mark.parametrize(
    ("chart", "version"),
    [("oci://ghcr.io/grafana/helm-charts/pyroscope", "9.9.9"), ("oci://example.org/x", "1.15.0")],
)
def test_an_unknown_chart_or_version_is_not_found(
    kubernetes: Kubernetes, chart: str, version: str
) -> None:
    assert kubernetes.release(chart=chart, version=version)["code"] == 404


def test_with_tainted_pools_only_the_pod_stays_pending(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    path = f"{CLUSTER}/agentPools/system"
    properties = {
        "count": 2,
        "vmSize": "Standard_D4s_v5",
        "mode": "System",
        "nodeTaints": ["CriticalAddonsOnly=true:NoSchedule"],
    }
    azure.put(path, {"properties": properties})
    failed = kubernetes.release()
    assert failed["status"] == "failed"
    assert "Pending" in as_text(failed["message"])


def test_an_image_that_does_not_exist_fails_the_wait(kubernetes: Kubernetes) -> None:
    failed = kubernetes.release(with_value("0.0.0", "pyroscope", "image", "tag"))
    assert "ImagePullBackOff" in as_text(failed["message"])


def test_a_new_charts_flags_stop_an_old_server(kubernetes: Kubernetes) -> None:
    failed = kubernetes.release(version="2.0.2")
    assert "flag provided but not defined" in as_text(failed["message"])


def test_an_upgrade_may_not_change_the_volume_claims(kubernetes: Kubernetes) -> None:
    kubernetes.release()
    values = with_value({"enabled": True, "size": "50Gi"}, "pyroscope", "persistence")
    refused = kubernetes.release(values, upgrade=True)
    assert refused["code"] == 422
    assert "updates to statefulset spec" in as_text(refused["message"])


def test_an_upgrade_changes_what_may_change(kubernetes: Kubernetes) -> None:
    kubernetes.release()
    changed = kubernetes.release(with_value("1.15.1", "pyroscope", "image", "tag"), upgrade=True)
    assert changed["status"] == "deployed"
    assert changed["revision"] == 2


def test_the_claim_of_a_disk_outlives_the_release(kubernetes: Kubernetes) -> None:
    kubernetes.release(with_value({"enabled": True, "size": "50Gi"}, "pyroscope", "persistence"))
    assert kubernetes.uninstall() == {}
    path = "/api/v1/namespaces/gadget/persistentvolumeclaims/data-pyroscope-0"
    assert kubernetes.call("GET", path).status_code == 200


def test_an_interrupted_upgrade_of_nothing_is_refused(kubernetes: Kubernetes) -> None:
    assert kubernetes.release(upgrade=True)["code"] == 404


# --- the cloud controller -------------------------------------------------------------------------


def test_the_service_has_its_address_when_the_private_link_exists(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    kubernetes.release()
    assert kubernetes.address().startswith("10.224.")
    service = azure.get(PLS)
    assert dig(service, "properties", "provisioningState") == "Succeeded"
    assert as_text(dig(service, "properties", "alias")).endswith(
        ".westeurope.azure.privatelinkservice"
    )
    assert dig(service, "tags", "k8s-azure-owner-service") == "gadget/pyroscope"


def test_without_the_annotation_there_is_an_address_and_no_private_link(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    kubernetes.release(pyroscope_values(pls_create=None))
    assert kubernetes.address()
    assert azure.call("GET", PLS).status_code == 404


def test_annotations_added_later_make_the_link_while_the_address_stays(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    kubernetes.release(pyroscope_values(pls_create=None))
    address = kubernetes.address()
    kubernetes.release(upgrade=True)
    azure.settled(PLS)
    assert kubernetes.address() == address


@pytest.mark.parametrize(
    ("annotations", "reason"),
    [
        ({"pls_adress": "1"}, "unknown private link service annotation"),
        ({"pls_name": "p" * 81}, "InvalidResourceName"),
        ({"pls_name": "a b"}, "InvalidResourceName"),
        ({"pls_ip_configuration_ip_address_count": "9"}, "not a number from 1 to 8"),
        ({"pls_ip_configuration_ip_address": "10.0.0.1 10.0.0.2"}, "more than"),
        ({"load_balancer_internal": "false"}, "internal load balancer"),
    ],
)
def test_bad_annotations_are_refused_in_an_event_and_the_release_fails(
    azure: Azure, kubernetes: Kubernetes, annotations: dict[str, object], reason: str
) -> None:
    failed = kubernetes.release(pyroscope_values(**annotations))
    assert failed["status"] == "failed"
    assert any(reason in item for item in kubernetes.events()), kubernetes.events()
    assert azure.call("GET", PLS).status_code == 404


def test_the_name_of_a_private_link_never_changes(azure: Azure, kubernetes: Kubernetes) -> None:
    kubernetes.release()
    kubernetes.release(pyroscope_values(pls_name="another"), upgrade=True)
    assert any("cannot change existing name" in item for item in kubernetes.events())
    assert azure.call("GET", PLS).status_code == 200


def test_a_name_that_another_service_uses_is_refused(azure: Azure, kubernetes: Kubernetes) -> None:
    kubernetes.release()
    failed = kubernetes.release(name="pyroscope2")
    assert failed["status"] == "failed"
    assert any("in use by service gadget/pyroscope" in item for item in kubernetes.events())


def test_switching_the_annotation_off_leaves_the_private_link(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    kubernetes.release()
    kubernetes.release(pyroscope_values(pls_create="false"), upgrade=True)
    assert azure.call("GET", PLS).status_code == 200
    assert kubernetes.uninstall() == {}
    assert azure.call("GET", PLS).status_code == 404


def test_another_group_needs_rights_of_the_clusters_identity(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    values = pyroscope_values(pls_resource_group="rg-dev")
    failed = kubernetes.release(values)
    assert failed["status"] == "failed"
    assert any("AuthorizationFailed" in item for item in kubernetes.events())

    identity = dig(azure.get(CLUSTER), "identity", "principalId")
    role = "4d97b98b-1d4f-4787-a291-c67834d212e7"
    scope = f"/subscriptions/{SUBSCRIPTION_ID}/resourceGroups/rg-dev"
    name = "aaaaaaaa-0000-4000-8000-000000000001"
    definitions = f"{scope}/providers/Microsoft.Authorization/roleDefinitions"
    properties = {
        "roleDefinitionId": f"{definitions}/{role}",
        "principalId": identity,
        "principalType": "ServicePrincipal",
    }
    azure.put(
        f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}",
        {"properties": properties},
    )
    assert kubernetes.release(values, upgrade=True)["status"] == "deployed"
    own = f"{scope}/providers/Microsoft.Network/privateLinkServices/pyroscope-pls"
    assert azure.call("GET", own).status_code == 200
    assert kubernetes.uninstall() == {}
    assert azure.call("GET", own).status_code == 404


def test_the_private_link_is_gone_with_the_release(azure: Azure, kubernetes: Kubernetes) -> None:
    before = azure.server.inspect()
    kubernetes.release()
    assert kubernetes.uninstall() == {}
    after = azure.server.inspect()
    assert after["resources"] == before["resources"]
    assert after["kubernetes"] == before["kubernetes"]


def test_a_cluster_with_a_connected_link_does_not_go(azure: Azure, kubernetes: Kubernetes) -> None:
    kubernetes.release()
    azure.make_endpoint()
    assert azure.call("DELETE", CLUSTER).status_code == 202
    assert dig(azure.settled(CLUSTER), "properties", "provisioningState") == "Failed"
    assert azure.call("GET", NODE_GROUP).status_code == 200


def observed(azure: Azure, manifest: object) -> JsonObject:
    (outcome,) = as_list_of(azure.server.control("POST", "services/aks-dev", [manifest]))
    return as_object(outcome)


def test_a_real_clusters_services_may_be_handed_over(azure: Azure) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "pyroscope",
            "namespace": "gadget",
            "annotations": as_object(
                dig(pyroscope_values(), "pyroscope", "service", "annotations")
            ),
        },
        "spec": {"type": "LoadBalancer", "ports": [{"port": 4040}]},
    }
    outcome: JsonObject = {}
    for _ in range(3):
        outcome = observed(azure, manifest)
    assert as_text(outcome["address"]).startswith("10.224.")
    assert outcome["finalizer"] is True
    assert azure.call("GET", PLS).status_code == 200
    bury(as_object(manifest), "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
    for _ in range(2):
        outcome = observed(azure, manifest)
    assert outcome["finalizer"] is False
    assert azure.call("GET", PLS).status_code == 404
