"""ARM on the wire: errors, versions, long-running operations, and each type's own rules."""

import uuid
from typing import cast

import httpx
import pytest

from simulator.arm import roles
from simulator.seed import CALLER_ID, SUBSCRIPTION_ID
from simulator.values import JsonObject, as_list, as_object, as_objects, as_text, dig
from tests.simulator.azure import (
    CLUSTER,
    ENDPOINT,
    EXTENSION,
    GRAFANA,
    GROUP,
    NODE_GROUP,
    PLS,
    POOL,
    WORKSPACE,
    Azure,
    Kubernetes,
)

SUBSCRIPTION = f"/subscriptions/{SUBSCRIPTION_ID}"
INSIGHTS = f"{GROUP}/providers/Microsoft.Insights"
IDENTITY: JsonObject = {"type": "SystemAssigned"}


# --- ARM itself -----------------------------------------------------------------------------------


def test_a_call_without_a_token_or_with_another_audiences_is_401(azure: Azure) -> None:
    url = f"{CLUSTER}?api-version=2025-09-01"
    assert azure.http.get(url, headers={"Authorization": ""}).status_code == 401
    other = azure.token("ce34e7e5-485f-4d76-964f-b3d2b16d1e4f")
    answer = azure.http.get(url, headers={"Authorization": f"Bearer {other}"})
    assert azure.error(answer) == (401, "InvalidAuthenticationTokenAudience")


@pytest.mark.parametrize(
    ("path", "version", "expected"),
    [
        (CLUSTER, "2019-01-01", (400, "NoRegisteredProviderFound")),
        (
            f"{GROUP}/providers/Microsoft.Quantum/workspaces/a",
            "1",
            (404, "InvalidResourceNamespace"),
        ),
        (f"{GROUP}/providers/Microsoft.Network/virtualHubs/a", "1", (404, "InvalidResourceType")),
        (f"{GRAFANA}x", "2024-10-01", (404, "ResourceNotFound")),
        (
            GRAFANA.replace("rg-dev", "rg-nowhere"),
            "2024-10-01",
            (404, "ResourceGroupNotFound"),
        ),
        ("/nonsense", "1", (404, "InvalidResourceUri")),
    ],
)
def test_what_does_not_exist_is_an_error_of_its_own_kind(
    azure: Azure, path: str, version: str, expected: tuple[int, str]
) -> None:
    answer = azure.call("GET", path, **{"api-version": version})
    assert azure.error(answer) == expected


def test_a_call_without_a_version_is_refused(azure: Azure) -> None:
    assert azure.error(azure.http.get(CLUSTER)) == (400, "MissingApiVersionParameter")


@pytest.mark.parametrize(
    ("path", "versions"),
    [
        (CLUSTER, ("2025-09-01", "2026-08-01")),
        (WORKSPACE, ("2023-04-03",)),
        (GROUP, ("2024-03-01", "2025-04-01")),
    ],
)
def test_a_type_answers_both_of_its_versions_alike(
    azure: Azure, path: str, versions: tuple[str, ...]
) -> None:
    answers = [azure.call("GET", path, **{"api-version": version}) for version in versions]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1


def test_ids_are_found_in_any_case_and_answered_in_the_services_own(azure: Azure) -> None:
    found = azure.get(CLUSTER.upper())
    assert "/resourcegroups/" in as_text(found["id"])
    assert found["type"] == "Microsoft.ContainerService/ManagedClusters"
    assert azure.get(GRAFANA)["type"] == "microsoft.dashboard/grafana"
    assert "/microsoft.monitor/" in as_text(azure.get(WORKSPACE)["id"])


def test_an_unknown_property_is_an_error(azure: Azure) -> None:
    properties = {"count": 1, "vmSize": "Standard_NC24ads_A100_v4", "colour": "red"}
    answer = azure.call("PUT", POOL, {"properties": properties})
    assert azure.error(answer) == (400, "InvalidRequestContent")
    assert "properties.colour" in answer.text


def test_without_a_role_every_call_is_forbidden(azure: Azure) -> None:
    nobody = str(uuid.uuid4())
    azure.settings(principals=[{"id": nobody}], caller=nobody)
    answer = azure.call("GET", CLUSTER)
    assert azure.error(answer) == (403, "AuthorizationFailed")
    assert "Microsoft.ContainerService/managedClusters/read" in answer.text
    assert nobody in answer.text


