"""The survey: facts about what exists, whatever of it can be read, and never a failure."""

import uuid
from typing import Any

import pytest

from contract.messages.base import Verb
from contract.messages.grafana import Owner
from contract.messages.survey import (
    LinkGroupFacts,
    OnGrafana,
    Presence,
    StorageFacts,
    Survey,
    SurveyRequest,
    WantedOnGrafana,
    WantedRight,
    WantedSource,
)
from operations.errors import ExitCode
from operations.ownership import owner_tag
from simulator.values import JsonObject, as_object, as_text, dig
from tests.operations.conftest import (
    CALLER,
    CLUSTER_ID,
    GRAFANA_ADMIN,
    GRAFANA_ID,
    GRAFANA_VIEWER,
    GROUP_ID,
    SUBSCRIPTION,
    WORKSPACE_ID,
    Azure,
    Operations,
)
from tests.simulator.procedure import EXTENSION, Procedure

NAMESPACES = (
    "Microsoft.ContainerService",
    "Microsoft.Dashboard",
    "Microsoft.KubernetesConfiguration",
    "Microsoft.Monitor",
)


def request_for(**changes: Any) -> SurveyRequest:
    request = SurveyRequest(
        provider_subscription_id=SUBSCRIPTION,
        provider_object_id="",
        namespaces=NAMESPACES,
        cluster_id=CLUSTER_ID,
        grafana_id=GRAFANA_ID,
        workspace_id=WORKSPACE_ID,
        resource_group="rg-dev",
        gpu_vm_size="Standard_NC4as_T4_v3",
        location="westeurope",
    )
    return request.model_copy(update=changes)


def survey(operations: Operations, **changes: Any) -> Survey:
    result = operations.succeed(Verb.SURVEY, request_for(**changes))
    return Survey.model_validate_json(result.stdout)


def test_everything_that_exists_is_found_with_its_facts(
    azure: Azure, operations: Operations
) -> None:
    found = survey(operations)
    assert found.problem == ""
    assert (found.caller_object_id, found.caller_kind) == (CALLER, "servicePrincipal")
    assert found.subscription_id == SUBSCRIPTION
    assert found.unregistered == ()
    cluster = found.cluster
    assert cluster.presence is Presence.FOUND
    assert cluster.id == CLUSTER_ID
    assert cluster.location == "westeurope"
    assert cluster.power_state == "Running"
    assert cluster.provisioning_state == "Succeeded"
    assert cluster.identity_type == "SystemAssigned"
    assert cluster.principal_id
    assert cluster.metrics_enabled is True
    assert cluster.node_resource_group == "MC_rg-dev_aks-dev_westeurope"
    assert cluster.node_resource_group_restriction == "Unrestricted"
    assert cluster.untainted_pools == ("system",)
    assert [(pool.name, pool.count, pool.max_count) for pool in cluster.pools] == [
        ("system", 2, None)
    ]
    assert cluster.kubernetes_version
    grafana = found.grafana
    assert grafana.presence is Presence.FOUND
    assert grafana.endpoint == azure.endpoint
    assert (grafana.sku, grafana.major_version) == ("Standard", "12")
    assert grafana.public_network_access == "Enabled"
    assert grafana.roles_known is True
    assert GRAFANA_ADMIN in grafana.caller_roles
    assert grafana.caller_may_admin is True
    workspace = found.workspace
    assert workspace.presence is Presence.FOUND
    assert "amw-dev" in workspace.query_endpoint
    assert workspace.grafana_may_read is True
    assert found.resource_group is Presence.FOUND
    assert found.resource_group_location == "westeurope"
    assert found.may_approve is True
    assert found.quota_family == "Standard NCASv3_T4 Family"
    assert found.cores_per_node == 4
    assert found.quota_limit == 350
    assert found.quota_used == 0


def test_the_agents_extension_is_found_with_the_version_that_runs(
    azure: Azure, operations: Operations
) -> None:
    assert survey(operations, extension_id=EXTENSION).extension.presence is Presence.ABSENT
    Procedure(azure).install_agent("0.53.0")
    found = survey(operations, extension_id=EXTENSION).extension
    assert found.presence is Presence.FOUND
    assert (found.current_version, found.auto_upgrade) == ("0.53.0", False)
    assert found.release_train == "Stable"


def associate(azure: Azure, name: str, workspace: str = WORKSPACE_ID) -> str:
    """A rule that brings the cluster's metrics to ``workspace``; its id."""
    insights = "providers/Microsoft.Insights"
    rule = f"{GROUP_ID}/{insights}/dataCollectionRules/{name}"
    stream = ["Microsoft-PrometheusMetrics"]
    properties = {
        "dataSources": {"prometheusForwarder": [{"name": "p", "streams": stream}]},
        "destinations": {"monitoringAccounts": [{"name": "m", "accountResourceId": workspace}]},
        "dataFlows": [{"streams": stream, "destinations": ["m"]}],
    }
    body = {"location": "westeurope", "kind": "Linux", "properties": properties}
    azure.arm("PUT", rule, "2022-06-01", body)
    link = {"properties": {"dataCollectionRuleId": rule}}
    path = f"{CLUSTER_ID}/{insights}/dataCollectionRuleAssociations/{name}"
    azure.arm("PUT", path, "2022-06-01", link)
    return rule


