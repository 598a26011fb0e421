"""What azure-native 3.29 does, held by the simulator's own on the simulated ARM."""

import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.home import CHECKOUT
from simulator.plugins.azure_native import shapes, types
from simulator.plugins.azure_native.functions import FUNCTIONS, Action
from simulator.plugins.azure_native.sdk import generated
from simulator.plugins.azure_native.types import TYPES, ResourceType
from simulator.plugins.properties import UNKNOWN
from simulator.plugins.provider import Kind
from simulator.seed import SUBSCRIPTION_ID
from simulator.values import JsonObject, as_object, dig
from tests.azure_client import AzureClient, azure_client
from tests.simulator.plugin_process import CallFailed, Plugin, running, urn

GROUP = urn(types.RESOURCE_GROUP.pulumi_type, "group")
CLUSTER = urn(types.MANAGED_CLUSTER.pulumi_type, "cluster")
POOL = urn(types.AGENT_POOL.pulumi_type, "pool")
GRAFANA = urn(types.GRAFANA.pulumi_type, "grafana")
ENDPOINT = urn(types.MANAGED_PRIVATE_ENDPOINT.pulumi_type, "endpoint")
WORKSPACE = urn(types.AZURE_MONITOR_WORKSPACE.pulumi_type, "workspace")
COLLECTION_ENDPOINT = urn(types.DATA_COLLECTION_ENDPOINT.pulumi_type, "dce")
ROLE = urn(types.ROLE_ASSIGNMENT.pulumi_type, "role")

ROOT = f"/subscriptions/{SUBSCRIPTION_ID}/resourceGroups"


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzureClient]:
    with azure_client(tmp_path_factory.mktemp("azure")) as started:
        yield started


@pytest.fixture(scope="module")
def plugin(azure: AzureClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugin]:
    environment = {
        **azure.server.environment,
        "SIM_LATENCY": "0",
        "ARM_SUBSCRIPTION_ID": SUBSCRIPTION_ID,
    }
    module = "simulator.plugins.azure_native.provider"
    with running(module, cwd=tmp_path_factory.mktemp("cwd"), environment=environment) as started:
        started.configure({})
        yield started


@pytest.fixture(autouse=True)
def no_faults_left(azure: AzureClient) -> Iterator[None]:
    yield
    azure.settings(faults=[])


def fail(azure: AzureClient, **rule: object) -> None:
    azure.settings(faults=[rule])


def made_group(plugin: Plugin, name: str) -> str:
    inputs: JsonObject = {"resourceGroupName": name, "location": "westeurope"}
    plugin.create(GROUP, inputs)
    return name


def grafana_inputs(group: str, name: str) -> JsonObject:
    return {
        "resourceGroupName": group,
        "workspaceName": name,
        "location": "westeurope",
        "sku": {"name": "Standard"},
        "identity": {"type": "SystemAssigned"},
        "properties": {"grafanaMajorVersion": "12"},
    }


# --- declarations against the SDK ---------------------------------------------------------------


def sdk_inputs(declared: ResourceType) -> set[str]:
    """The inputs that the installed SDK's class takes, as they go over the wire."""
    _, module, name = declared.pulumi_type.split(":")
    source = importlib.import_module(f"pulumi_azure_native.{module}")
    # Where another type has the plain name, as for action groups.
    plain = f"{name}Args"
    arguments = getattr(source, f"{name}InitArgs", None) or getattr(source, plain)
    found = set[str]()
    for python_name, member in inspect.getmembers(arguments):
        if isinstance(member, property):
            getter = re.search(r'getter\(name="(\w+)"\)', inspect.getsource(member.fget))  # type: ignore[arg-type]
            found.add(getter.group(1) if getter else python_name)
    return found


@pytest.mark.parametrize("declared", TYPES.values(), ids=lambda declared: declared.pulumi_type)
def test_every_declared_type_has_exactly_the_inputs_of_the_sdk(declared: ResourceType) -> None:
    assert declared.inputs == sdk_inputs(declared)