def test_a_reader_reads_and_writes_nothing(azure: Azure) -> None:
    reader = str(uuid.uuid4())
    azure.settings(principals=[{"id": reader}])
    assign(azure, GROUP, roles.READER, reader)
    azure.settings(caller=reader)
    assert azure.call("GET", CLUSTER).status_code == 200
    assert azure.error(azure.call("PUT", POOL, {"properties": {}})) == (403, "AuthorizationFailed")
    assert azure.call("GET", f"{SUBSCRIPTION}/resourceGroups/rg-prod").status_code == 403


def test_an_unregistered_namespace_is_refused_until_it_is_registered(azure: Azure) -> None:
    azure.settings(registrations={"Microsoft.Dashboard": "NotRegistered"})
    refused = azure.call("GET", GRAFANA)
    assert azure.error(refused) == (409, "MissingSubscriptionRegistration")
    assert "'Microsoft.Dashboard'" in refused.text
    url = f"{SUBSCRIPTION}/providers/Microsoft.Dashboard"
    assert azure.call("GET", url).json()["registrationState"] == "NotRegistered"
    answer = azure.call("POST", f"{url}/register", **{"api-version": "2016-02-01"})
    assert answer.json()["registrationState"] == "Registering"
    assert azure.call("GET", url).json()["registrationState"] == "Registered"
    assert azure.call("GET", GRAFANA).status_code == 200


def test_permissions_and_quota_can_be_read(azure: Azure) -> None:
    found = azure.call("GET", f"{NODE_GROUP}/providers/Microsoft.Authorization/permissions")
    assert any(item["actions"] == ["*"] for item in found.json()["value"])
    usages = azure.call(
        "GET", f"{SUBSCRIPTION}/providers/Microsoft.Compute/locations/westeurope/usages"
    ).json()["value"]
    assert {item["name"]["value"] for item in usages} >= {"StandardNCADSA100v4Family"}
    skus = azure.call("GET", f"{SUBSCRIPTION}/providers/Microsoft.Compute/skus").json()["value"]
    (size,) = [item for item in skus if item["name"] == "Standard_NC24ads_A100_v4"]
    assert {"name": "vCPUs", "value": "24"} in size["capabilities"]


# --- long-running operations ----------------------------------------------------------------------


def test_a_private_endpoint_is_201_accepted_and_its_operation_is_followed_without_subscription(
    azure: Azure,
) -> None:
    Kubernetes(azure).make_namespace()
    Kubernetes(azure).release()
    body = {"location": "westeurope", "properties": {"privateLinkResourceId": PLS}}
    answer = azure.call("PUT", ENDPOINT, body)
    assert answer.status_code == 201
    assert answer.json()["properties"]["provisioningState"] == "Accepted"
    assert answer.json()["properties"]["connectionState"] == {
        "status": "Pending",
        "description": None,
    }
    url = answer.headers["Azure-AsyncOperation"]
    assert url == answer.headers["Location"]
    assert url.startswith(f"{azure.server.arm_url}/providers/Microsoft.Dashboard/locations/WESTEU")
    assert "Retry-After" not in answer.headers
    document = azure.follow(url)
    assert document["status"] == "Succeeded"
    assert document["error"] == {}
    assert document["properties"] is None


def test_deleting_a_private_endpoint_is_202_null_and_polls_are_202_until_the_last(
    azure: Azure,
) -> None:
    azure.make_endpoint()
    azure.settings(latency=0.001)
    answer = azure.call("DELETE", ENDPOINT)
    assert (answer.status_code, answer.text) == (202, "null")
    polled = azure.http.get(answer.headers["Location"])
    assert (polled.status_code, polled.json()["status"]) == (202, "Deleting")
    azure.advance(3600)
    polled = azure.http.get(answer.headers["Location"])
    assert (polled.status_code, polled.json()["status"]) == (200, "Succeeded")
    azure.settings(latency=0)


def test_one_operation_at_a_time_runs_on_a_workspace(azure: Azure) -> None:
    azure.settings(latency=1)
    body = {"location": "westeurope", "properties": {"privateLinkResourceId": PLS}}
    assert azure.call("PUT", ENDPOINT, body).status_code == 201
    other = f"{GRAFANA}/managedPrivateEndpoints/another"
    for method, path, content in (
        ("PUT", other, body),
        ("POST", f"{GRAFANA}/refreshManagedPrivateEndpoints", None),
        ("DELETE", ENDPOINT, None),
    ):
        assert azure.error(azure.call(method, path, content)) == (409, "ConflictInProcessing")
    azure.settings(latency=0)