def test_other_rules_into_the_same_workspace_are_found(
    azure: Azure, operations: Operations
) -> None:
    own, by_hand = associate(azure, "dcr-dev"), associate(azure, "MSProm-westeurope-aks-dev")
    found = survey(operations, collection_rule_id=own.upper())
    assert found.other_collection_rules == (by_hand,)
    assert survey(operations).other_collection_rules == (), "nobody asked"


def test_a_rule_that_may_not_be_read_is_not_counted(azure: Azure, operations: Operations) -> None:
    by_hand = associate(azure, "MSProm-westeurope-aks-dev")
    refusal = {"error": {"code": "AuthorizationFailed", "message": "no"}}
    azure.fault("GET", f".*{by_hand}", {"status": 403, "body": refusal}, count=None)
    found = survey(operations, collection_rule_id=f"{by_hand}-own")
    assert found.other_collection_rules == ()


def test_a_rule_into_another_workspace_is_no_matter(azure: Azure, operations: Operations) -> None:
    other = f"{GROUP_ID}/providers/Microsoft.Monitor/accounts/amw-other"
    azure.arm("PUT", other, "2023-04-03", {"location": "westeurope"})
    rule = associate(azure, "MSProm-westeurope-aks-dev", other)
    assert survey(operations, collection_rule_id=f"{rule}-own").other_collection_rules == ()


def test_surveying_twice_answers_the_same_and_changes_nothing(
    azure: Azure, operations: Operations
) -> None:
    before = {key: value for key, value in azure.inspect().items() if key != "calls"}
    assert survey(operations) == survey(operations)
    after = {key: value for key, value in azure.inspect().items() if key != "calls"}
    assert after == before


def test_what_is_not_asked_for_is_not_looked_up(azure: Azure, operations: Operations) -> None:
    before = azure.calls()
    found = survey(
        operations,
        namespaces=(),
        cluster_id=None,
        grafana_id=None,
        workspace_id=None,
        resource_group=None,
        gpu_vm_size=None,
    )
    assert {found.cluster.presence, found.grafana.presence, found.workspace.presence} == {
        Presence.NOT_ASKED
    }
    assert found.resource_group is Presence.NOT_ASKED
    assert found.quota_limit is None
    assert found.may_approve is None
    # The token, and the question for the number of calls.
    assert azure.calls() <= before + 2


def test_what_does_not_exist_is_absent_with_the_services_own_words(
    azure: Azure, operations: Operations
) -> None:
    found = survey(
        operations,
        cluster_id=CLUSTER_ID + "x",
        grafana_id=GRAFANA_ID + "x",
        workspace_id=WORKSPACE_ID + "x",
        resource_group="nowhere",
    )
    for facts in (found.cluster, found.grafana, found.workspace):
        assert facts.presence is Presence.ABSENT
        assert "was not found" in facts.detail
    assert found.resource_group is Presence.ABSENT
    assert found.may_approve is None
    assert found.grafana.roles_known in (True, False)


def test_another_subscription_that_we_cannot_see_is_forbidden_rather_than_absent(
    azure: Azure, operations: Operations
) -> None:
    hidden = CLUSTER_ID.replace(SUBSCRIPTION, "99999999-9999-4999-8999-999999999999")
    assert survey(operations, cluster_id=hidden).cluster.presence is Presence.FORBIDDEN


@pytest.mark.parametrize(
    ("then", "presence"),
    [
        ({"status": 403, "body": {"error": {"code": "AuthorizationFailed"}}}, Presence.FORBIDDEN),
        ({"drop": "before"}, Presence.UNREACHABLE),
        ({"status": 503}, Presence.UNREACHABLE),
        (
            {"status": 401, "body": {"error": {"code": "InvalidAuthenticationTokenTenant"}}},
            Presence.UNAUTHENTICATED,
        ),
        (
            {"status": 409, "body": {"error": {"code": "MissingSubscriptionRegistration"}}},
            Presence.UNREGISTERED,
        ),
        ({"status": 400, "body": {"error": {"code": "BadRequest"}}}, Presence.REFUSED),
        ({"status": 200, "text": "<html>Sign in</html>"}, Presence.UNREACHABLE),
        ({"status": 200, "text": ""}, Presence.UNREACHABLE),
        ({"status": 200, "body": {"name": "another", "properties": {}}}, Presence.UNREACHABLE),
    ],
    ids=[
        "forbidden",
        "dropped",
        "unavailable",
        "another tenant",
        "unregistered",
        "refused",
        "a page",
        "empty",
        "another resource",
    ],
)
@pytest.mark.parametrize("kind", ["managedClusters", "grafana", "accounts"])
def test_one_lookup_that_fails_leaves_the_others_alone(
    azure: Azure, operations: Operations, kind: str, then: JsonObject, presence: Presence
) -> None:
    azure.fault("GET", f".*/{kind}/[^/]+", then, count=None)
    found = survey(operations)
    facts = {
        "managedClusters": found.cluster,
        "grafana": found.grafana,
        "accounts": found.workspace,
    }
    assert facts.pop(kind).presence is presence
    assert {one.presence for one in facts.values()} == {Presence.FOUND}