@pytest.mark.parametrize("token", FUNCTIONS)
def test_every_declared_function_takes_the_arguments_of_the_sdk(token: str) -> None:
    _, module, name = token.split(":")
    python_name = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
    sdk = getattr(importlib.import_module(f"pulumi_azure_native.{module}"), python_name)
    takes = set(re.findall(r"__args__\['(\w+)'\]", inspect.getsource(sdk)))
    function = FUNCTIONS[token]
    optional = {name for name, _ in function.query} if isinstance(function, Action) else set[str]()
    assert set(function.type.path_inputs) | optional == takes


# --- create -------------------------------------------------------------------------------------


def test_a_long_create_is_waited_for_and_answers_what_the_sdk_expects(plugin: Plugin) -> None:
    group = made_group(plugin, "rg-create")
    made, outputs = plugin.create(GRAFANA, grafana_inputs(group, "graf-create"))
    assert (
        made.lower() == f"{ROOT}/{group}/providers/Microsoft.Dashboard/grafana/graf-create".lower()
    )
    assert dig(outputs, "properties", "provisioningState") == "Succeeded"
    assert str(dig(outputs, "properties", "endpoint")).startswith("https://")
    assert dig(outputs, "identity", "principalId")
    assert outputs["azureApiVersion"] == "2024-10-01"


def test_properties_are_flat_where_the_sdk_has_them_flat(plugin: Plugin) -> None:
    group = made_group(plugin, "rg-flat")
    inputs: JsonObject = {
        "resourceGroupName": group,
        "azureMonitorWorkspaceName": "amw-flat",
        "location": "westeurope",
    }
    _, outputs = plugin.create(WORKSPACE, inputs)
    assert str(dig(outputs, "metrics", "prometheusQueryEndpoint")).startswith("https://")
    assert "properties" not in outputs


def test_an_existing_resource_is_never_taken_over(plugin: Plugin) -> None:
    group = made_group(plugin, "rg-existing")
    with pytest.raises(CallFailed) as failure:
        plugin.create(GROUP, {"resourceGroupName": group, "location": "westeurope"})
    assert str(failure.value) == (f"cannot create already existing resource '{ROOT}/{group}'")
    assert failure.value.partial is None


def test_a_refusal_reads_status_code_and_message(plugin: Plugin) -> None:
    with pytest.raises(CallFailed) as failure:
        plugin.create(GRAFANA, grafana_inputs("rg-absent", "graf-absent"))
    assert re.fullmatch(
        r'Status=404 Code="ResourceGroupNotFound" Message="Resource group \'rg-absent\' .*"',
        str(failure.value),
    )


def test_an_existence_that_cannot_be_checked_is_an_error(
    plugin: Plugin, azure: AzureClient
) -> None:
    body = {"error": {"code": "AuthorizationFailed", "message": "no"}}
    fail(azure, service="arm", method="GET", then={"status": 403, "body": body})
    with pytest.raises(CallFailed, match=r"cannot check existence of resource .*status code 403"):
        plugin.create(GROUP, {"resourceGroupName": "rg-403", "location": "westeurope"})


def test_a_failed_operation_keeps_the_resource_in_state_with_its_inputs(
    plugin: Plugin, azure: AzureClient
) -> None:
    group = made_group(plugin, "rg-partial")
    inputs = grafana_inputs(group, "graf-partial")
    error = {"code": "InternalServerError", "message": 'the "region" is full'}
    outcome = {"operation": {"status": "Failed", "error": error}}
    fail(azure, service="arm", method="PUT", path=".*/grafana/graf-partial", then=outcome)
    with pytest.raises(CallFailed) as failure:
        plugin.create(GRAFANA, inputs)
    assert 'Code="InternalServerError"' in str(failure.value)
    assert r'Message="the \"region\" is full"' in str(failure.value)
    partial = failure.value.partial
    assert partial is not None
    assert partial.id.endswith("/grafana/graf-partial")
    assert partial.inputs.fields["workspaceName"].string_value == "graf-partial"
    state = partial.properties.fields["properties"].struct_value.fields["provisioningState"]
    assert state.string_value == "Failed"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_passing_refusal_is_retried(plugin: Plugin, azure: AzureClient, status: int) -> None:
    name = f"rg-retry-{status}"
    fail(azure, service="arm", method="PUT", count=2, then={"status": status})
    made, _ = plugin.create(GROUP, {"resourceGroupName": name, "location": "westeurope"})
    assert made.endswith(name)


