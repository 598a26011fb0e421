"""What clients that nobody here wrote ask of ARM, above all the Azure CLI; and the refusals."""

import json
import uuid
from typing import Final

import pytest

from simulator.arm import roles
from simulator.arm.api import ArmService
from simulator.clock import Clock
from simulator.http import Request, Response
from simulator.identity import sign
from simulator.seed import CALLER_ID, SUBSCRIPTION_ID, plant
from simulator.values import JsonObject, as_object, as_objects, as_text, dig, texts
from simulator.world import World
from tests.simulator.azure import (
    CLUSTER,
    ENDPOINT,
    EXTENSION,
    GRAFANA,
    GROUP,
    POOL,
    WORKSPACE,
    Azure,
    Kubernetes,
)

SUBSCRIPTION: Final = f"/subscriptions/{SUBSCRIPTION_ID}"
CLI: Final = "2026-06-01"
NETWORK: Final = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"
LOCK: Final = f"{CLUSTER}/providers/Microsoft.Authorization/locks/keep"


# --- what ARM tells -------------------------------------------------------------------------------


def test_a_provider_lists_its_resource_types_with_the_newest_stable_version_first(
    azure: Azure,
) -> None:
    answer = azure.arm("GET", f"{SUBSCRIPTION}/providers/microsoft.containerservice", "2024-11-01")
    types = {as_text(item["resourceType"]): item for item in as_objects(answer["resourceTypes"])}
    assert set(types) >= {"managedClusters", "managedClusters/agentPools"}
    stable = [item for item in texts(types["managedClusters"]["apiVersions"]) if "pre" not in item]
    assert stable == sorted(stable, reverse=True)
    assert "West Europe" in texts(types["managedClusters"]["locations"])


def test_every_type_that_is_served_is_listed_by_its_provider(azure: Azure) -> None:
    answer = azure.arm("GET", f"{SUBSCRIPTION}/providers", "2024-11-01")
    for provider in as_objects(answer["value"]):
        for item in as_objects(provider["resourceTypes"]):
            assert texts(item["apiVersions"]), item


def test_roles_are_found_by_name_and_by_id(azure: Azure) -> None:
    path = f"{WORKSPACE}/providers/Microsoft.Authorization/roleDefinitions"
    query = {"api-version": "2022-04-01", "$filter": "roleName eq 'Monitoring Data Reader'"}
    (found,) = as_objects(azure.call("GET", path, **query).json()["value"])
    assert found["name"] == roles.MONITORING_DATA_READER
    one = azure.arm("GET", f"{path}/{found['name']}", "2022-04-01")
    assert dig(one, "properties", "roleName") == "Monitoring Data Reader"
    answer = azure.call("GET", f"{path}/{CALLER_ID}", **{"api-version": "2022-04-01"})
    assert azure.error(answer) == (404, "RoleDefinitionDoesNotExist")


def test_the_resources_of_a_subscription_and_of_a_group_are_listed_by_type(azure: Azure) -> None:
    wanted = "resourceType eq 'Microsoft.ContainerService/managedClusters'"
    for scope, more, names in (
        (SUBSCRIPTION, "", ["aks-dev", "aks-prod"]),
        (SUBSCRIPTION, " and resourceGroup eq 'RG-prod'", ["aks-prod"]),
        (GROUP, "", ["aks-dev"]),
    ):
        query = {"api-version": "2024-11-01", "$filter": wanted + more}
        answer = azure.call("GET", f"{scope}/resources", **query).json()
        assert [item["name"] for item in answer["value"]] == names
        assert "properties" not in answer["value"][0]


def test_locations_tenants_and_kubernetes_versions_are_listed(azure: Azure) -> None:
    regions = azure.arm("GET", f"{SUBSCRIPTION}/locations", "2022-12-01")
    assert {item["name"] for item in as_objects(regions["value"])} >= {"westeurope", "eastus2"}
    tenants = as_objects(azure.arm("GET", "/tenants", "2022-12-01")["value"])
    own = azure.arm("GET", SUBSCRIPTION, "2022-12-01")
    assert [item["tenantId"] for item in tenants] == [own["tenantId"]]
    path = f"{SUBSCRIPTION}/providers/Microsoft.ContainerService/locations/westeurope"
    versions = as_objects(azure.arm("GET", f"{path}/kubernetesVersions", CLI)["values"])
    assert [item["version"] for item in versions if item["isDefault"]] == ["1.33"]