def test_a_cluster_is_followed_at_its_regions_operations(azure: Azure) -> None:
    answer = azure.call("PUT", POOL, {"properties": pool()})
    assert answer.status_code == 201
    url = answer.headers["Azure-AsyncOperation"]
    assert "/locations/westeurope/operations/" in url
    assert url.endswith("?api-version=2016-03-30")
    assert azure.follow(url)["status"] == "Succeeded"
    again = azure.call("PUT", POOL, {"properties": pool()})
    assert again.status_code == 200
    azure.settled(POOL)
    deleted = azure.call("DELETE", POOL)
    assert deleted.status_code == 202
    assert "/operationresults/" in deleted.headers["Location"]
    assert azure.http.get(deleted.headers["Location"]).status_code == 204
    assert azure.call("DELETE", POOL).status_code == 204


def test_a_group_takes_everything_in_it_along(azure: Azure) -> None:
    group = f"{SUBSCRIPTION}/resourceGroups/rg-new"
    azure.put(group, {"location": "westeurope"})
    endpoint = f"{group}/providers/Microsoft.Insights/dataCollectionEndpoints/dce"
    azure.put(endpoint, {"location": "westeurope", "properties": {}})
    answer = azure.call("DELETE", group)
    assert answer.status_code == 202
    assert azure.http.get(answer.headers["Location"]).status_code == 204
    assert azure.call("GET", endpoint).status_code == 404
    refused = azure.call("GET", group)
    assert azure.error(refused) == (404, "ResourceGroupNotFound")


# --- node pools -----------------------------------------------------------------------------------


def pool(**changes: object) -> JsonObject:
    return {"count": 1, "vmSize": "Standard_NC24ads_A100_v4", "mode": "User", **changes}


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": None},
        {"vmSize": "Standard_Nonsense"},
        {"enableAutoScaling": True, "minCount": 2, "maxCount": 1},
        {"minCount": 0, "maxCount": 1},
        {"scaleSetEvictionPolicy": "Delete"},
        {"nodeTaints": ["sku=gpu"]},
        {"vmSize": "Standard_D4s_v5", "gpuProfile": {"driver": "Install"}},
        {"vmSize": "Standard_NC4as_T4_v3", "gpuInstanceProfile": "MIG1g"},
        {"scaleSetPriority": "Spot", "spotMaxPrice": 0},
        {"scaleSetPriority": "Spot", "mode": "System"},
    ],
)
def test_a_pool_that_azure_refuses_is_refused(azure: Azure, wrong: dict[str, object]) -> None:
    assert azure.call("PUT", POOL, {"properties": pool(**wrong)}).status_code == 400


@pytest.mark.parametrize("name", ["gpu-enabled", "GPUPOOL", "g" * 13, "1gpu"])
def test_a_pools_name_is_short_and_lower_case(azure: Azure, name: str) -> None:
    path = f"{CLUSTER}/agentPools/{name}"
    assert azure.call("PUT", path, {"properties": pool()}).status_code == 400


def test_a_pool_that_scales_from_zero_still_needs_its_count(azure: Azure) -> None:
    scaling = {"enableAutoScaling": True, "minCount": 0, "maxCount": 1}
    missing = pool(**scaling)
    del missing["count"]
    answer = azure.call("PUT", POOL, {"properties": missing})
    assert "Required parameter properties.count is missing" in answer.text
    azure.put(POOL, {"properties": pool(**scaling, count=0)})


def test_a_spot_pool_gets_azures_taint_and_label(azure: Azure) -> None:
    made = azure.add_pool(scaleSetPriority="Spot")
    assert dig(made, "properties", "nodeTaints") == [
        "sku=gpu:NoSchedule",
        "kubernetes.azure.com/scalesetpriority=spot:NoSchedule",
    ]
    assert dig(made, "properties", "nodeLabels") == {
        "kubernetes.azure.com/scalesetpriority": "spot"
    }


def test_the_vm_size_of_a_pool_never_changes(azure: Azure) -> None:
    azure.add_pool()
    answer = azure.call("PUT", POOL, {"properties": pool(vmSize="Standard_NC48ads_A100_v4")})
    assert azure.error(answer) == (400, "PropertyChangeNotAllowed")


def test_more_cores_than_the_quota_are_refused(azure: Azure) -> None:
    azure.settings(quota={"westeurope/StandardNCADSA100v4Family": {"limit": 24}})
    answer = azure.call("PUT", POOL, {"properties": pool(count=2)})
    assert azure.error(answer) == (400, "ErrCode_InsufficientVCPUQuota")
    azure.add_pool(count=1)


def test_the_last_system_pool_stays(azure: Azure) -> None:
    assert azure.call("DELETE", f"{CLUSTER}/agentPools/system").status_code == 400