def test_a_dropped_connection_is_retried(plugin: Plugin, azure: AzureClient) -> None:
    fail(azure, service="arm", method="PUT", count=1, then={"drop": "before"})
    made, _ = plugin.create(GROUP, {"resourceGroupName": "rg-drop", "location": "westeurope"})
    assert made.endswith("rg-drop")


def test_of_the_conflicts_only_another_operation_in_progress_is_retried(
    plugin: Plugin, azure: AzureClient
) -> None:
    for code, retried in (("AnotherOperationInProgress", True), ("ConflictInProcessing", False)):
        body = {"error": {"code": code, "message": "busy"}}
        then = {"status": 409, "body": body}
        fail(azure, service="arm", method="PUT", count=1, then=then)
        inputs: JsonObject = {"resourceGroupName": f"rg-{code}", "location": "westeurope"}
        if retried:
            plugin.create(GROUP, inputs)
        else:
            with pytest.raises(CallFailed, match='Status=409 Code="ConflictInProcessing"'):
                plugin.create(GROUP, inputs)


def test_a_resource_provider_that_is_not_registered_is_registered(
    plugin: Plugin, azure: AzureClient
) -> None:
    group = made_group(plugin, "rg-register")
    azure.settings(registrations={"Microsoft.Dashboard": "NotRegistered"})
    made, _ = plugin.create(GRAFANA, grafana_inputs(group, "graf-register"))
    assert made.endswith("graf-register")


# --- check --------------------------------------------------------------------------------------


def test_the_location_is_the_groups_where_the_program_gives_none(plugin: Plugin) -> None:
    group = made_group(plugin, "rg-located")
    inputs = grafana_inputs(group, "graf-located")
    del inputs["location"]
    assert plugin.check(GRAFANA, inputs)["location"] == "westeurope"


def test_the_location_is_unknown_while_the_group_is(plugin: Plugin) -> None:
    inputs = grafana_inputs("later", "graf-later")
    del inputs["location"]
    inputs["resourceGroupName"] = UNKNOWN
    assert plugin.check(GRAFANA, inputs)["location"] is UNKNOWN


def test_the_location_stays_what_it_was(plugin: Plugin) -> None:
    inputs = grafana_inputs("rg-any", "graf-any")
    del inputs["location"]
    assert plugin.check(GRAFANA, inputs, {"location": "northeurope"})["location"] == "northeurope"


def test_a_missing_name_is_made_up_once(plugin: Plugin) -> None:
    inputs: JsonObject = {"location": "westeurope"}
    name = str(plugin.check(GROUP, inputs)["resourceGroupName"])
    assert re.fullmatch(r"group[0-9a-f]{8}", name)
    assert plugin.check(GROUP, inputs, {"resourceGroupName": name})["resourceGroupName"] == name


def test_an_unknown_input_is_refused(plugin: Plugin) -> None:
    answer = plugin.check_response(GROUP, {"location": "westeurope", "lokation": "x"})
    assert [failure.property for failure in answer.failures] == ["lokation"]


def test_a_missing_required_input_is_refused(plugin: Plugin) -> None:
    answer = plugin.check_response(ROLE, {"principalId": "p"})
    assert {failure.property for failure in answer.failures} == {"roleDefinitionId", "scope"}


def test_an_unknown_type_or_function_is_an_error(plugin: Plugin) -> None:
    with pytest.raises(CallFailed, match="azure-native:storage:Queue"):
        plugin.check(urn("azure-native:storage:Queue"), {})
    with pytest.raises(CallFailed, match="azure-native:network:getPrivateLinkService"):
        plugin.invoke("azure-native:network:getPrivateLinkService", {})