def test_the_metadata_endpoints_need_no_token_and_name_this_arm(azure: Azure) -> None:
    answer = azure.http.get(
        "/metadata/endpoints?api-version=2022-09-01", headers={"Authorization": ""}
    ).json()
    assert answer["resourceManager"] == azure.server.arm_url
    assert answer["authentication"]["audiences"][0].startswith("https://management.")


def test_head_of_a_group_answers_204_or_404(azure: Azure) -> None:
    assert azure.call("HEAD", GROUP).status_code == 204
    assert azure.call("HEAD", f"{GROUP}x").status_code == 404


def test_an_id_that_is_percent_encoded_in_the_path_is_decoded(azure: Azure) -> None:
    encoded = CLUSTER.replace("/", "%2F")
    answer = azure.http.get(f"/{encoded}?api-version={CLI}")
    assert answer.status_code == 200
    assert answer.json()["name"] == "aks-dev"


# --- versions and members -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "version"),
    [
        (GROUP, "2024-11-01"),
        (CLUSTER, "2023-01-01"),
        (CLUSTER, CLI),
        (GRAFANA, "2022-08-01"),
        (GRAFANA, "2023-09-01"),
        (WORKSPACE, "2025-10-03"),
    ],
)
def test_the_versions_that_the_azure_cli_sends_are_served(
    azure: Azure, path: str, version: str
) -> None:
    assert azure.call("GET", path, **{"api-version": version}).status_code == 200


def test_a_member_that_a_version_does_not_have_is_neither_taken_nor_told(azure: Azure) -> None:
    body: JsonObject = {
        "location": "westeurope",
        "sku": {"name": "Standard"},
        "properties": {"creatorCanAdmin": "Enabled"},
    }
    refused = azure.call("PUT", GRAFANA, body, **{"api-version": "2024-10-01"})
    assert refused.status_code == 400
    assert "creatorCanAdmin" in refused.text
    shown = {
        version: as_object(azure.arm("GET", GRAFANA, version)["properties"])
        for version in ("2024-10-01", "2025-08-01")
    }
    assert "creatorCanAdmin" in shown["2025-08-01"]
    assert "creatorCanAdmin" not in shown["2024-10-01"]


def test_a_pool_as_the_azure_cli_sends_it_is_accepted_and_kept(azure: Azure) -> None:
    properties: JsonObject = {
        "count": 1,
        "vmSize": "",
        "orchestratorVersion": "",
        "osType": "Linux",
        "enableUltraSSD": False,
        "enableFIPS": False,
        "scaleDownMode": "Delete",
        "upgradeSettings": {"maxSurge": "33%"},
        "securityProfile": {"sshAccess": "Disabled", "enableVTPM": True},
        "networkProfile": {},
    }
    azure.arm("PUT", POOL, CLI, {"properties": properties})
    shown = as_object(azure.settled(POOL)["properties"])
    assert shown["vmSize"]
    assert shown["orchestratorVersion"]
    assert shown["upgradeSettings"] == {"maxSurge": "33%"}
    assert shown["securityProfile"] == properties["securityProfile"]


def test_a_gpu_pool_comes_back_with_the_services_defaults(azure: Azure) -> None:
    shown = as_object(azure.add_pool()["properties"])
    assert shown["gpuProfile"] == {"driver": "Install"}
    assert shown["upgradeSettings"] == {"maxSurge": "10%", "maxUnavailable": "0"}
    assert {name: shown[name] for name in ("kubeletDiskType", "workloadRuntime", "enableFIPS")} == {
        "kubeletDiskType": "OS",
        "workloadRuntime": "OCIContainer",
        "enableFIPS": False,
    }


def test_a_cluster_that_is_read_and_sent_back_with_every_member_stays_as_it_is(
    azure: Azure,
) -> None:
    before = azure.arm("GET", CLUSTER, CLI)
    azure.arm("PUT", CLUSTER, CLI, before)
    azure.settled(CLUSTER)
    after = azure.arm("GET", CLUSTER, CLI)
    assert after["properties"] == before["properties"]


def test_ids_of_a_pool_have_the_casing_that_aks_uses(azure: Azure) -> None:
    assert "/resourcegroups/rg-dev/" in as_text(azure.add_pool()["id"])