def test_the_cluster_lists_pools_made_apart(azure: Azure) -> None:
    azure.add_pool()
    profiles = as_objects(dig(azure.get(CLUSTER), "properties", "agentPoolProfiles"))
    assert [item["name"] for item in profiles] == ["gpu", "system"]


# --- clusters -------------------------------------------------------------------------------------


def new_cluster(azure: Azure, **properties: object) -> tuple[str, httpx.Response]:
    path = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-new"
    body: JsonObject = {
        "location": "westeurope",
        "identity": IDENTITY,
        "properties": {
            "dnsPrefix": "aks-new",
            "agentPoolProfiles": [
                {"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 1}
            ],
            **properties,
        },
    }
    return path, azure.call("PUT", path, body)


def test_an_update_of_a_cluster_keeps_what_azure_chose_for_it(azure: Azure) -> None:
    path, _ = new_cluster(azure)
    made = azure.settled(path)
    new_cluster(azure)
    again = azure.settled(path)
    for chosen in ("fqdn", "resourceUID", "nodeResourceGroup", "identityProfile"):
        assert dig(again, "properties", chosen) == dig(made, "properties", chosen)
    assert again["identity"] == made["identity"]


def test_a_cluster_brings_its_node_group_and_takes_it_away(azure: Azure) -> None:
    before = azure.inspect()["resources"]
    path, answer = new_cluster(azure)
    assert answer.status_code == 201
    assert answer.json()["identity"]["principalId"]
    made = azure.settled(path)
    assert dig(made, "properties", "nodeResourceGroup") == "MC_rg-dev_aks-new_westeurope"
    assert dig(made, "properties", "identityProfile", "kubeletidentity", "objectId")
    group = f"{SUBSCRIPTION}/resourceGroups/MC_rg-dev_aks-new_westeurope"
    assert azure.get(group)["managedBy"]
    azure.delete(path)
    assert azure.call("GET", group).status_code == 404
    assert azure.inspect()["resources"] == before


def test_a_cluster_without_local_accounts_gives_no_admin_kubeconfig(azure: Azure) -> None:
    path, _ = new_cluster(azure, disableLocalAccounts=True, aadProfile={"managed": True})
    azure.settled(path)
    refused = azure.call("POST", f"{path}/listClusterAdminCredential")
    assert azure.error(refused) == (400, "BadRequest")
    assert "disable local accounts" in refused.text
    kubernetes = Kubernetes(azure, path)
    assert not kubernetes.token
    assert kubernetes.call("GET", "/version").status_code == 401
    kubernetes.token = azure.token("6dae42f8-4368-4678-94ff-3960e28e3630")
    assert kubernetes.call("GET", "/version").status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"dnsPrefix": None},
        {"dnsPrefix": "a" * 55},
        {"kubernetesVersion": "1.2"},
        {"agentPoolProfiles": []},
        {"nodeResourceGroup": "g" * 81},
    ],
)
def test_a_cluster_that_azure_refuses_is_refused(azure: Azure, wrong: dict[str, object]) -> None:
    assert new_cluster(azure, **wrong)[1].status_code == 400