def pool_inputs(**changes: object) -> JsonObject:
    return {
        "resourceGroupName": "rg",
        "resourceName": "aks",
        "agentPoolName": "gpu",
        "count": 1,
        **changes,
    }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"agentPoolName": "GPU"}, "'agentPoolName' does not match expression"),
        ({"agentPoolName": "g" * 13}, "'agentPoolName' is too long (13)"),
        ({"count": "1"}, "'count' should be of type 'integer' but got a string"),
        ({"vmSize": 4}, "'vmSize' should be of type 'string' but got a number"),
        ({"gpuProfile": {"driver": 1}}, "'gpuProfile.driver' should be of type 'string'"),
        ({"osDiskSizeGB": 4096}, "'osDiskSizeGB' is too high"),
        ({"nodeTaints": "a"}, "'nodeTaints' should be of type 'array' but got a string"),
        ({"resourceGroupName": ""}, "'resourceGroupName' is too short (0)"),
    ],
)
def test_nested_inputs_are_checked_before_anything_is_sent(
    plugin: Plugin, change: JsonObject, reason: str
) -> None:
    answer = plugin.check_response(POOL, pool_inputs(**change))
    assert any(failure.reason.startswith(reason) for failure in answer.failures), answer.failures


def test_a_nested_member_that_is_required_is_asked_for(plugin: Plugin) -> None:
    profile = {"mode": "System", "count": 1}
    inputs = {"resourceGroupName": "rg", "resourceName": "aks", "agentPoolProfiles": [profile]}
    answer = plugin.check_response(CLUSTER, {**inputs, "location": "westeurope"})
    assert [failure.reason for failure in answer.failures] == [
        "missing required property 'agentPoolProfiles[0].name'"
    ]


def test_the_shapes_are_those_of_the_installed_sdk() -> None:
    assert shapes.FILE.read_text() == generated(iter(TYPES)), (
        "run python -m simulator.plugins.azure_native.sdk"
    )


def test_nested_members_that_the_sdk_does_not_have_never_reach_arm() -> None:
    inputs = pool_inputs(gpuProfile={"driver": "Install", "driverType": "CUDA"})
    body = as_object(types.AGENT_POOL.body(inputs)["properties"])
    assert body["gpuProfile"] == {"driver": "Install"}


# --- diff ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "name", "replaces"),
    [
        (CLUSTER, "dnsPrefix", True),
        (CLUSTER, "nodeResourceGroup", True),
        (CLUSTER, "location", True),
        (CLUSTER, "kubernetesVersion", False),
        (POOL, "vmSize", True),
        (POOL, "gpuInstanceProfile", True),
        (POOL, "maxCount", False),
        (ENDPOINT, "privateLinkResourceId", True),
        (ENDPOINT, "requestMessage", True),
        (ENDPOINT, "tags", False),
        (ROLE, "principalId", True),
        (ROLE, "scope", True),
        (ROLE, "description", False),
        (urn(types.EXTENSION.pulumi_type), "extensionType", False),
        (urn(types.EXTENSION.pulumi_type), "clusterName", True),
        (GRAFANA, "workspaceName", True),
    ],
)
def test_what_azure_native_marks_as_create_only_replaces_and_nothing_else(
    plugin: Plugin, address: str, name: str, replaces: bool
) -> None:
    answer = plugin.diff(address, {name: "old"}, {name: "new"})
    assert bool(answer.replaces) is replaces
    # Two resources of one name cannot exist, so the old one goes first.
    assert answer.deleteBeforeReplace is replaces


def test_a_location_written_another_way_is_no_difference(plugin: Plugin) -> None:
    old = grafana_inputs("rg", "graf")
    answer = plugin.diff(GRAFANA, old, {**old, "location": "West Europe"})
    assert answer.changes == 1


def test_an_unknown_create_only_input_replaces(plugin: Plugin) -> None:
    old: JsonObject = {"privateLinkResourceId": "/a"}
    answer = plugin.diff(ENDPOINT, old, {"privateLinkResourceId": UNKNOWN})
    assert list(answer.replaces) == ["privateLinkResourceId"]