def test_a_resource_tells_who_made_it_and_who_changed_it(azure: Azure) -> None:
    made = as_object(azure.get(GRAFANA)["systemData"])
    azure.call("PATCH", GRAFANA, {"tags": {"a": "b"}})
    changed = as_object(azure.settled(GRAFANA)["systemData"])
    assert made["createdBy"] == changed["createdBy"] == CALLER_ID
    assert as_text(changed["lastModifiedAt"]) > as_text(made["lastModifiedAt"])


def test_an_association_takes_the_location_that_the_azure_cli_sends(azure: Azure) -> None:
    insights = f"{GROUP}/providers/Microsoft.Insights"
    azure.put(f"{insights}/dataCollectionEndpoints/dce", {"location": "westeurope"})
    azure.put(f"{insights}/dataCollectionRules/dcr", {"location": "westeurope", "properties": {}})
    body = {
        "location": "westeurope",
        "properties": {"dataCollectionRuleId": f"{insights}/dataCollectionRules/dcr"},
    }
    path = f"{CLUSTER}/providers/Microsoft.Insights/dataCollectionRuleAssociations/a"
    assert "location" not in azure.put(path, body)


def test_a_collection_endpoint_that_is_sent_again_keeps_what_the_service_computed(
    azure: Azure,
) -> None:
    path = f"{GROUP}/providers/Microsoft.Insights/dataCollectionEndpoints/dce"
    body: JsonObject = {"location": "westeurope", "properties": {}}
    assert azure.put(path, body)["properties"] == azure.put(path, body)["properties"]


# --- refusals -------------------------------------------------------------------------------------


def test_aks_refuses_without_error_around_code_and_message(azure: Azure) -> None:
    answer = azure.call("PUT", POOL, {"properties": {"count": "1"}})
    assert answer.status_code == 400
    assert answer.json() == {
        "code": "UnmarshalError",
        "details": None,
        "message": "The value of properties.count is not an integer: '1'.",
        "subcode": "",
    }


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/subscriptions/nonsense", None, (400, "InvalidSubscriptionId")),
        ("GET", f"/subscriptions/{CALLER_ID}", None, (404, "SubscriptionNotFound")),
        (
            "PUT",
            POOL.replace("/gpu", "/GPU_1"),
            {"properties": {"count": 1}},
            (400, "InvalidParameter"),
        ),
        (
            "PUT",
            f"{CLUSTER}-",
            {"location": "westeurope", "properties": {}},
            (400, "InvalidParameter"),
        ),
        ("PUT", f"{GRAFANA}2", {"properties": {}}, (400, "LocationRequired")),
        (
            "PUT",
            f"{GRAFANA}2",
            {"location": "atlantis"},
            (400, "LocationNotAvailableForResourceType"),
        ),
        (
            "PUT",
            f"{GROUP}2",
            {"location": "atlantis"},
            (400, "LocationNotAvailableForResourceGroup"),
        ),
        ("PUT", WORKSPACE, {"location": "northeurope"}, (409, "InvalidResourceLocation")),
        (
            "GET",
            f"{CLUSTER}/providers/Microsoft.Authorization/roleAssignments/{CALLER_ID}",
            None,
            (404, "RoleAssignmentNotFound"),
        ),
        (
            "PUT",
            ENDPOINT,
            {
                "location": "westeurope",
                "properties": {"privateLinkResourceId": "/x", "privateLinkServiceUrl": "short"},
            },
            (400, "PrivateLinkServiceInvalidHostname"),
        ),
    ],
)
def test_a_refusal_has_the_code_that_azure_sends(
    azure: Azure, method: str, path: str, body: JsonObject | None, expected: tuple[int, str]
) -> None:
    assert azure.error(azure.call(method, path, body)) == expected


def test_a_rules_source_without_streams_is_named_in_the_details(azure: Azure) -> None:
    path = f"{GROUP}/providers/Microsoft.Insights/dataCollectionRules/dcr"
    sources = {"prometheusForwarder": [{"name": "prometheus"}]}
    body = {"location": "westeurope", "properties": {"dataSources": sources}}
    error = azure.call("PUT", path, body).json()["error"]
    assert error["code"] == "InvalidPayload"
    (detail,) = error["details"]
    assert detail["code"] == "InvalidDataSource"
    assert detail["target"] == "properties.dataSources.prometheusForwarder[0].streams"