@pytest.mark.parametrize(
    "text", ["<html>Sign in</html>", "", "{}", '{"value": null}', '{"value": "x"}']
)
def test_an_answer_that_is_no_list_is_no_fact(
    azure: Azure, operations: Operations, text: str
) -> None:
    for path in ("permissions", "roleAssignments", "skus", "dataCollectionRuleAssociations"):
        azure.fault("GET", f".*/{path}", {"status": 200, "text": text}, count=None)
        found = survey(operations, collection_rule_id=f"{GROUP_ID}/x")
        if path == "permissions":
            assert found.may_approve is None
        elif path == "roleAssignments":
            assert (found.grafana.roles_known, found.workspace.grafana_may_read) == (False, None)
        elif path == "skus":
            assert found.quota_limit is None
        else:
            assert found.other_collection_rules == ()


def test_pages_that_do_not_end_are_no_fact(azure: Azure, operations: Operations) -> None:
    url = f"{azure.server.arm_url}{GROUP_ID}/providers/Microsoft.Authorization/permissions"
    again = {"value": [{"actions": ["*"], "notActions": []}], "nextLink": f"{url}?api-version=1"}
    azure.fault("GET", ".*/permissions", {"status": 200, "body": again}, count=None)
    before = azure.calls()
    assert survey(operations).may_approve is None
    assert azure.calls() - before < 50


def test_a_cluster_without_a_word_on_its_identity_is_not_taken_for_one_with_a_service_principal(
    azure: Azure, operations: Operations
) -> None:
    azure.fault("GET", ".*/managedClusters/[^/]+", {"patch": {"identity": None}}, count=None)
    assert survey(operations).cluster.presence is Presence.UNREACHABLE
    secret = {"identity": None, "properties": {"servicePrincipalProfile": {"clientId": CALLER}}}
    azure.fault("GET", ".*/managedClusters/[^/]+", {"patch": secret}, count=None)
    found = survey(operations).cluster
    assert (found.presence, found.identity_type) == (Presence.FOUND, "")


def test_roles_assigned_at_the_scope_itself_are_found_with_their_descriptions(
    azure: Azure, operations: Operations
) -> None:
    name = "55555555-5555-4555-8555-555555555555"
    definitions = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization"
    properties = {
        "roleDefinitionId": f"{definitions}/roleDefinitions/{GRAFANA_VIEWER}",
        "principalId": CALLER,
        "principalType": "ServicePrincipal",
        "description": "by hand",
    }
    path = f"{GRAFANA_ID}/providers/Microsoft.Authorization/roleAssignments/{name}"
    azure.arm("PUT", path, "2022-04-01", {"properties": properties})
    assert survey(operations).assigned == ()
    found = survey(operations, list_assignments=True).assigned
    assert {(one.role, one.description) for one in found} == {
        (GRAFANA_ADMIN, ""),
        (GRAFANA_VIEWER, "by hand"),
    }


# --- on Grafana ----------------------------------------------------------------------------------

OWNER = Owner(cluster=CLUSTER_ID.lower(), project="gpuobs", stack="dev")
WANTED = WantedOnGrafana(
    owner=OWNER,
    sources={
        "pyroscope": WantedSource(name="profiles", uid="p", type="grafana-pyroscope-datasource"),
        "prometheus": WantedSource(name="metrics", uid="m", type="prometheus"),
    },
    dashboard_uid="gpus",
)


def make(azure: Azure, name: str, uid: str, kind: str, owner: Owner | None) -> None:
    """A data source, marked with an owner if it has one."""
    mark = {"gpuobs": {"owner": owner.model_dump(by_alias=True)}} if owner else {}
    body = {"name": name, "uid": uid, "type": kind, "access": "proxy", "jsonData": mark}
    azure.in_grafana("POST", "/api/datasources", body)


def on_grafana(operations: Operations) -> OnGrafana:
    return survey(operations, on_grafana=WANTED).on_grafana


def test_a_grafana_that_is_busy_for_a_moment_is_looked_at(
    azure: Azure, operations: Operations
) -> None:
    make(azure, "profiles", "p", "grafana-pyroscope-datasource", None)
    for path in (".*/api/datasources", ".*/api/dashboards/uid/.*", ".*/api/search"):
        azure.fault("GET", path, {"status": 503})
        assert [one.title for one in on_grafana(operations).in_the_way] == ["profiles"]