def test_a_nested_difference_names_its_path(plugin: Plugin) -> None:
    old: JsonObject = {"properties": {"grafanaMajorVersion": "11"}}
    new: JsonObject = {"properties": {"grafanaMajorVersion": "12"}}
    assert list(plugin.diff(GRAFANA, old, new).detailedDiff) == ["properties.grafanaMajorVersion"]


@pytest.mark.parametrize(
    ("name", "old", "new", "kind"),
    [
        ("networkProfile", {"podCidr": "10.0.0.0/8"}, {"podCidr": "10.1.0.0/16"}, "UPDATE_REPLACE"),
        ("networkProfile", {}, {"outboundType": "none"}, "ADD_REPLACE"),
        ("networkProfile", {"loadBalancerSku": "basic"}, {"loadBalancerSku": "standard"}, "UPDATE"),
        ("networkProfile", {"ipFamilies": ["IPv4"]}, {"ipFamilies": ["IPv6"]}, "UPDATE"),
        ("linuxProfile", {"adminUsername": "a"}, {"adminUsername": "b"}, "UPDATE_REPLACE"),
        ("linuxProfile", {"adminUsername": "a"}, {"adminUsername": "a", "ssh": {}}, "ADD"),
        ("linuxProfile", {"adminUsername": "a", "ssh": {}}, {"adminUsername": "a"}, "DELETE"),
    ],
)
def test_inside_an_object_that_replaces_only_changed_values_do(
    plugin: Plugin, name: str, old: JsonObject, new: JsonObject, kind: str
) -> None:
    answer = plugin.diff(CLUSTER, {name: old}, {name: new})
    (found,) = answer.detailedDiff.values()
    assert Kind(found.kind).name == kind


def test_an_array_that_changes_is_sent_in_place_even_where_its_path_replaces(
    plugin: Plugin,
) -> None:
    answer = plugin.diff(ENDPOINT, {"groupIds": ["a"]}, {"groupIds": ["b", "c"]})
    kinds = {path: Kind(found.kind).name for path, found in answer.detailedDiff.items()}
    assert kinds == {"groupIds[0]": "UPDATE", "groupIds[1]": "ADD"}


# --- preview ------------------------------------------------------------------------------------


def test_a_preview_shows_inputs_and_knows_nothing_the_service_sets(plugin: Plugin) -> None:
    made, outputs = plugin.create(GRAFANA, grafana_inputs("rg", "graf"), preview=True)
    assert made == ""
    assert dig(outputs, "sku", "name") == "Standard"
    assert dig(outputs, "properties", "endpoint") is UNKNOWN
    assert dig(outputs, "identity", "principalId") is UNKNOWN
    assert "name" not in outputs


def test_a_preview_of_an_update_still_knows_name_and_location(plugin: Plugin) -> None:
    old: JsonObject = {"name": "graf", "location": "westeurope"}
    outputs = plugin.update(GRAFANA, "/id", old, grafana_inputs("rg", "graf"), preview=True)
    assert (outputs["name"], outputs["location"]) == ("graf", "westeurope")
    assert dig(outputs, "properties", "endpoint") is UNKNOWN


# --- update, refresh, import, delete ------------------------------------------------------------


def test_refresh_takes_only_what_left_the_last_known_state(
    plugin: Plugin, azure: AzureClient
) -> None:
    group = made_group(plugin, "rg-drift")
    inputs = grafana_inputs(group, "graf-drift")
    made, state = plugin.create(GRAFANA, inputs)
    assert plugin.read(GRAFANA, made, inputs, state)[1] == inputs
    azure.arm("PATCH", made, body={"tags": {"by": "hand"}})
    _, live, _ = plugin.read(GRAFANA, made, inputs, state)
    assert live == {**inputs, "tags": {"by": "hand"}}


