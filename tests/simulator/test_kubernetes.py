"""The simulated clusters: objects, Helm releases, and what the cloud controller makes of
Services."""

import pytest

from simulator.kubernetes import chart as charts
from simulator.kubernetes import claims
from simulator.seed import SUBSCRIPTION_ID
from simulator.values import (
    JsonObject,
    as_object,
    as_objects,
    as_text,
    bury,
    clone_object,
    dig,
    text_map,
)
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
    cluster.token = azure.token()
    assert cluster.call("GET", "/api/v1/namespaces").status_code == 401


def test_an_unknown_resource_is_not_found(kubernetes: Kubernetes) -> None:
    path = "/apis/batch/v1/namespaces/gadget/cronjobs"
    assert kubernetes.call("POST", path, {"kind": "CronJob"}).status_code == 404


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
    # Slow enough to see the cloud controller delete the connection, and then the private link.
    azure.settings(latency=100.0)
    assert kubernetes.call("DELETE", "/api/v1/namespaces/gadget").status_code == 200
    held = kubernetes.call("GET", "/api/v1/namespaces/gadget").json()
    assert held["status"]["phase"] == "Terminating"
    service = kubernetes.service()
    assert dig(service, "metadata", "finalizers") == ["service.kubernetes.io/load-balancer-cleanup"]
    azure.settings(latency=0.0)
    for _ in range(100):
        if kubernetes.call("GET", "/api/v1/namespaces/gadget").status_code == 404:
            break
    assert azure.call("GET", PLS).status_code == 404
    assert kubernetes.call("GET", "/api/v1/namespaces/gadget").status_code == 404


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