def test_nothing_is_in_the_way_of_a_stack_whose_names_are_free_or_its_own(
    azure: Azure, operations: Operations
) -> None:
    assert on_grafana(operations) == OnGrafana()
    make(azure, "profiles", "p", "grafana-pyroscope-datasource", OWNER)
    assert on_grafana(operations) == OnGrafana()


def test_whatever_has_a_wanted_name_or_uid_is_found_with_its_owner(
    azure: Azure, operations: Operations
) -> None:
    prod = OWNER.model_copy(update={"stack": "prod"})
    make(azure, "profiles", "theirs", "grafana-pyroscope-datasource", prod)
    make(azure, "else", "m", "prometheus", None)
    saved = {"dashboard": {"title": "Theirs", "uid": "gpus"}}
    azure.in_grafana("POST", "/api/dashboards/db", saved)
    found = on_grafana(operations).in_the_way
    assert [(one.wanted, one.by, one.title, one.uid) for one in found] == [
        ("pyroscope", "name", "profiles", "theirs"),
        ("prometheus", "uid", "else", "m"),
        ("dashboard", "uid", "Theirs", "gpus"),
    ]
    assert "stack 'prod'" in found[0].whose
    assert "made by hand" in found[1].whose
    assert "made by hand" in found[2].whose
    assert not any(one.same_stack for one in found)


def test_a_stack_of_this_name_for_another_cluster_may_be_this_one_before_it_moved(
    azure: Azure, operations: Operations
) -> None:
    former = OWNER.model_copy(update={"cluster": f"{OWNER.cluster}-before"})
    make(azure, "profiles", "p", "grafana-pyroscope-datasource", former)
    saved = {"dashboard": {"title": "Ours", "uid": "gpus", "tags": [owner_tag(former)]}}
    azure.in_grafana("POST", "/api/dashboards/db", saved)
    found = on_grafana(operations).in_the_way
    assert [(one.wanted, one.same_stack) for one in found] == [
        ("pyroscope", True),
        ("dashboard", True),
    ]


def test_what_is_there_under_another_uid_only_moves(azure: Azure, operations: Operations) -> None:
    make(azure, "profiles", "old", "grafana-pyroscope-datasource", OWNER)
    make(azure, "metrics", "old-too", "grafana-azureprometheus-datasource", OWNER)
    saved = {"dashboard": {"title": "Ours", "uid": "old", "tags": [owner_tag(OWNER)]}}
    azure.in_grafana("POST", "/api/dashboards/db", saved)
    assert on_grafana(operations).moving == ("pyroscope", "prometheus", "dashboard")
    make(azure, "profiles (2)", "p", "grafana-pyroscope-datasource", OWNER)
    assert on_grafana(operations).moving == ("prometheus", "dashboard")


@pytest.mark.parametrize(
    "then", [{"status": 403}, {"status": 200, "text": "<html>Sign in</html>"}, {"drop": "before"}]
)
def test_a_grafana_that_cannot_be_read_is_no_reason_to_stop(
    azure: Azure, operations: Operations, then: JsonObject
) -> None:
    azure.fault("GET", ".*/api/.*", then, service="grafana", count=None)
    assert on_grafana(operations) == OnGrafana()


def test_a_busy_service_is_asked_again(azure: Azure, operations: Operations) -> None:
    azure.fault("GET", ".*/managedClusters/[^/]+", {"status": 429}, count=2)
    assert survey(operations).cluster.presence is Presence.FOUND


@pytest.mark.handles("provider-not-registered")
def test_unregistered_providers_are_listed(azure: Azure, operations: Operations) -> None:
    azure.settings(
        registrations={
            "Microsoft.Dashboard": "NotRegistered",
            "Microsoft.KubernetesConfiguration": "Unregistered",
            "Microsoft.Monitor": "Registering",
        }
    )
    assert survey(operations).unregistered == (
        "Microsoft.Dashboard",
        "Microsoft.KubernetesConfiguration",
    )


@pytest.mark.handles("cluster-stopped")
def test_a_stopped_cluster_shows_its_power_state(azure: Azure, operations: Operations) -> None:
    azure.fault(
        "GET",
        ".*/managedClusters/[^/]+",
        {"patch": {"properties": {"powerState": {"code": "Stopped"}}}},
        count=None,
    )
    facts = survey(operations).cluster
    assert (facts.provisioning_state, facts.power_state) == ("Succeeded", "Stopped")