def cluster_with_pools(azure: Azure) -> tuple[str, JsonObject]:
    """A cluster of its own with a second pool that is a resource of its own, and its request."""
    path, _ = new_cluster(azure, kubernetesVersion="1.33")
    azure.settled(path)
    user = {"count": 1, "vmSize": "Standard_D4s_v5", "mode": "User"}
    azure.put(f"{path}/agentPools/user", {"properties": user})
    system = {"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 1}
    body: JsonObject = {
        "location": "westeurope",
        "identity": IDENTITY,
        "properties": {"dnsPrefix": "aks-new", "agentPoolProfiles": [system]},
    }
    return path, body


def pools_of(azure: Azure, path: str) -> dict[str, JsonObject]:
    found = as_objects(dig(azure.get(path), "properties", "agentPoolProfiles"))
    return {as_text(item["name"]): item for item in found}


NEW_POOL: JsonObject = {"name": "other", "vmSize": "Standard_D4s_v5", "count": 1}
SYSTEM_POOL: JsonObject = {**NEW_POOL, "name": "system", "mode": "System"}


@pytest.mark.parametrize(
    ("profiles", "code"),
    [
        ([SYSTEM_POOL, NEW_POOL], "BadRequest"),
        ([{**SYSTEM_POOL, "vmSize": "Standard_D8s_v5"}], "PropertyChangeNotAllowed"),
        (
            [{**SYSTEM_POOL, "orchestratorVersion": "1.33.3"}],
            "NotAllAgentPoolOrchestratorVersionSpecifiedAndUnchanged",
        ),
    ],
)
def test_what_a_clusters_put_may_not_do_to_its_pools_is_refused_with_aks_codes(
    azure: Azure, profiles: list[JsonObject], code: str
) -> None:
    path, body = cluster_with_pools(azure)
    before = pools_of(azure, path)
    as_object(body["properties"])["agentPoolProfiles"] = profiles
    assert azure.error(azure.call("PUT", path, body)) == (400, code)
    assert pools_of(azure, path) == before


@pytest.mark.parametrize("listed", [True, False])
def test_a_clusters_put_leaves_alone_the_pools_that_it_does_not_list(
    azure: Azure, listed: bool
) -> None:
    path, body = cluster_with_pools(azure)
    if not listed:
        del as_object(body["properties"])["agentPoolProfiles"]
    before = pools_of(azure, path)
    azure.put(path, body)
    assert pools_of(azure, path) == before


def test_all_pools_may_say_their_versions(azure: Azure) -> None:
    path, body = cluster_with_pools(azure)
    as_object(body["properties"])["agentPoolProfiles"] = [
        {**SYSTEM_POOL, "orchestratorVersion": "1.33.3"},
        {**SYSTEM_POOL, "name": "user", "mode": "User", "orchestratorVersion": "1.33.3"},
    ]
    azure.put(path, body)


def test_nodes_are_not_upgraded_with_their_cluster_and_neither_goes_back(azure: Azure) -> None:
    path, body = cluster_with_pools(azure)
    properties = as_object(body["properties"])
    azure.put(path, {**body, "properties": {**properties, "kubernetesVersion": "1.34"}})
    azure.put(path, body)
    assert dig(azure.get(path), "properties", "currentKubernetesVersion") == "1.34.1"
    assert {pool["currentOrchestratorVersion"] for pool in pools_of(azure, path).values()} == {
        "1.33.3"
    }
    back = {**body, "properties": {**properties, "kubernetesVersion": "1.33"}}
    assert azure.error(azure.call("PUT", path, back)) == (400, "OperationNotAllowed")


def test_an_autoscaled_pool_is_not_scaled_by_hand(azure: Azure) -> None:
    pool: JsonObject = {"vmSize": "Standard_NC24ads_A100_v4", "mode": "User"}
    limits: JsonObject = {"enableAutoScaling": True, "minCount": 0, "maxCount": 5}
    azure.put(POOL, {"properties": {**pool, **limits, "count": 0}})
    azure.control("POST", "autoscale", {"pool": POOL, "count": 3})
    refused = azure.call("PUT", POOL, {"properties": {**pool, **limits, "count": 0}})
    assert azure.error(refused) == (400, "InvalidParameter")
    assert "Cannot manually scale AgentPool 'gpu'" in refused.text
    # The limits may move past the nodes that there are.
    azure.put(POOL, {"properties": {**pool, **limits, "minCount": 4, "count": 3}})


def test_a_pool_is_not_scaled_and_given_to_the_autoscaler_at_once(azure: Azure) -> None:
    azure.add_pool(count=1)
    pool: JsonObject = {"vmSize": "Standard_NC24ads_A100_v4", "mode": "User"}
    limits: JsonObject = {"enableAutoScaling": True, "minCount": 2, "maxCount": 5}
    refused = azure.call("PUT", POOL, {"properties": {**pool, **limits, "count": 2}})
    assert azure.error(refused) == (400, "InvalidParameter")
    azure.put(POOL, {"properties": {**pool, **limits, "count": 1}})


# --- the extension --------------------------------------------------------------------------------


def test_the_extension_brings_namespace_and_agent(azure: Azure) -> None:
    made = azure.install_agent()
    assert dig(made, "properties", "currentVersion") == "0.54.1"
    kubernetes = Kubernetes(azure)
    path = "/apis/apps/v1/namespaces/gadget/daemonsets/gadget"
    assert kubernetes.call("GET", path).json()["status"]["numberReady"] == 2
    azure.delete(EXTENSION)
    assert kubernetes.call("GET", path).status_code == 404
    assert kubernetes.call("GET", "/api/v1/namespaces/gadget").status_code == 200


def test_without_the_metrics_add_on_azure_monitor_fails_the_installation_for_good(
    azure: Azure,
) -> None:
    path, _ = new_cluster(azure)
    azure.settled(path)
    extension = f"{path}/providers/Microsoft.KubernetesConfiguration/extensions/inspektor-gadget"
    properties = {
        "extensionType": "microsoft.inspektorgadget",
        "releaseTrain": "preview",
        "configurationSettings": {"azureMonitor.enabled": "true"},
    }
    failed = azure.put(extension, {"properties": properties})
    assert dig(failed, "properties", "provisioningState") == "Failed"
    status = as_objects(dig(failed, "properties", "statuses"))[0]
    assert status["code"] == "InstallationFailed"
    assert 'no matches for kind "PodMonitor"' in as_text(status["message"])
    properties["configurationSettings"] = {"azureMonitor.enabled": "false"}
    again = azure.put(extension, {"properties": properties})
    assert dig(again, "properties", "provisioningState") == "Failed"
    azure.delete(extension)
    repaired = azure.put(extension, {"properties": properties})
    assert dig(repaired, "properties", "provisioningState") == "Succeeded"


def test_a_version_needs_auto_upgrade_off(azure: Azure) -> None:
    properties = {"extensionType": "microsoft.inspektorgadget", "version": "0.53.0"}
    assert azure.call("PUT", EXTENSION, {"properties": properties}).status_code == 400
    pinned = {**properties, "autoUpgradeMinorVersion": False}
    made = azure.put(EXTENSION, {"properties": pinned})
    assert dig(made, "properties", "currentVersion") == "0.53.0"


def test_a_manual_installation_is_in_the_way(azure: Azure) -> None:
    kubernetes = Kubernetes(azure)
    kubernetes.make_namespace()
    manifest: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "gadget", "namespace": "gadget"},
        "spec": {"template": {"spec": {"containers": []}}},
    }
    kubernetes.call("POST", "/apis/apps/v1/namespaces/gadget/daemonsets", manifest)
    failed = azure.install_agent()
    assert dig(failed, "properties", "provisioningState") == "Failed"
    assert "invalid ownership metadata" in as_text(
        dig(failed, "properties", "errorInfo", "message")
    )


