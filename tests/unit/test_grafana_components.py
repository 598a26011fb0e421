"""Grafana's workspace, private endpoint, data sources and dashboard."""

import json
from dataclasses import replace
from typing import Any

import pytest

from components.grafana_dashboard import FolderArgs, GrafanaDashboard, GrafanaDashboardArgs
from components.grafana_data_sources import (
    GrafanaDataSources,
    GrafanaDataSourcesArgs,
    PrometheusSourceArgs,
    PyroscopeSourceArgs,
)
from components.grafana_private_endpoint import GrafanaPrivateEndpoint, GrafanaPrivateEndpointArgs
from components.grafana_role_assignments import GrafanaRoleArgs, PrincipalArgs
from components.grafana_target import GrafanaTargetArgs, OwnerArgs
from components.grafana_workspace import (
    ExistingGrafanaArgs,
    GrafanaWorkspace,
    GrafanaWorkspaceArgs,
    NewGrafanaArgs,
)
from contract.choices import GrafanaRole, PrincipalType
from contract.messages.base import Verb, command_line
from contract.messages.grafana import DataSourceRequest, Source
from tests.unit import answers
from tests.unit.recording import Recorded, record

GRAFANA = "azure-native:dashboard:Grafana"
ROLE = "azure-native:authorization:RoleAssignment"
STASH = "pulumi:index:Stash"
PRIVATE_ENDPOINT = "azure-native:dashboard:ManagedPrivateEndpoint"
COMMAND = "command:local:Command"

PERSON = PrincipalArgs(id="55555555-5555-4555-8555-555555555555", type=PrincipalType.USER)
TEAM = PrincipalArgs(id="66666666-6666-4666-8666-666666666666", type=PrincipalType.GROUP)
NEW = NewGrafanaArgs(major_version="12", zone_redundancy=True, deployer=PERSON, tags={"a": "b"})
EXISTING = ExistingGrafanaArgs(
    id=answers.GRAFANA_ID,
    endpoint=f"{answers.ENDPOINT}/",
    principal_id=answers.GRAFANA_PRINCIPAL,
)
WORKSPACE = GrafanaWorkspaceArgs(
    workspace_name="grafana-dev",
    resource_group_name="rg-dev",
    location="westeurope",
    subscription_id=answers.SUBSCRIPTION,
    new=NEW,
    roles=[],
)


def workspace(**changes: Any) -> Recorded:
    args = replace(WORKSPACE, **changes)
    return record(
        lambda: GrafanaWorkspace("grafana", args), answer_resource=answers.Azure().resource
    )


def existing(**changes: Any) -> Recorded:
    return workspace(existing=EXISTING, new=None, **changes)


# --- the workspace -----------------------------------------------------------------------------


def test_a_new_workspace_is_of_the_tier_that_knows_private_endpoints() -> None:
    grafana = workspace().only(GRAFANA)
    assert grafana.parent == "grafana"
    assert grafana.inputs["sku"] == {"name": "Standard"}
    assert grafana.inputs["identity"] == {"type": "SystemAssigned"}
    assert grafana.inputs["properties"]["grafanaMajorVersion"] == "12"
    assert grafana.inputs["properties"]["zoneRedundancy"] == "Enabled"
    assert grafana.inputs["tags"] == {"a": "b"}
    assert grafana.delete_before_replace


def test_the_endpoint_has_no_slash_at_its_end() -> None:
    assert workspace().outputs["grafana"]["endpoint"] == answers.ENDPOINT
    assert existing().outputs["grafana"]["endpoint"] == answers.ENDPOINT


def test_an_existing_workspace_is_left_alone_and_holds_the_order() -> None:
    recorded = existing()
    assert [one.type for one in recorded.resources if one.custom] == [STASH]


def test_who_made_the_workspace_keeps_the_role_when_a_colleague_deploys() -> None:
    role = workspace().named("grafana-deployer")
    assert role.inputs["principalId"] == PERSON.id
    assert role.ignore_changes == {"principalId", "principalType", "roleAssignmentName"}


def test_further_roles_are_granted_on_the_workspace_with_their_principals_type() -> None:
    granted = GrafanaRoleArgs(principal=TEAM, role=GrafanaRole.VIEWER)
    recorded = existing(roles=[granted])
    role = recorded.only(ROLE)
    assert role.inputs["scope"] == answers.GRAFANA_ID
    assert role.inputs["principalType"] == "Group"
    assert role.inputs["roleDefinitionId"].endswith("/60921a7e-fef1-4a43-9b16-a26c52ad4769")
    assert role.ignore_changes == frozenset()
    assert recorded.of_type(STASH) == [], "the role holds the order already"


@pytest.mark.handles("principal-not-found")
def test_grafanas_identity_is_named_as_what_it_is() -> None:
    role = existing(metrics_workspace_id=answers.WORKSPACE_ID).only(ROLE)
    assert role.inputs["principalId"] == answers.GRAFANA_PRINCIPAL
    assert role.inputs["principalType"] == "ServicePrincipal"
    assert role.inputs["scope"] == answers.WORKSPACE_ID