def test_the_facts_of_an_unusual_cluster_are_read(azure: Azure, operations: Operations) -> None:
    patch = {
        "sku": {"name": "Automatic"},
        "identity": {
            "type": "UserAssigned",
            "principalId": None,
            "userAssignedIdentities": {"/some/id": {"principalId": "p1", "clientId": "c1"}},
        },
        "properties": {
            "azureMonitorProfile": None,
            "disableLocalAccounts": True,
            "apiServerAccessProfile": {"enablePrivateCluster": True},
            "nodeResourceGroupProfile": {"restrictionLevel": "ReadOnly"},
            "agentPoolProfiles": [
                {
                    "name": "system",
                    "osType": "Linux",
                    "nodeTaints": ["CriticalAddonsOnly=true:NoSchedule"],
                },
                {
                    "name": "gpu",
                    "osType": "Linux",
                    "nodeTaints": ["sku=gpu:NoExecute"],
                    "enableAutoScaling": True,
                    "minCount": 0,
                    "maxCount": 3,
                },
                {"name": "win", "osType": "Windows"},
                {"name": "soft", "osType": "Linux", "nodeTaints": ["a=b:PreferNoSchedule"]},
            ],
        },
    }
    azure.fault("GET", ".*/managedClusters/[^/]+", {"patch": patch}, count=None)
    facts = survey(operations).cluster
    assert facts.sku == "Automatic"
    assert (facts.identity_type, facts.principal_id) == ("UserAssigned", "p1")
    assert facts.metrics_enabled is False
    assert facts.local_accounts_disabled
    assert facts.private_api_server
    assert facts.node_resource_group_restriction == "ReadOnly"
    assert [pool.name for pool in facts.pools] == ["system", "gpu", "win", "soft"]
    assert [(pool.min_count, pool.max_count) for pool in facts.pools][1] == (0, 3)
    assert facts.untainted_pools == ("soft",)


def with_roles(azure: Azure, *assignments: tuple[str, str], caller: str = "") -> str:
    """Become a caller with these roles (definition, scope) only; its object id."""
    principal = caller or str(uuid.uuid4())
    azure.settings(
        principals=[{"id": principal, "kind": "User", "name": "someone@example.invalid"}]
    )
    for role, scope in assignments:
        definitions = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization"
        azure.arm(
            "PUT",
            f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}",
            "2022-04-01",
            {
                "properties": {
                    "roleDefinitionId": f"{definitions}/roleDefinitions/{role}",
                    "principalId": principal,
                    "principalType": "User",
                }
            },
        )
    azure.settings(caller=principal)
    return principal


READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"


@pytest.mark.handles("missing-prerequisites")
def test_a_callers_own_roles_decide_what_it_may_do(azure: Azure, operations: Operations) -> None:
    subscription = f"/subscriptions/{SUBSCRIPTION}"
    principal = with_roles(azure, (READER, subscription), (GRAFANA_VIEWER, GRAFANA_ID))
    found = survey(operations)
    assert (found.caller_object_id, found.caller_kind) == (principal, "user")
    assert found.may_approve is False
    assert found.grafana.roles_known is True
    assert set(found.grafana.caller_roles) == {READER, GRAFANA_VIEWER}


def test_the_right_to_approve_on_the_node_resource_group_alone_is_seen(
    azure: Azure, operations: Operations
) -> None:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/MC_rg-dev_aks-dev_westeurope"
    with_roles(azure, (READER, f"/subscriptions/{SUBSCRIPTION}"), (NETWORK_CONTRIBUTOR, group))
    assert survey(operations).may_approve is True


@pytest.mark.parametrize(
    ("actions", "not_actions", "allowed"),
    [
        (["*"], [], True),
        (["*/write"], [], True),
        (["Microsoft.Network/*"], [], True),
        (["microsoft.network/privatelinkservices/privateendpointconnections/WRITE"], [], True),
        (["Microsoft.Network/privateLinkServices/*"], ["*/write"], False),
        (["*"], ["Microsoft.Network/*/write"], False),
        (["*/read"], [], False),
        (["Microsoft.Network/privateLinkServices/write"], [], False),
        (["Microsoft.NetworkX/*"], [], False),
        ([], [], False),
    ],
)
def test_permissions_are_compared_as_azure_does(
    azure: Azure,
    operations: Operations,
    actions: list[str],
    not_actions: list[str],
    allowed: bool,
) -> None:
    body = {"value": [{"actions": actions, "notActions": not_actions}]}
    azure.fault("GET", ".*/permissions", {"status": 200, "body": body}, count=None)
    assert survey(operations).may_approve is allowed


POOL_WRITE = "Microsoft.ContainerService/managedClusters/agentPools/write"
IN_THE_CLUSTER = "Microsoft.ContainerService/managedClusters/namespaces/write"
WANTED_RIGHT = WantedRight(
    key=7, scope=CLUSTER_ID, actions=(POOL_WRITE,), data_actions=(IN_THE_CLUSTER,)
)