def test_settings_are_strings_and_protected_ones_never_come_back(azure: Azure) -> None:
    properties: JsonObject = {
        "extensionType": "microsoft.inspektorgadget",
        "releaseTrain": "preview",
        "configurationSettings": {"gpuObservability.enabled": True},
    }
    assert azure.call("PUT", EXTENSION, {"properties": properties}).status_code == 400
    properties["configurationSettings"] = {}
    properties["configurationProtectedSettings"] = {"key": "hidden-value"}
    assert "hidden-value" not in str(azure.put(EXTENSION, {"properties": properties}))


def test_a_patch_of_the_extension_is_202_and_200_if_it_changes_nothing(azure: Azure) -> None:
    azure.install_agent(azure_monitor="false")
    change = {"properties": {"configurationSettings": {"azureMonitor.enabled": "true"}}}
    assert azure.call("PATCH", EXTENSION, change).status_code == 202
    azure.settled(EXTENSION)
    assert azure.call("PATCH", EXTENSION, change).status_code == 200


# --- Grafana --------------------------------------------------------------------------------------


def new_grafana(azure: Azure, name: str = "grafana-new", **changes: object) -> httpx.Response:
    body: JsonObject = {
        "location": "westeurope",
        "sku": {"name": "Standard"},
        "identity": IDENTITY,
        "properties": {},
        **changes,
    }
    return azure.call("PUT", f"{GROUP}/providers/Microsoft.Dashboard/grafana/{name}", body)


def test_a_workspace_has_endpoint_and_identity_at_once_and_its_version_later(azure: Azure) -> None:
    answer = new_grafana(azure)
    assert answer.status_code == 201
    first = as_object(answer.json())
    assert dig(first, "properties", "endpoint") == f"{azure.server.arm_url}/grafana/grafana-new"
    assert dig(first, "identity", "principalId")
    assert dig(first, "properties", "grafanaVersion") is None
    path = f"{GROUP}/providers/Microsoft.Dashboard/grafana/grafana-new"
    assert as_text(dig(azure.settled(path), "properties", "grafanaVersion")).startswith("12.")
    azure.delete(path)


@pytest.mark.parametrize("major", ["11", "14", "x"])
def test_only_current_majors_are_available(azure: Azure, major: str) -> None:
    assert new_grafana(azure, properties={"grafanaMajorVersion": major}).status_code == 400


def test_a_major_never_goes_down(azure: Azure) -> None:
    body: JsonObject = {"location": "westeurope", "sku": {"name": "Standard"}, "identity": IDENTITY}
    azure.put(GRAFANA, {**body, "properties": {"grafanaMajorVersion": "13"}})
    answer = azure.call("PUT", GRAFANA, {**body, "properties": {"grafanaMajorVersion": "12"}})
    assert answer.status_code == 400


@pytest.mark.parametrize("name", ["g", "1grafana", "g" * 24, "grafana-"])
def test_a_workspaces_name_follows_azures_rule(azure: Azure, name: str) -> None:
    assert new_grafana(azure, name).status_code == 400