def test_an_extension_version_that_does_not_exist_is_accepted_and_its_failed_extension_stays(
    azure: Azure,
) -> None:
    properties = {
        "extensionType": "microsoft.inspektorgadget",
        "releaseTrain": "preview",
        "autoUpgradeMinorVersion": False,
        "version": "99.0.0",
    }
    answer = azure.call("PUT", EXTENSION, {"properties": properties})
    assert answer.status_code == 201
    document = azure.follow(answer.headers["Azure-AsyncOperation"])
    assert dig(document, "error", "code") == "ExtensionOperationFailed"
    assert dig(azure.get(EXTENSION), "properties", "provisioningState") == "Failed"


# --- tokens ---------------------------------------------------------------------------------------


class Front:
    """ARM in this process, for tokens that the identity endpoint never gives out."""

    def __init__(self) -> None:
        self.world = World(Clock(0))
        plant(self.world)
        self._arm = ArmService(self.world)

    def get(self, path: str, **claims: object) -> Response:
        """The answer to somebody with these claims."""
        defaults: JsonObject = {
            "aud": "https://management.azure.com/",
            "exp": 2**33,
            "oid": CALLER_ID,
        }
        token = sign(self.world, {**defaults, **claims})
        query, headers = {"api-version": "2024-11-01"}, {"authorization": f"Bearer {token}"}
        return self._arm.handle(Request("GET", path, query, headers))


def code_of(answer: Response) -> tuple[int, str]:
    body = as_object(json.loads(answer.encoded()))
    return answer.status, as_text(dig(body, "error", "code"))


def test_a_token_that_has_expired_or_is_for_another_audience_is_told_apart() -> None:
    front = Front()
    assert front.get(GROUP).status == 200
    assert code_of(front.get(GROUP, exp=1)) == (401, "ExpiredAuthenticationToken")
    wrong = front.get(GROUP, aud="https://graph.microsoft.com")
    assert code_of(wrong) == (401, "InvalidAuthenticationTokenAudience")


def test_a_token_of_another_directory_is_refused_and_lists_only_its_own_subscriptions() -> None:
    front = Front()
    other, tenant = "33333333-3333-4333-8333-333333333333", "99999999-0000-4000-8000-000000000000"
    front.world.settings["subscriptions"] = {other: tenant}
    refused = front.get(f"/subscriptions/{other}", tid=front.world.principals[CALLER_ID].id)
    assert code_of(refused) == (401, "InvalidAuthenticationTokenTenant")
    assert front.get(f"/subscriptions/{other}", tid=tenant).status == 200
    listed = as_objects(as_object(front.get("/subscriptions", tid=tenant).body)["value"])
    assert [item["subscriptionId"] for item in listed] == [other]


# --- locks, networks, names, commands -------------------------------------------------------------


def test_a_lock_refuses_to_delete_what_it_is_on_what_is_below_and_what_would_take_it_along(
    azure: Azure,
) -> None:
    azure.add_pool()
    azure.arm("PUT", LOCK, "2016-09-01", {"properties": {"level": "CanNotDelete"}})
    for path in (CLUSTER, POOL, GROUP):
        assert azure.error(azure.call("DELETE", path)) == (409, "ScopeLocked")
    azure.add_pool(count=2)
    azure.call("DELETE", LOCK, **{"api-version": "2016-09-01"})
    azure.delete(POOL)


def test_a_read_only_lock_refuses_every_write_and_every_action(azure: Azure) -> None:
    azure.arm("PUT", LOCK, "2016-09-01", {"properties": {"level": "ReadOnly"}})
    assert azure.error(azure.call("PUT", POOL, {"properties": {"count": 1}})) == (
        409,
        "ScopeLocked",
    )
    credential = azure.call("POST", f"{CLUSTER}/listClusterUserCredential")
    assert azure.error(credential) == (409, "ScopeLocked")
    assert azure.call("GET", CLUSTER).status_code == 200


def test_a_subnet_of_a_network_is_a_resource_that_its_network_lists(azure: Azure) -> None:
    azure.make_network(NETWORK, "nodes")
    subnet = f"{NETWORK}/subnets/nodes"
    shown = as_object(azure.get(subnet)["properties"])
    assert shown["privateLinkServiceNetworkPolicies"] == "Enabled"
    listed = as_objects(dig(azure.get(NETWORK), "properties", "subnets"))
    assert [item["id"] for item in listed] == [subnet]
    azure.move_into(subnet, CLUSTER)
    answer = azure.call("DELETE", subnet)
    document = azure.follow(answer.headers["Azure-AsyncOperation"])
    assert dig(document, "error", "code") == "InUseSubnetCannotBeDeleted"