@pytest.mark.parametrize(
    ("permissions", "missing", "conditional"),
    [
        ([], (POOL_WRITE, IN_THE_CLUSTER), ()),
        ([{"actions": ["*"]}], (IN_THE_CLUSTER,), ()),
        ([{"actions": ["*"], "dataActions": ["Microsoft.ContainerService/*"]}], (), ()),
        ([{"actions": ["*"]}, {"dataActions": ["*"]}], (), ()),
        # What one role leaves out another may give.
        (
            [{"actions": ["*"], "notActions": ["*/write"]}, {"actions": [POOL_WRITE]}],
            (IN_THE_CLUSTER,),
            (),
        ),
        (
            [{"dataActions": ["*"], "notDataActions": ["*/namespaces/write"]}, {"actions": ["*"]}],
            (IN_THE_CLUSTER,),
            (),
        ),
        (
            [
                {"actions": ["*"], "condition": "@Resource[x] StringEquals 'y'"},
                {"dataActions": ["*"]},
            ],
            (),
            (POOL_WRITE,),
        ),
    ],
)
def test_what_the_caller_lacks_is_found_by_actions_and_data_actions(
    azure: Azure,
    operations: Operations,
    permissions: list[JsonObject],
    missing: tuple[str, ...],
    conditional: tuple[str, ...],
) -> None:
    body = {"value": permissions}
    path = ".*/managedClusters/aks-dev/providers/Microsoft.Authorization/permissions"
    azure.fault("GET", path, {"status": 200, "body": body}, count=None)
    (found,) = survey(operations, rights=(WANTED_RIGHT,)).rights
    assert (found.key, found.scope, found.known) == (7, CLUSTER_ID, True)
    assert (found.missing, found.conditional) == (missing, conditional)


def test_permissions_that_cannot_be_read_are_unknown_not_missing(
    azure: Azure, operations: Operations
) -> None:
    azure.fault("GET", ".*/permissions", {"status": 200, "text": "<html>"}, count=None)
    (found,) = survey(operations, rights=(WANTED_RIGHT,)).rights
    assert (found.known, found.missing) == (False, ())


def test_a_reader_lacks_what_writes(azure: Azure, operations: Operations) -> None:
    with_roles(azure, (READER, f"/subscriptions/{SUBSCRIPTION}"))
    (found,) = survey(operations, rights=(WANTED_RIGHT,)).rights
    assert found.missing == (POOL_WRITE, IN_THE_CLUSTER)


def test_roles_that_cannot_be_read_are_unknown_not_absent(
    azure: Azure, operations: Operations
) -> None:
    body = {"error": {"code": "AuthorizationFailed", "message": "no"}}
    for what in (".*/roleAssignments", ".*/permissions"):
        azure.fault("GET", what, {"status": 403, "body": body}, count=None)
        found = survey(operations)
        if what.endswith("roleAssignments"):
            assert found.grafana.roles_known is False
            assert found.workspace.grafana_may_read is None
        else:
            assert found.may_approve is None


def test_a_grafana_without_the_readers_role_is_seen(azure: Azure, operations: Operations) -> None:
    azure.fault(
        "GET", ".*/accounts/amw-dev/.*/roleAssignments", {"status": 200, "body": {"value": []}}
    )
    assert survey(operations).workspace.grafana_may_read is False


def test_a_quota_that_is_used_up_is_reported(azure: Azure, operations: Operations) -> None:
    azure.settings(quota={"westeurope/Standard NCASv3_T4 Family": {"limit": 8, "used": 6}})
    found = survey(operations)
    assert (found.quota_limit, found.quota_used, found.cores_per_node) == (8, 6, 4)


def test_the_clusters_region_is_taken_where_none_is_given(
    azure: Azure, operations: Operations
) -> None:
    assert survey(operations, location=None).quota_family == "Standard NCASv3_T4 Family"


@pytest.mark.parametrize("what", [".*/skus", ".*/usages"])
def test_a_quota_that_cannot_be_read_is_unknown(
    azure: Azure, operations: Operations, what: str
) -> None:
    azure.fault("GET", what, {"status": 403, "body": {"error": {"code": "No"}}}, count=None)
    found = survey(operations)
    assert (found.quota_limit, found.cores_per_node) == (None, None)


def test_lists_are_read_over_all_their_pages(azure: Azure, operations: Operations) -> None:
    compute = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute"
    usages = f"{compute}/locations/westeurope/usages"
    whole = azure.arm("GET", usages, "2024-07-01")
    again = f"{azure.server.arm_url}{usages}?api-version=2024-07-01&$skiptoken=2"
    assert as_object(whole)["value"]
    azure.fault(
        "GET", ".*/usages", {"status": 200, "body": {"value": [], "nextLink": again}}, count=1
    )
    assert survey(operations).quota_limit == 350


def test_a_next_page_on_another_host_is_not_followed_with_our_token(
    azure: Azure, operations: Operations
) -> None:
    body: JsonObject = {"value": [], "nextLink": "https://192.0.2.1/steal"}
    azure.fault("GET", ".*/usages", {"status": 200, "body": body}, count=None)
    assert survey(operations).quota_limit is None


def test_without_a_credential_one_sentence_says_so(azure: Azure, operations: Operations) -> None:
    azure.settings(caller="")
    found = survey(operations)
    assert "no credential" in found.problem
    assert "az login" in found.problem
    assert "\n" not in found.problem
    assert found.cluster.presence is Presence.NOT_ASKED


def test_a_malformed_id_is_reported_in_the_facts(azure: Azure, operations: Operations) -> None:
    found = survey(operations, cluster_id="aks-dev")
    assert found.cluster.presence is not Presence.FOUND
    assert "'aks-dev'" in found.cluster.detail