def test_a_helm_that_was_cut_off_leaves_a_record_that_refuses_every_other(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    kubernetes.release()
    rule = {
        "method": "PUT",
        "path": ".*/releases/.*",
        "then": {"operation": {"status": "Canceled"}},
    }
    azure.settings(faults=[rule])
    body = {"chart": "oci://ghcr.io/grafana/helm-charts/pyroscope", "version": "1.15.0"}
    path = "/releases/gadget/pyroscope"
    kubernetes.call("PUT", f"{path}?upgrade=true", {**body, "values": pyroscope_values()})
    azure.settings(faults=[])
    assert kubernetes.call("GET", path).json()["status"] == "pending-upgrade"
    assert "another operation" in as_text(kubernetes.release(upgrade=True)["message"])
    record = "/api/v1/namespaces/gadget/secrets/sh.helm.release.v1.pyroscope.v2"
    labels = as_object(dig(kubernetes.call("GET", record).json(), "metadata", "labels"))
    assert labels["status"] == "pending-upgrade"
    other: JsonObject = {"preconditions": {"uid": "another"}}
    assert kubernetes.call("DELETE", record, other).status_code == 409
    assert kubernetes.call("DELETE", record).status_code == 200
    found = as_object(kubernetes.call("GET", path).json())
    assert (found["status"], found["revision"]) == ("deployed", 1)


# --- pods -----------------------------------------------------------------------------------------

PODS = "/api/v1/namespaces/gadget/pods"


def pods(kubernetes: Kubernetes) -> dict[str, JsonObject]:
    """The pods of the namespace by name."""
    items = as_objects(dig(kubernetes.call("GET", PODS).json(), "items"))
    return {as_text(dig(item, "metadata", "name")): item for item in items}


def conditions(pod: JsonObject) -> dict[str, JsonObject]:
    return {as_text(item["type"]): item for item in as_objects(dig(pod, "status", "conditions"))}


def is_ready(pod: JsonObject) -> bool:
    return dig(pod, "status", "phase") == "Running" and conditions(pod)["Ready"]["status"] == "True"


def apps(kind: str, **spec: object) -> JsonObject:
    """A StatefulSet, Deployment or DaemonSet named ``store``."""
    template = {
        "metadata": {"labels": {"app": "store"}},
        "spec": {"containers": [{"name": "store", "image": "example.com/store:1"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "store"},
        "spec": {"selector": {"matchLabels": {"app": "store"}}, "template": template, **spec},
    }


def path_of(kind: str) -> str:
    return f"/apis/apps/v1/namespaces/gadget/{kind.lower()}s"


MERGE = {"Content-Type": "application/merge-patch+json"}


def test_an_update_of_the_extension_leaves_its_daemon_set_as_the_installation_made_it(
    azure: Azure, kubernetes: Kubernetes
) -> None:
    path = "/apis/apps/v1/namespaces/gadget/daemonsets/gadget"
    azure.install_agent()
    first = dig(kubernetes.get(path), "spec", "template")
    azure.install_agent()
    assert dig(kubernetes.get(path), "spec", "template") == first


def test_pyroscope_and_the_agent_have_pods_that_run(azure: Azure, kubernetes: Kubernetes) -> None:
    kubernetes.release()
    azure.install_agent()
    found = pods(kubernetes)
    assert all(map(is_ready, found.values()))
    agents = [pod for pod in found.values() if dig(pod, "metadata", "labels", "k8s-app")]
    assert len(agents) == 2  # the system pool's nodes
    assert len(found) == 3
    labels = text_map(dig(found["pyroscope-0"], "metadata", "labels"))
    assert labels["app.kubernetes.io/name"] == "pyroscope"
    (container,) = as_objects(dig(found["pyroscope-0"], "spec", "containers"))
    assert container["name"] == "pyroscope"


@pytest.mark.parametrize("kind", ["StatefulSet", "Deployment", "DaemonSet"])
def test_a_workloads_pods_name_it_as_their_owner(kubernetes: Kubernetes, kind: str) -> None:
    made = kubernetes.call("POST", path_of(kind), apps(kind)).json()
    found = pods(kubernetes)
    assert found
    for name, pod in found.items():
        assert name.startswith("store-")
        (owner,) = as_objects(dig(pod, "metadata", "ownerReferences"))
        assert (owner["kind"], owner["name"], owner["controller"]) == (kind, "store", True)
        assert owner["uid"] == dig(made, "metadata", "uid")
    kubernetes.call("DELETE", f"{path_of(kind)}/store")
    assert pods(kubernetes) == {}


@pytest.mark.parametrize("kind", ["StatefulSet", "Deployment"])
def test_there_are_as_many_pods_as_replicas(kubernetes: Kubernetes, kind: str) -> None:
    kubernetes.call("POST", path_of(kind), apps(kind, replicas=3))
    before = sorted(pods(kubernetes))
    assert len(before) == 3
    kubernetes.call("PATCH", f"{path_of(kind)}/store", {"spec": {"replicas": 1}}, **MERGE)
    assert sorted(pods(kubernetes)) == before[:1]
    kubernetes.call("PATCH", f"{path_of(kind)}/store", {"spec": {"replicas": 0}}, **MERGE)
    assert pods(kubernetes) == {}


@pytest.mark.parametrize("kind", ["StatefulSet", "Deployment", "DaemonSet"])
def test_only_another_template_makes_other_pods(kubernetes: Kubernetes, kind: str) -> None:
    def uids() -> set[str]:
        return {as_text(dig(pod, "metadata", "uid")) for pod in pods(kubernetes).values()}

    kubernetes.call("POST", path_of(kind), apps(kind))
    before = uids()
    labels = {"metadata": {"labels": {"more": "1"}}}
    kubernetes.call("PATCH", f"{path_of(kind)}/store", labels, **MERGE)
    assert uids() == before
    kubernetes.call("PATCH", f"{path_of(kind)}/store", {"spec": {"template": labels}}, **MERGE)
    assert len(uids()) == len(before)
    assert not uids() & before
    for pod in pods(kubernetes).values():
        assert dig(pod, "metadata", "labels", "more") == "1"


def test_the_pod_of_a_disk_mounts_its_claim(kubernetes: Kubernetes) -> None:
    kubernetes.release(with_value({"enabled": True, "size": "50Gi"}, "pyroscope", "persistence"))
    volumes = as_objects(dig(pods(kubernetes)["pyroscope-0"], "spec", "volumes"))
    assert {"claimName": "data-pyroscope-0"} in [
        volume.get("persistentVolumeClaim") for volume in volumes
    ]


def test_a_pod_that_no_node_takes_says_why(kubernetes: Kubernetes) -> None:
    values = with_value({"no": "such"}, "pyroscope", "nodeSelector")
    assert kubernetes.release(values)["status"] == "failed"
    pod = pods(kubernetes)["pyroscope-0"]
    assert dig(pod, "status", "phase") == "Pending"
    scheduled = conditions(pod)["PodScheduled"]
    assert (scheduled["status"], scheduled["reason"]) == ("False", "Unschedulable")
    assert "node selectors" in as_text(scheduled["message"])
    kubernetes.release(upgrade=True)
    assert is_ready(pods(kubernetes)["pyroscope-0"])


def test_a_pod_whose_image_does_not_exist_says_so(kubernetes: Kubernetes) -> None:
    kubernetes.release(with_value("0.0.0", "pyroscope", "image", "tag"))
    pod = pods(kubernetes)["pyroscope-0"]
    assert dig(pod, "status", "phase") == "Pending"
    assert conditions(pod)["Ready"]["status"] == "False"
    (container,) = as_objects(dig(pod, "status", "containerStatuses"))
    assert dig(container, "state", "waiting", "reason") == "ImagePullBackOff"
    assert container["ready"] is False


def test_pods_go_with_the_release_and_the_extension(azure: Azure, kubernetes: Kubernetes) -> None:
    kubernetes.release()
    azure.install_agent()
    kubernetes.uninstall()
    assert all(name.startswith("gadget-") for name in pods(kubernetes))
    azure.delete(EXTENSION)
    assert pods(kubernetes) == {}


def test_pods_do_not_keep_their_namespace(kubernetes: Kubernetes) -> None:
    kubernetes.call("POST", path_of("StatefulSet"), apps("StatefulSet"))
    assert pods(kubernetes)
    kubernetes.call("DELETE", "/api/v1/namespaces/gadget")
    assert kubernetes.call("GET", "/api/v1/namespaces/gadget").status_code == 404
    assert pods(kubernetes) == {}


def test_a_deleted_pod_comes_back_and_one_of_nobody_is_left_alone(kubernetes: Kubernetes) -> None:
    own: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own"}, "spec": {}}
    kubernetes.call("POST", PODS, own)
    kubernetes.call("POST", path_of("StatefulSet"), apps("StatefulSet"))
    assert kubernetes.call("DELETE", f"{PODS}/store-0").status_code == 200
    assert sorted(pods(kubernetes)) == ["own", "store-0"]
    assert "status" not in pods(kubernetes)["own"]


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


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        ({"loadBalancerSku": "basic"}, "needs a Standard load balancer"),
        ({"loadBalancerProfile": {"backendPoolType": "NodeIP"}}, "not of IP addresses"),
    ],
)
def test_a_load_balancer_of_another_kind_has_no_private_link(
    azure: Azure, profile: dict[str, object], reason: str
) -> None:
    cluster = CLUSTER.replace("aks-dev", "aks-odd")
    pools = [{"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D4s_v5"}]
    properties = {"dnsPrefix": "odd", "agentPoolProfiles": pools, "networkProfile": profile}
    azure.put(
        cluster,
        {
            "location": "westeurope",
            "identity": {"type": "SystemAssigned"},
            "properties": {**properties, "kubernetesVersion": "1.33"},
        },
    )
    outcome: JsonObject = {}
    for _ in range(3):
        (found,) = as_list_of(azure.control("POST", "services/aks-odd", [pyroscope_service()]))
        outcome = as_object(found)
    assert reason in str(outcome["events"])
    assert outcome["address"] is None


def pyroscope_service() -> JsonObject:
    annotations = as_object(dig(pyroscope_values(), "pyroscope", "service", "annotations"))
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "pyroscope", "namespace": "gadget", "annotations": annotations},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 4040}]},
    }


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
    before = azure.inspect()
    kubernetes.release()
    assert kubernetes.uninstall() == {}
    after = azure.inspect()
    assert after["resources"] == before["resources"]
    assert after["kubernetes"] == before["kubernetes"]