def test_a_workspaces_name_is_taken_everywhere(azure: Azure) -> None:
    other = GRAFANA.replace("rg-dev", "rg-prod")
    body = {"location": "westeurope", "sku": {"name": "Standard"}, "properties": {}}
    assert azure.call("PUT", other, body).status_code == 409


def test_only_the_standard_tier_has_private_endpoints(azure: Azure) -> None:
    new_grafana(azure, sku={"name": "Essential"})
    path = f"{GROUP}/providers/Microsoft.Dashboard/grafana/grafana-new"
    azure.settled(path)
    body = {"location": "westeurope", "properties": {"privateLinkResourceId": PLS}}
    answer = azure.call("PUT", f"{path}/managedPrivateEndpoints/abc", body)
    assert answer.status_code == 400


# --- Monitor and roles ----------------------------------------------------------------------------


def test_a_monitor_workspace_is_made_at_once_and_brings_its_managed_group(azure: Azure) -> None:
    path = f"{GROUP}/providers/Microsoft.Monitor/accounts/amw-new"
    answer = azure.call("PUT", path, {"location": "westeurope"})
    assert answer.status_code == 200
    endpoint = dig(answer.json(), "properties", "metrics", "prometheusQueryEndpoint")
    assert endpoint == f"{azure.server.arm_url}/prometheus/amw-new"
    managed = f"{SUBSCRIPTION}/resourceGroups/MA_amw-new_westeurope_managed"
    assert azure.call("GET", managed).status_code == 200
    deleted = azure.call("DELETE", path)
    assert deleted.status_code == 202
    assert "Azure-AsyncOperation" not in deleted.headers
    assert azure.http.get(deleted.headers["Location"]).status_code == 204
    assert azure.call("GET", managed).status_code == 404


def collection_rule(**changes: object) -> JsonObject:
    stream = "Microsoft-PrometheusMetrics"
    properties: JsonObject = {
        "dataCollectionEndpointId": f"{INSIGHTS}/dataCollectionEndpoints/dce",
        "dataSources": {"prometheusForwarder": [{"name": "prometheus", "streams": [stream]}]},
        "destinations": {
            "monitoringAccounts": [{"name": "workspace", "accountResourceId": WORKSPACE}]
        },
        "dataFlows": [{"streams": [stream], "destinations": ["workspace"]}],
        **changes,
    }
    return {"location": "westeurope", "kind": "Linux", "properties": properties}


def test_collection_rules_name_what_exists_and_associations_name_one_thing(azure: Azure) -> None:
    rule = f"{INSIGHTS}/dataCollectionRules/dcr"
    assert azure.call("PUT", rule, collection_rule()).status_code == 400
    endpoint = f"{INSIGHTS}/dataCollectionEndpoints/dce"
    azure.put(endpoint, {"location": "westeurope", "kind": "Linux", "properties": {}})
    wrong = collection_rule(
        dataFlows=[{"streams": ["Microsoft-PrometheusMetrics"], "destinations": ["nowhere"]}]
    )
    assert azure.call("PUT", rule, wrong).status_code == 400
    made = azure.put(rule, collection_rule())
    assert as_text(dig(made, "properties", "immutableId")).startswith("dcr-")
    below = f"{CLUSTER}/providers/Microsoft.Insights/dataCollectionRuleAssociations"
    both = {"dataCollectionRuleId": rule, "dataCollectionEndpointId": endpoint}
    assert azure.call("PUT", f"{below}/a", {"properties": both}).status_code == 400
    only = {"dataCollectionEndpointId": endpoint}
    assert azure.call("PUT", f"{below}/a", {"properties": only}).status_code == 400
    azure.put(f"{below}/configurationAccessEndpoint", {"properties": only})
    azure.put(f"{below}/a", {"properties": {"dataCollectionRuleId": rule}})
    assert azure.call("DELETE", rule).status_code == 409


def test_an_endpoint_is_associated_with_what_is_in_its_own_region(azure: Azure) -> None:
    endpoint = f"{INSIGHTS}/dataCollectionEndpoints/dce-north"
    azure.put(endpoint, {"location": "northeurope", "kind": "Linux", "properties": {}})
    below = f"{CLUSTER}/providers/Microsoft.Insights/dataCollectionRuleAssociations"
    body = {"properties": {"dataCollectionEndpointId": endpoint}}
    refused = azure.call("PUT", f"{below}/configurationAccessEndpoint", body)
    assert refused.status_code == 400
    assert "one region" in refused.text