def test_a_request_that_is_none_is_still_a_bad_request(operations: Operations) -> None:
    assert operations(Verb.SURVEY, "{}").exit_code == ExitCode.BAD_REQUEST


def test_the_token_is_in_no_answer(azure: Azure, operations: Operations) -> None:
    result = operations.succeed(Verb.SURVEY, request_for())
    head = as_text(azure.token()).split(".")[0]
    assert head not in result.stdout + result.stderr


# --- the private link ----------------------------------------------------------------------------


def test_a_private_link_of_the_wanted_name_is_found_with_whose_it_is(
    azure: Azure, operations: Operations
) -> None:
    absent = survey(operations, private_link_name="pyroscope-dev")
    assert absent.private_link.presence is Presence.ABSENT
    link_id = azure.expose()
    group = link_id.split("/")[4]
    for changes in ({}, {"private_link_group": group}):
        found = survey(operations, private_link_name="pyroscope-dev", **changes).private_link
        assert found.presence is Presence.FOUND
        assert found.owner_service == "gadget/pyroscope"
        (frontend,) = found.frontends
        assert f"/resourceGroups/{group}/providers/Microsoft.Network/loadBalancers/" in frontend
    assert survey(operations).private_link.presence is Presence.NOT_ASKED


def test_whether_the_private_endpoint_is_there_is_found(
    azure: Azure, operations: Operations
) -> None:
    asked = {"private_endpoint_name": "p-dev"}
    assert survey(operations, **asked).private_endpoint is Presence.ABSENT
    azure.connect(azure.expose())
    assert survey(operations, **asked).private_endpoint is Presence.FOUND


SUBNET_ID = f"{GROUP_ID}/providers/Microsoft.Network/virtualNetworks/net/subnets/nodes"
JOIN = "Microsoft.Network/virtualNetworks/subnets/join/action"
WRITE = "Microsoft.Network/virtualNetworks/subnets/write"


def in_a_network_of_ones_own(azure: Azure) -> str:
    """Make the cluster anew in a subnet of its owner's; its identity."""
    azure.make_network(SUBNET_ID.rpartition("/subnets/")[0], "nodes")
    azure.move_into(SUBNET_ID, CLUSTER_ID)
    cluster = azure.arm("GET", CLUSTER_ID, "2025-09-01")
    return as_text(as_object(cluster["identity"])["principalId"])


def assign(azure: Azure, principal: str, role: str, on: str = SUBNET_ID) -> None:
    scope = f"{on}/providers/Microsoft.Authorization"
    properties = {
        "roleDefinitionId": f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization"
        f"/roleDefinitions/{role}",
        "principalId": principal,
        "principalType": "ServicePrincipal",
    }
    azure.arm(
        "PUT",
        f"{scope}/roleAssignments/{uuid.uuid4()}",
        "2022-04-01",
        {"properties": properties},
    )


def test_what_the_clusters_identity_may_not_do_with_its_subnet_is_found(
    azure: Azure, operations: Operations
) -> None:
    assert survey(operations).link_subnet.presence is Presence.NOT_ASKED
    principal = in_a_network_of_ones_own(azure)
    found = survey(operations).link_subnet
    assert (found.presence, found.id, found.certain) == (Presence.FOUND, SUBNET_ID, True)
    assert {JOIN, WRITE} < set(found.missing)
    assign(azure, principal, READER)
    assert set(survey(operations).link_subnet.missing) == {JOIN, WRITE}
    assign(azure, principal, NETWORK_CONTRIBUTOR)
    assert survey(operations).link_subnet.missing == ()
    absent = survey(operations, private_link_subnet="elsewhere").link_subnet
    assert absent.presence is Presence.ABSENT
    assert absent.id.endswith("/virtualNetworks/net/subnets/elsewhere")


def test_roles_that_cannot_be_read_leave_it_uncertain(azure: Azure, operations: Operations) -> None:
    assign(azure, in_a_network_of_ones_own(azure), NETWORK_CONTRIBUTOR)
    refusal = {"status": 403, "body": {"error": {"code": "AuthorizationFailed", "message": "no"}}}
    for path in (".*/roleDefinitions/[^/]+", ".*/roleAssignments"):
        azure.fault("GET", path, refusal, count=None)
        found = survey(operations).link_subnet
        assert (found.presence, found.certain) == (Presence.FOUND, False)
        assert found.missing


def test_what_the_clusters_identity_may_not_do_in_the_links_own_group_is_found(
    azure: Azure, operations: Operations
) -> None:
    assert survey(operations).link_group == LinkGroupFacts()
    principal = as_text(dig(azure.arm("GET", CLUSTER_ID, "2025-09-01"), "identity", "principalId"))
    found = survey(operations, private_link_group="rg-dev").link_group
    assert (found.id, found.certain) == (GROUP_ID, True)
    assert "Microsoft.Network/privateLinkServices/write" in found.missing
    assign(azure, principal, NETWORK_CONTRIBUTOR, on=GROUP_ID)
    assert survey(operations, private_link_group="rg-dev").link_group.missing == ()