def test_a_cluster_with_a_connected_link_does_not_go(azure: Azure, kubernetes: Kubernetes) -> None:
    kubernetes.release()
    azure.make_endpoint()
    assert azure.call("DELETE", CLUSTER).status_code == 202
    assert dig(azure.settled(CLUSTER), "properties", "provisioningState") == "Failed"
    assert azure.call("GET", NODE_GROUP).status_code == 200


def observed(azure: Azure, manifest: object) -> JsonObject:
    (outcome,) = as_list_of(azure.control("POST", "services/aks-dev", [manifest]))
    return as_object(outcome)


def test_a_real_clusters_services_may_be_handed_over(azure: Azure) -> None:
    manifest = pyroscope_service()
    outcome: JsonObject = {}
    for _ in range(3):
        outcome = observed(azure, manifest)
    assert as_text(outcome["address"]).startswith("10.224.")
    assert outcome["finalizer"] is True
    assert azure.call("GET", PLS).status_code == 200
    bury(manifest, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
    for _ in range(2):
        outcome = observed(azure, manifest)
    assert outcome["finalizer"] is False
    assert azure.call("GET", PLS).status_code == 404


# --- claims --------------------------------------------------------------------------------------


def _claim_of(size: str, storage_class: str = "") -> JsonObject:
    spec: JsonObject = {"resources": {"requests": {"storage": size}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    return {"metadata": {"name": "data"}, "spec": spec}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (_claim_of("50Gi"), _claim_of("100Gi"), ""),
        (_claim_of("50Gi"), _claim_of("51200Mi"), ""),
        (_claim_of("100Gi"), _claim_of("50Gi"), "can not be less than status.capacity"),
        (_claim_of("50Gi", "local"), _claim_of("60Gi", "local"), "must support resize"),
        (_claim_of("50Gi", "default"), _claim_of("50Gi", "managed-csi"), "spec is immutable"),
    ],
)
def test_a_claim_grows_where_its_class_permits_and_changes_in_nothing_else(
    old: JsonObject, new: JsonObject, reason: str
) -> None:
    refusal = claims.refused(old, new)
    assert (refusal is None) is (reason == "")
    if refusal is not None:
        assert reason in refusal[2]


# --- the public chart ----------------------------------------------------------------------------


def _rendered(values: JsonObject, version: str = "1.15.0") -> dict[str, JsonObject]:
    """The objects of a release by kind and name."""
    chart = charts.Chart("pyroscope", version, charts.VERSIONS.get(version, version))
    objects = charts.render(chart, "pyroscope", "gadget", values)
    return {f"{one['kind']}/{dig(one, 'metadata', 'name')}": one for one in objects}


def _container(values: JsonObject, version: str = "1.15.0") -> JsonObject:
    pod = dig(_rendered(values, version)["StatefulSet/pyroscope"], "spec", "template", "spec")
    return as_objects(as_object(pod)["containers"])[0]


def test_overrides_of_a_tenant_are_a_config_map_that_restarts_no_pod() -> None:
    # The template's checksum is of the configuration alone (deployments-statefulsets.yaml).
    overrides: JsonObject = {"anonymous": {"max_query_length": "32d"}}
    before, after = _rendered({}), _rendered({"pyroscope": {"tenantOverrides": overrides}})
    assert {name for name in before if before[name] != after[name]} == {
        "ConfigMap/pyroscope-overrides-config"
    }
    configured = _rendered(
        {"pyroscope": {"structuredConfig": {"limits": {"max_query_length": "2d"}}}}
    )
    assert configured["StatefulSet/pyroscope"] != before["StatefulSet/pyroscope"]


def test_the_chart_passes_the_flags_and_the_environment_that_the_public_one_passes() -> None:
    container = _container({"alloy": {"enabled": False}})
    assert container["args"] == [
        "-target=all",
        "-self-profiling.disable-push=true",
        "-server.http-listen-port=4040",
        "-memberlist.cluster-label=gadget-pyroscope",
        "-memberlist.join=dns+pyroscope-memberlist.gadget.svc.cluster.local.:7946",
        "-config.file=/etc/pyroscope/config.yaml",
        "-runtime-config.file=/etc/pyroscope/overrides/overrides.yaml",
        "-log.level=debug",
    ]
    assert [one["name"] for one in as_objects(container["env"])] == ["POD_NAME", "NAMESPACE_FQDN"]
    template = dig(_rendered({})["StatefulSet/pyroscope"], "spec", "template", "metadata")
    assert dig(as_object(template), "labels", "name") == "pyroscope"
    annotations = as_object(dig(as_object(template), "annotations"))
    assert annotations["profiles.grafana.com/cpu.scrape"] == "true"
    assert annotations["profiles.grafana.com/service_git_ref"] == "v1.14.1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (104857600.0, "1.048576e+08"),
        (1000000, "1e+06"),
        (999999.0, "999999"),
        (0.25, "0.25"),
        (True, "true"),
        ("104857600", "104857600"),
    ],
)
def test_a_number_on_the_command_line_is_written_as_go_writes_it(value: object, text: str) -> None:
    args = _container({"pyroscope": {"extraArgs": {"a": value}}})["args"]
    assert f"-a={text}" in args  # type: ignore[operator]