def assign(azure: Azure, scope: str, role: str, principal: str, **more: object) -> httpx.Response:
    definition = f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{scope}{role}{principal}")
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}"
    properties = {"roleDefinitionId": definition, "principalId": principal, **more}
    return azure.call("PUT", path, {"properties": properties})


def test_a_new_identity_needs_its_type_named(azure: Azure) -> None:
    azure.settings(latency=1)
    principal = as_text(dig(new_grafana(azure).json(), "identity", "principalId"))
    plain = assign(azure, WORKSPACE, roles.MONITORING_DATA_READER, principal)
    assert azure.error(plain) == (400, "PrincipalNotFound")
    wrong = assign(azure, WORKSPACE, roles.MONITORING_DATA_READER, principal, principalType="User")
    assert azure.error(wrong) == (400, "UnmatchedPrincipalType")
    right = assign(
        azure, WORKSPACE, roles.MONITORING_DATA_READER, principal, principalType="ServicePrincipal"
    )
    assert right.status_code == 201
    azure.settings(latency=0)
    assert assign(azure, GROUP, roles.READER, principal).status_code == 201


def test_the_same_role_twice_is_refused_with_the_first_ones_id(azure: Azure) -> None:
    assert assign(azure, WORKSPACE, roles.READER, CALLER_ID).status_code == 201
    first = uuid.uuid5(uuid.NAMESPACE_URL, f"{WORKSPACE}{roles.READER}{CALLER_ID}")
    definition = f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{roles.READER}"
    path = f"{WORKSPACE}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    body = {"properties": {"roleDefinitionId": definition, "principalId": CALLER_ID}}
    refused = azure.call("PUT", path, body)
    assert azure.error(refused) == (409, "RoleAssignmentExists")
    assert first.hex in refused.text


def test_assignments_are_listed_by_scope_and_principal(azure: Azure) -> None:
    path = f"{GRAFANA}/providers/Microsoft.Authorization/roleAssignments"
    found = azure.call("GET", path, **{"$filter": f"principalId eq '{CALLER_ID}'"}).json()["value"]
    definitions = [as_text(dig(item, "properties", "roleDefinitionId")) for item in found]
    assert {text.rsplit("/", 1)[-1] for text in definitions} == {roles.OWNER, roles.GRAFANA_ADMIN}


def test_deleting_an_assignment_answers_it_and_204_when_it_is_gone(azure: Azure) -> None:
    made = assign(azure, WORKSPACE, roles.READER, CALLER_ID)
    path = as_text(as_object(made.json())["id"])
    deleted = azure.call("DELETE", path)
    assert deleted.status_code == 200
    assert as_object(deleted.json())["id"] == path
    assert azure.call("DELETE", path).status_code == 204


def test_every_resource_is_listed_under_its_parent(azure: Azure) -> None:
    azure.add_pool()
    found = azure.call("GET", f"{CLUSTER}/agentPools").json()
    names = [as_object(item)["name"] for item in as_list(cast("JsonObject", found)["value"])]
    assert names == ["gpu", "system"]


def test_a_stopped_cluster_does_not_answer_until_it_is_started(azure: Azure) -> None:
    kubernetes = Kubernetes(azure)
    assert azure.call("POST", f"{CLUSTER}/stop").status_code == 202
    stopped = azure.get(CLUSTER)
    assert dig(stopped, "properties", "powerState", "code") == "Stopped"
    assert dig(stopped, "properties", "provisioningState") == "Succeeded"
    assert kubernetes.call("GET", "/version").status_code == 503
    azure.call("POST", f"{CLUSTER}/start")
    assert kubernetes.call("GET", "/version").status_code == 200


def test_rotated_credentials_make_the_old_kubeconfig_useless(azure: Azure) -> None:
    before = Kubernetes(azure)
    azure.call("POST", f"{CLUSTER}/rotateClusterCertificates")
    assert before.call("GET", "/version").status_code == 401
    assert Kubernetes(azure).call("GET", "/version").status_code == 200


def test_a_group_with_things_that_need_each_other_is_deleted_whole(azure: Azure) -> None:
    group = f"{SUBSCRIPTION}/resourceGroups/rg-new"
    azure.put(group, {"location": "westeurope"})
    below = f"{group}/providers/Microsoft.Insights"
    endpoint = f"{below}/dataCollectionEndpoints/dce"
    azure.put(endpoint, {"location": "westeurope", "properties": {}})
    rule = collection_rule(dataCollectionEndpointId=endpoint)
    azure.put(f"{below}/dataCollectionRules/dcr", rule)
    azure.call("DELETE", group)
    assert azure.call("GET", group).status_code == 404