def test_the_endpoint_that_the_cluster_is_associated_with_is_found(
    azure: Azure, operations: Operations
) -> None:
    asked = {"look_for_access_endpoint": True}
    assert survey(operations, **asked).access_endpoint == ""
    insights = f"{GROUP_ID}/providers/Microsoft.Insights"
    endpoint = f"{insights}/dataCollectionEndpoints/theirs"
    body: JsonObject = {"location": "westeurope", "properties": {}}
    azure.arm("PUT", endpoint, "2022-06-01", body)
    association = "dataCollectionRuleAssociations/configurationAccessEndpoint"
    azure.arm(
        "PUT",
        f"{CLUSTER_ID}/providers/Microsoft.Insights/{association}",
        "2022-06-01",
        {"properties": {"dataCollectionEndpointId": endpoint}},
    )
    assert survey(operations, **asked).access_endpoint == endpoint
    assert survey(operations).access_endpoint == ""


def test_a_private_link_appears_once_the_clusters_identity_may_use_its_subnet(
    azure: Azure, operations: Operations
) -> None:
    """The cloud controller's side: the same rights, and the subnet's policies disabled."""
    principal = in_a_network_of_ones_own(azure)
    asked = {"private_link_name": "pyroscope-dev"}
    azure.expose()
    assert survey(operations, **asked).private_link.presence is Presence.ABSENT
    assign(azure, principal, NETWORK_CONTRIBUTOR)
    azure.expose()
    assert survey(operations, **asked).private_link.presence is Presence.FOUND
    subnet = azure.arm("GET", SUBNET_ID, "2024-05-01")
    assert as_object(subnet["properties"])["privateLinkServiceNetworkPolicies"] == "Disabled"


# --- management locks ----------------------------------------------------------------------------


def lock(azure: Azure, scope: str, level: str = "CanNotDelete") -> str:
    identifier = f"{scope}/providers/Microsoft.Authorization/locks/keep"
    azure.arm("PUT", identifier, "2020-05-01", {"properties": {"level": level}})
    return identifier


def test_locks_of_the_subscription_are_found_with_what_they_refuse(
    azure: Azure, operations: Operations
) -> None:
    wanted = {
        (lock(azure, GROUP_ID), GROUP_ID, False),
        (lock(azure, CLUSTER_ID, "ReadOnly"), CLUSTER_ID, True),
    }
    found = survey(operations).locks
    assert {(one.id, one.scope, one.read_only) for one in found} == wanted


def test_where_the_subscription_may_not_be_read_the_groups_are(
    azure: Azure, operations: Operations
) -> None:
    identifier = lock(azure, GRAFANA_ID, "ReadOnly")
    whole = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/locks"
    azure.fault("GET", whole, {"status": 403}, count=None)
    assert [one.id for one in survey(operations).locks] == [identifier]
    azure.fault("GET", ".*/Microsoft.Authorization/locks", {"status": 403}, count=None)
    assert survey(operations).locks == ()


@pytest.mark.parametrize("enabled", [True, False])
def test_whether_an_action_group_tells_anybody_is_found(
    azure: Azure, operations: Operations, enabled: bool
) -> None:
    group = f"{GROUP_ID}/providers/Microsoft.Insights/actionGroups/oncall"
    body = {"location": "Global", "properties": {"groupShortName": "oncall", "enabled": enabled}}
    azure.arm("PUT", group, "2023-01-01", body)
    (found,) = survey(operations, action_group_ids=(group,)).action_groups
    assert (found.presence, found.enabled) == (Presence.FOUND, enabled)


def _storage(operations: Operations, **changes: Any) -> StorageFacts:
    account = f"{GROUP_ID}/providers/Microsoft.Storage/storageAccounts/profiles1"
    asked = {"storage_account_id": account, "storage_container": "profiles", "makes_storage": True}
    return survey(operations, **{**asked, **changes}).storage


def test_whether_somebody_in_azure_has_the_accounts_name_is_asked_where_it_is_to_be_made(
    azure: Azure, operations: Operations
) -> None:
    assert _storage(operations).name_refused == ""
    azure.settings(takenNames=["profiles1"])
    found = _storage(operations)
    assert found.presence is Presence.ABSENT
    assert "profiles1 is already taken" in found.name_refused
    assert _storage(operations, makes_storage=False).name_refused == ""


def test_a_caller_who_may_not_ask_for_a_name_is_not_stopped(
    azure: Azure, operations: Operations
) -> None:
    body = {"error": {"code": "AuthorizationFailed", "message": "no"}}
    azure.fault("POST", ".*/checkNameAvailability", {"status": 403, "body": body}, count=None)
    assert _storage(operations) == StorageFacts(
        presence=Presence.ABSENT, detail=_storage(operations).detail
    )