def test_the_deployer_is_not_granted_the_same_role_twice() -> None:
    same = GrafanaRoleArgs(principal=replace(PERSON, id=PERSON.id.upper()), role=GrafanaRole.ADMIN)
    other = GrafanaRoleArgs(principal=PERSON, role=GrafanaRole.EDITOR)
    names = {one.name for one in workspace(roles=[same, other]).of_type(ROLE)}
    assert names == {"grafana-deployer", f"grafana-editor-{PERSON.id}"}


def test_equal_grants_have_equal_names_and_others_others() -> None:
    def name(**changes: Any) -> str:
        return existing(**changes).only(ROLE).inputs["roleAssignmentName"]

    granted = GrafanaRoleArgs(principal=TEAM, role=GrafanaRole.VIEWER)
    one = name(roles=[granted])
    assert one == name(roles=[granted])
    assert one != name(roles=[replace(granted, role=GrafanaRole.EDITOR)])
    assert one != name(roles=[replace(granted, principal=PERSON)])
    other = replace(EXISTING, id=f"{answers.GRAFANA_ID}-2")
    moved = workspace(existing=other, new=None, roles=[granted])
    assert one != moved.only(ROLE).inputs["roleAssignmentName"]


def test_neither_yours_nor_a_new_one_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="neither"):
        workspace(new=None)


# --- the private endpoint ----------------------------------------------------------------------

ENDPOINT = GrafanaPrivateEndpointArgs(
    workspace_name="grafana-dev",
    workspace_id=answers.GRAFANA_ID,
    resource_group_name="rg-dev",
    location="westeurope",
    endpoint_name="p-dev",
    private_link_id="/privateLinkServices/pls",
    private_link_location="northeurope",
    request_message="gpuobs dev",
    observed="token",
)


def endpoint(**changes: Any) -> Recorded:
    args = replace(ENDPOINT, **changes)
    return record(
        lambda: GrafanaPrivateEndpoint("endpoint", args), answer_resource=answers.Azure().resource
    )


def test_the_endpoint_points_at_the_link_and_says_whose_it_is() -> None:
    made = endpoint().only(PRIVATE_ENDPOINT)
    assert made.inputs == {
        "managedPrivateEndpointName": "p-dev",
        "workspaceName": "grafana-dev",
        "resourceGroupName": "rg-dev",
        "location": "westeurope",
        "privateLinkResourceId": "/privateLinkServices/pls",
        "privateLinkResourceRegion": "northeurope",
        "requestMessage": "gpuobs dev",
    }
    assert made.delete_before_replace
    assert made.replace_on_changes == {"#initerror"}


def test_the_approval_is_asked_for_exactly_that_endpoints_connection() -> None:
    approval = endpoint().only(COMMAND)
    assert approval.inputs["create"] == command_line(Verb.APPROVE_PRIVATE_ENDPOINT)
    assert json.loads(approval.inputs["stdin"]) == {
        "grafanaId": answers.GRAFANA_ID,
        "endpointName": "p-dev",
        "privateLinkId": "/privateLinkServices/pls",
        "requestMessage": "gpuobs dev",
    }
    assert approval.property_depends_on["triggers"] == {"endpoint-endpoint"}
    assert approval.inputs["delete"] == command_line(Verb.DELETE_PRIVATE_ENDPOINT)


def test_state_and_address_are_what_the_approval_answered() -> None:
    assert endpoint().outputs["endpoint"] == {
        "state": "Approved",
        "privateIp": answers.PRIVATE_IP,
        "approvalId": "endpoint-approval-id",
    }


def test_a_token_is_no_input_of_the_component() -> None:
    recorded = endpoint()
    assert "observed" not in recorded.named("endpoint").inputs
    environment = recorded.only(COMMAND).inputs["environment"]
    assert environment == {"GPUOBS_OBSERVED": "token"}


# --- data sources ------------------------------------------------------------------------------

TARGET = GrafanaTargetArgs(endpoint=answers.ENDPOINT, workspace_id=answers.GRAFANA_ID)
OWNER = OwnerArgs(cluster_id=answers.CLUSTER_ID, project="gpuobs", stack="dev")
PROFILES = PyroscopeSourceArgs(
    name="profiles", uid="profiles-uid", url="http://10.0.0.4:4040", endpoint_id="approval-1"
)
SOURCES = GrafanaDataSourcesArgs(
    target=TARGET,
    owner=OWNER,
    pyroscope=PROFILES,
    prometheus=PrometheusSourceArgs(
        name="metrics", uid="metrics-uid", url="https://query", managed_identity=True
    ),
    adopt=False,
    observed={Source.PYROSCOPE: "p", Source.PROMETHEUS: "m"},
)


def sources(**changes: Any) -> Recorded:
    args = replace(SOURCES, **changes)
    return record(
        lambda: GrafanaDataSources("sources", args), answer_resource=answers.Azure().resource
    )