def test_the_pools_of_a_cluster_are_in_one_network_and_the_caller_may_join_the_subnet(
    azure: Azure,
) -> None:
    """AKS' own words where it manages the network (azure-docs 116169)."""
    azure.make_network(NETWORK, "nodes", "gpus")
    other = f"{NETWORK}-2"
    azure.make_network(other, "gpus")

    def refusal(subnet: str) -> tuple[int, str, str]:
        pool = {"count": 1, "vmSize": "Standard_D4s_v5", "vnetSubnetID": subnet}
        answer = azure.call("PUT", POOL, {"properties": pool})
        document = as_object(answer.json())
        said = as_object(document.get("error") or document)
        return answer.status_code, as_text(said.get("code")), as_text(said.get("message"))

    gpus = f"{NETWORK}/subnets/gpus"
    status, code, said = refusal(gpus)
    assert (status, code) == (400, "InvalidParameter")
    assert said == (
        "Cannot use a custom subnet because agent pool system is using a managed subnet. Please "
        "omit the vnetSubnetID parameter from the request."
    )
    azure.move_into(f"{NETWORK}/subnets/nodes", CLUSTER)
    assert "does not match" in refusal(f"{other}/subnets/gpus")[2]
    assert "could not be found" in refusal(f"{NETWORK}/subnets/none")[2]
    nobody = str(uuid.uuid4())
    azure.settings(principals=[{"id": nobody}])
    scope = f"{CLUSTER}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    definitions = f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
    role = {
        "roleDefinitionId": f"{definitions}/{roles.CONTRIBUTOR}",
        "principalId": nobody,
        "principalType": "ServicePrincipal",
    }
    azure.put(scope, {"properties": role})
    azure.settings(caller=nobody)
    status, code, said = refusal(gpus)
    assert (status, code) == (403, "LinkedAuthorizationFailed")
    assert "'Microsoft.Network/virtualNetworks/subnets/join/action'" in said
    azure.settings(caller=CALLER_ID)
    assert refusal(gpus)[0] == 201


def test_a_name_that_somebody_else_in_the_world_has_is_not_available(azure: Azure) -> None:
    azure.settings(takenNames=["grafana-taken"])
    path = GRAFANA.replace("grafana-dev", "Grafana-Taken")
    answer = azure.call("PUT", path, {"location": "westeurope", "sku": {"name": "Standard"}})
    assert answer.status_code == 409


def test_run_command_runs_the_kubectl_of_the_documentation_and_tells_its_output(
    azure: Azure,
) -> None:
    cluster = Kubernetes(azure)
    cluster.make_namespace()
    cluster.release()
    command = "kubectl delete secret --namespace gadget --selector owner=helm,name=pyroscope"
    answer = azure.call("POST", f"{CLUSTER}/runCommand", {"command": command})
    assert answer.status_code == 202
    result = as_object(azure.http.get(answer.headers["Location"]).json()["properties"])
    assert (result["provisioningState"], result["exitCode"]) == ("Succeeded", 0)
    assert "sh.helm.release.v1.pyroscope.v1" in as_text(result["logs"])
    listed = cluster.call("GET", "/api/v1/namespaces/gadget/secrets").json()["items"]
    assert listed == []


def test_run_command_refuses_what_it_does_not_know(azure: Azure) -> None:
    answer = azure.call("POST", f"{CLUSTER}/runCommand", {"command": "helm rollback pyroscope"})
    result = as_object(azure.http.get(answer.headers["Location"]).json()["properties"])
    assert result["exitCode"] == 127
    assert "helm rollback" in as_text(result["logs"])


def test_deployment_safeguards_keep_the_namespaces_that_are_left_out(azure: Azure) -> None:
    path = f"{CLUSTER}/providers/Microsoft.ContainerService/deploymentSafeguards/default"
    missing = azure.call("GET", path, **{"api-version": "2025-07-01"})
    assert missing.status_code == 404
    properties: JsonObject = {"level": "Enforce", "excludedNamespaces": ["gadget"]}
    azure.arm("PUT", path, "2025-07-01", {"properties": properties})
    azure.advance(100)
    shown = as_object(azure.arm("GET", path, "2025-07-01")["properties"])
    assert shown["excludedNamespaces"] == ["gadget"]
    assert "kube-system" in texts(shown["systemExcludedNamespaces"])