@pytest.mark.parametrize(
    ("body", "gone"),
    [
        ({"error": {"code": "ResourceGroupNotFound", "message": ""}}, True),
        ({"error": {"code": "NotFound", "message": ""}}, True),
        ({"error": {"code": "ContainerNotFound", "message": ""}}, False),
        ("<html>blocked by the proxy</html>", False),
    ],
)
def test_a_404_tells_that_a_resource_is_gone_only_with_a_code_that_says_so(
    plugin: Plugin, azure: AzureClient, body: object, gone: bool
) -> None:
    made = f"{ROOT}/{made_group(plugin, f'rg-404-{len(str(body))}')}"
    inputs: JsonObject = {"resourceGroupName": made.rpartition("/")[2]}
    fail(azure, service="arm", method="GET", then={"status": 404, "body": body})
    if gone:
        assert plugin.read(GROUP, made, inputs, {}) == ("", {}, {})
    else:
        with pytest.raises(CallFailed, match="Status=404"):
            plugin.read(GROUP, made, inputs, {})


def test_a_read_that_fails_after_a_write_is_a_warning(plugin: Plugin, azure: AzureClient) -> None:
    then = {"status": 403, "body": {"error": {"code": "AuthorizationFailed", "message": "no"}}}
    rule = {"service": "arm", "method": "GET", "path": f"{ROOT}/rg-unread"}
    azure.settings(faults=[{**rule, "from": 2, "then": then}])
    made, outputs = plugin.create(
        GROUP, {"resourceGroupName": "rg-unread", "location": "westeurope"}
    )
    assert made == f"{ROOT}/rg-unread"
    assert outputs["name"] == "rg-unread"


def test_what_was_accepted_stays_in_state_when_its_poll_fails(
    plugin: Plugin, azure: AzureClient
) -> None:
    group = made_group(plugin, "rg-poll")
    then = {"status": 403, "body": {"error": {"code": "AuthorizationFailed", "message": "no"}}}
    rule = {"service": "arm", "method": "GET", "path": ".*/operationStatuses/.*"}
    fail(azure, **rule, then=then)
    with pytest.raises(CallFailed, match="AuthorizationFailed") as failure:
        plugin.create(GRAFANA, grafana_inputs(group, "graf-poll"))
    assert failure.value.partial is not None
    assert failure.value.partial.id.endswith("/graf-poll")


def test_an_answer_without_json_is_an_error(plugin: Plugin, azure: AzureClient) -> None:
    fail(azure, service="arm", method="PUT", then={"status": 200, "body": "<html></html>"})
    with pytest.raises(CallFailed, match=r"unexpected response from Azure: .* 200 OK"):
        plugin.create(GROUP, {"resourceGroupName": "rg-html", "location": "westeurope"})


@pytest.mark.parametrize(
    ("text", "is_long", "believed"),
    [
        ("<html></html>", True, False),
        ("<html></html>", False, True),
        ("", True, True),
        ("", False, True),
    ],
)
def test_a_success_of_a_deletion_is_believed_unless_a_long_one_is_no_json(
    plugin: Plugin, azure: AzureClient, text: str, is_long: bool, believed: bool
) -> None:
    name = f"rg-deleted-{len(text)}-{is_long}"
    group = made_group(plugin, name)
    kind, made = GROUP, f"{ROOT}/{group}"
    inputs: JsonObject = {"resourceGroupName": group, "location": "westeurope"}
    if not is_long:
        kind = COLLECTION_ENDPOINT
        inputs["dataCollectionEndpointName"] = "dce"
        made, _ = plugin.create(kind, inputs)
    fail(azure, service="arm", method="DELETE", then={"status": 200, "text": text})
    if believed:
        plugin.delete(kind, made, {})
    else:
        with pytest.raises(CallFailed, match="invalid character '<' looking for beginning of val"):
            plugin.delete(kind, made, {})
    assert plugin.read(kind, made, inputs, {})[0] == made


def test_a_resource_that_is_gone_reads_as_gone(plugin: Plugin) -> None:
    made = f"{ROOT}/rg-gone"
    assert plugin.read(GROUP, made, {"resourceGroupName": "rg-gone"}, {}) == ("", {}, {})


def test_an_import_rebuilds_the_inputs_from_id_and_object(plugin: Plugin) -> None:
    group = made_group(plugin, "rg-import")
    inputs = grafana_inputs(group, "graf-import")
    made, _ = plugin.create(GRAFANA, inputs)
    _, rebuilt, _ = plugin.read(GRAFANA, made)
    # The next `up` must not replace it.
    assert not plugin.diff(GRAFANA, rebuilt, {**rebuilt, **inputs}).replaces
    assert rebuilt["workspaceName"] == "graf-import"