def test_the_chart_ignores_what_its_release_does_not_read() -> None:
    values: JsonObject = {
        "global": {"imageRegistry": "registry.example"},
        "pyroscope": {"image": {"digest": "sha256:0"}, "livenessProbe": {"httpGet": {}}},
    }
    assert _container(values)["image"] == "grafana/pyroscope:1.14.1"
    assert _container(values, "1.19.2")["image"] == "registry.example/grafana/pyroscope:1.19.1"
    assert _rendered(values).keys() == _rendered({}).keys()


def test_a_null_takes_a_default_of_the_charts_away() -> None:
    values: JsonObject = {"pyroscope": {"podSecurityContext": {"fsGroup": None}}}
    pod = dig(_rendered(values)["StatefulSet/pyroscope"], "spec", "template", "spec")
    assert "fsGroup" not in as_object(as_object(pod)["securityContext"])


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"structuredConfig": {"limits": {"max_query_lenght": "1d"}}}, "max_query_lenght"),
        ({"config": "limits: {max_query_lenght: 1d}"}, "max_query_lenght"),
        ({"extraArgs": {"no.such": "x"}}, "flag provided but not defined: -no.such"),
        ({"extraArgs": {"pyroscopedb.row-group-target-size": 1342177280.0}}, "parse error"),
        ({"structuredConfig": {"shutdown_delay": "1s", "tenant_settings": {}}}, ""),
        ({"config": "symbolizer: {enabled: true}"}, ""),
    ],
)
def test_a_server_stops_at_what_it_does_not_know_by_whatever_way(
    azure: Azure, values: JsonObject, reason: str
) -> None:
    cluster = Kubernetes(azure)
    cluster.make_namespace()
    given = clone_object(pyroscope_values())
    as_object(given["pyroscope"]).update(values)
    release = cluster.release(given)
    assert reason in as_text(release["message"])
    assert (release["status"] == "deployed") is (reason == "")