def asked(recorded: Recorded, name: str) -> DataSourceRequest:
    return DataSourceRequest.model_validate_json(recorded.named(name).inputs["stdin"])


def test_the_profiles_source_is_what_the_procedure_makes() -> None:
    recorded = sources()
    request = asked(recorded, "sources-pyroscope")
    assert request.type == "grafana-pyroscope-datasource"
    assert request.url == "http://10.0.0.4:4040"
    assert request.json_data == {"keepCookies": ["pyroscope_git_session"]}
    assert request.owner == OWNER.mark()
    command = recorded.named("sources-pyroscope").inputs
    assert command["create"] == command["update"] == command_line(Verb.APPLY_DATA_SOURCE)
    assert command["delete"] == command_line(Verb.DELETE_DATA_SOURCE)


@pytest.mark.handles("azure-auth-type")
@pytest.mark.handles("prometheus-source-duplicated")
def test_the_metrics_source_signs_in_with_grafanas_identity_and_has_a_uid() -> None:
    request = asked(sources(), "sources-prometheus")
    assert request.uid == "metrics-uid"
    assert request.json_data == {
        "httpMethod": "POST",
        "azureCredentials": {"authType": "msi"},
    }


def test_without_metrics_there_is_no_source_of_them() -> None:
    recorded = sources(prometheus=None, observed={Source.PYROSCOPE: "p"})
    assert [one.name for one in recorded.of_type(COMMAND)] == ["sources-pyroscope"]


def test_a_source_is_replaced_for_another_place_uid_owner_or_endpoint_and_for_nothing_else() -> (
    None
):
    def triggers(**changes: Any) -> object:
        return sources(**changes).named("sources-pyroscope").inputs["triggers"]

    before = triggers()
    for changes in (
        {"target": replace(TARGET, workspace_id="/other")},
        {"owner": replace(OWNER, stack="prod")},
        {"pyroscope": replace(PROFILES, uid="other")},
        {"pyroscope": replace(PROFILES, endpoint_id="approval-2")},
    ):
        assert triggers(**changes) != before, changes
    for changes in (
        {"pyroscope": replace(PROFILES, name="renamed")},
        {"pyroscope": replace(PROFILES, url="http://10.0.0.5:4040")},
        {"adopt": True},
    ):
        assert triggers(**changes) == before, changes


def test_the_owner_mark_compares_the_cluster_without_case() -> None:
    shouted = replace(OWNER, cluster_id=answers.CLUSTER_ID.upper())
    assert shouted.mark() == OWNER.mark()


# --- the dashboard -----------------------------------------------------------------------------

DASHBOARD = GrafanaDashboardArgs(
    target=TARGET,
    owner=OWNER,
    uid="gpu",
    dashboard={"uid": "gpu", "title": "GPU", "panels": []},
    folder=FolderArgs(uid="folder-uid", title="GPUs"),
    adopt=False,
    observed="token",
)


def dashboard(**changes: Any) -> Recorded:
    args = replace(DASHBOARD, **changes)
    return record(
        lambda: GrafanaDashboard("dashboard", args), answer_resource=answers.Azure().resource
    )


def test_the_dashboard_is_applied_into_its_folder_and_deleted_again() -> None:
    command = dashboard().only(COMMAND)
    assert command.inputs["create"] == command_line(Verb.APPLY_DASHBOARD)
    assert command.inputs["delete"] == command_line(Verb.DELETE_DASHBOARD)
    request = json.loads(command.inputs["stdin"])
    assert request["folderUid"] == "folder-uid"
    assert request["dashboard"] == {"uid": "gpu", "title": "GPU", "panels": []}


def test_without_a_folder_the_request_names_none() -> None:
    request = json.loads(dashboard(folder=None).only(COMMAND).inputs["stdin"])
    assert "folderUid" not in request
    assert "folderTitle" not in request


def test_the_dashboard_opens_by_its_uid() -> None:
    assert dashboard().outputs["dashboard"] == {"url": f"{answers.ENDPOINT}/d/gpu", "uid": "gpu"}


def test_another_document_updates_the_dashboard_and_another_place_replaces_it() -> None:
    def triggers(**changes: Any) -> object:
        return dashboard(**changes).only(COMMAND).inputs["triggers"]

    assert triggers(dashboard={"uid": "gpu", "title": "Other"}) == triggers()
    assert triggers(uid="other") != triggers()
    assert triggers(folder=None) != triggers()


@pytest.mark.parametrize(
    ("component", "token"),
    [
        (GrafanaWorkspace, "gpuobs:index:GrafanaWorkspace"),
        (GrafanaPrivateEndpoint, "gpuobs:index:GrafanaPrivateEndpoint"),
        (GrafanaDataSources, "gpuobs:index:GrafanaDataSources"),
        (GrafanaDashboard, "gpuobs:index:GrafanaDashboard"),
    ],
)
def test_the_type_tokens_never_change(component: Any, token: str) -> None:
    assert token == component.TYPE