def test_an_import_of_another_types_id_says_what_the_id_looks_like(plugin: Plugin) -> None:
    with pytest.raises(CallFailed, match="looks like /subscriptions/"):
        plugin.read(GRAFANA, f"{ROOT}/rg-import-wrong")


def test_deleting_what_is_gone_succeeds(plugin: Plugin) -> None:
    plugin.delete(GRAFANA, f"{ROOT}/rg-none/providers/Microsoft.Dashboard/grafana/none", {})


def test_delete_returns_when_the_resource_is_gone(plugin: Plugin, azure: AzureClient) -> None:
    group = made_group(plugin, "rg-delete")
    made, state = plugin.create(GRAFANA, grafana_inputs(group, "graf-delete"))
    plugin.delete(GRAFANA, made, state)
    assert azure.call("GET", made).status_code == 404


def test_whole_numbers_reach_arm_as_integers(plugin: Plugin, azure: AzureClient) -> None:
    group = made_group(plugin, "rg-numbers")
    cluster: JsonObject = {
        "resourceGroupName": group,
        "resourceName": "aks-numbers",
        "location": "westeurope",
        "dnsPrefix": "n",
        "identity": {"type": "SystemAssigned"},
        "agentPoolProfiles": [
            {"name": "sys", "mode": "System", "count": 2, "vmSize": "Standard_D4s_v5"}
        ],
    }
    made, _ = plugin.create(CLUSTER, cluster)
    pools = json.loads(azure.call("GET", made).text)["properties"]["agentPoolProfiles"]
    assert [type(pool["count"]) for pool in pools] == [int]


# --- functions ----------------------------------------------------------------------------------


def test_the_client_configuration_is_what_the_token_says(plugin: Plugin) -> None:
    found = plugin.invoke("azure-native:authorization:getClientConfig", {})
    assert found["subscriptionId"] == SUBSCRIPTION_ID
    assert found["objectId"]
    assert found["tenantId"]


def test_a_get_function_answers_outputs_and_id(plugin: Plugin) -> None:
    group = made_group(plugin, "rg-get")
    made, _ = plugin.create(GRAFANA, grafana_inputs(group, "graf-get"))
    arguments: JsonObject = {"resourceGroupName": group, "workspaceName": "graf-get"}
    found = plugin.invoke("azure-native:dashboard:getGrafana", arguments)
    assert found["id"] == made
    assert as_object(found["properties"])["endpoint"]


def test_a_get_of_something_absent_is_an_error(plugin: Plugin) -> None:
    arguments: JsonObject = {"resourceGroupName": "rg-none", "workspaceName": "none"}
    with pytest.raises(CallFailed, match="Status=404"):
        plugin.invoke("azure-native:dashboard:getGrafana", arguments)


def test_a_function_refuses_unknown_and_missing_arguments(plugin: Plugin) -> None:
    with pytest.raises(CallFailed, match="unknown arguments name"):
        plugin.invoke("azure-native:dashboard:getGrafana", {"name": "x"})
    with pytest.raises(CallFailed, match="missing arguments workspaceName"):
        plugin.invoke("azure-native:dashboard:getGrafana", {"resourceGroupName": "x"})


def test_without_the_simulated_arm_it_says_so_and_calls_nothing(tmp_path: Path) -> None:
    module = "simulator.plugins.azure_native.provider"
    environment = {"ARM_SUBSCRIPTION_ID": SUBSCRIPTION_ID, "PATH": "/usr/bin:/bin"}
    with (
        running(module, cwd=tmp_path, environment=environment) as plugin,
        pytest.raises(CallFailed, match="SIM_ARM_URL is not set"),
    ):
        plugin.create(GROUP, {"resourceGroupName": "x", "location": "westeurope"})


def test_the_stubs_of_the_plugins_leave_the_sdk_importable() -> None:
    code = "import simulator.plugins.stubs, pulumi; pulumi.ResourceOptions()"
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, check=False)
    assert done.returncode == 0
