"""What must hold of things that exist: looked up, checked, and reported with the fix."""

from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.azure import Role
from contract.messages.survey import (
    ClusterFacts,
    ExtensionFacts,
    GrafanaFacts,
    LinkGroupFacts,
    LockFacts,
    PoolFacts,
    Presence,
    PrivateLinkFacts,
    RightFacts,
    SubnetFacts,
    Survey,
    SurveyRequest,
    WorkspaceFacts,
)
from infra.azure_cli import cloud_in_use
from infra.deployed import EVERYTHING, Own
from infra.faults import ConfigurationError
from infra.names import names_for
from infra.preflight import ClientConfig, Existing, evaluate, survey_request
from infra.preflight.cloud import check_cloud
from infra.preflight.pools import autoscaled_pool_changes, version_to_send
from infra.settings import Settings
from tests.unit.stack_files import CREATED, EXISTING, settings, stack

SUBSCRIPTION = "11111111-1111-4111-8111-111111111111"
OTHER_SUBSCRIPTION = "22222222-2222-4222-8222-222222222222"
CALLER = "33333333-3333-4333-8333-333333333333"
GRAFANA_PRINCIPAL = "44444444-4444-4444-8444-444444444444"
CLUSTER_PRINCIPAL = "55555555-5555-4555-8555-555555555555"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-dev"
CLUSTER_ID = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-dev"
GRAFANA_ID = f"{GROUP}/providers/Microsoft.Dashboard/grafana/grafana-dev"
WORKSPACE_ID = f"{GROUP}/providers/Microsoft.Monitor/accounts/amw-dev"
AKS_DEV = f"--name aks-dev --resource-group rg-dev --subscription {SUBSCRIPTION}"
WITH_METRICS = stack(
    {
        "prometheus": {
            "azureMonitorWorkspace": {"existing": {"name": "amw-dev", "resourceGroup": "rg-dev"}}
        }
    }
)


PROVIDER = ClientConfig(SUBSCRIPTION, CALLER)

CLUSTER = ClusterFacts(
    presence=Presence.FOUND,
    id=CLUSTER_ID,
    location="westeurope",
    power_state="Running",
    provisioning_state="Succeeded",
    identity_type="SystemAssigned",
    principal_id=CLUSTER_PRINCIPAL,
    metrics_enabled=True,
    node_resource_group="MC_rg-dev_aks-dev_westeurope",
    sku="Base",
    untainted_pools=("system",),
    pools=(PoolFacts(name="system", mode="System", count=2),),
)
GRAFANA = GrafanaFacts(
    presence=Presence.FOUND,
    id=GRAFANA_ID,
    location="westeurope",
    endpoint="https://grafana-dev.weu.grafana.azure.com",
    sku="Standard",
    major_version="12",
    principal_id=GRAFANA_PRINCIPAL,
    provisioning_state="Succeeded",
    caller_roles=(Role.GRAFANA_ADMIN.value,),
    roles_known=True,
    caller_may_admin=True,
)
WORKSPACE = WorkspaceFacts(
    presence=Presence.FOUND,
    id=WORKSPACE_ID,
    location="westeurope",
    query_endpoint="https://amw-dev.westeurope.prometheus.monitor.azure.com",
    grafana_may_read=True,
)
ABSENT_CLUSTER = ClusterFacts(presence=Presence.ABSENT)
ABSENT_GRAFANA = GrafanaFacts(presence=Presence.ABSENT)
GOOD = Survey(
    caller_object_id=CALLER,
    caller_kind="user",
    subscription_id=SUBSCRIPTION,
    cluster=CLUSTER,
    grafana=GRAFANA,
    workspace=WORKSPACE,
    may_approve=True,
    quota_family="StandardNCADSA100v4Family",
    quota_limit=96,
    quota_used=0,
    cores_per_node=24,
)


def asked(wanted: Settings, provider: ClientConfig = PROVIDER) -> SurveyRequest:
    return survey_request(wanted, names_for("gpuobs", "dev"), provider)


def checked(
    survey: Survey,
    wanted: Settings | None = None,
    deployed: Container[str] = EVERYTHING,
) -> Existing:
    wanted = wanted or settings(WITH_METRICS)
    return evaluate(wanted, survey, asked(wanted), deployed)


def faults(
    survey: Survey,
    wanted: Settings | None = None,
    deployed: Container[str] = EVERYTHING,
) -> list[str]:
    """The faults, each as one text."""
    try:
        checked(survey, wanted, deployed)
    except ConfigurationError as error:
        return [str(fault) for fault in error.faults]
    return []


def fault(
    survey: Survey,
    wanted: Settings | None = None,
    deployed: Container[str] = EVERYTHING,
) -> str:
    """The only fault."""
    (found,) = faults(survey, wanted, deployed)
    return found


def with_cluster(**facts: Any) -> Survey:
    return GOOD.model_copy(update={"cluster": CLUSTER.model_copy(update=facts)})


def with_grafana(**facts: Any) -> Survey:
    return GOOD.model_copy(update={"grafana": GRAFANA.model_copy(update=facts)})


def with_facts(**facts: Any) -> Survey:
    return GOOD.model_copy(update=facts)


def with_agent(version: str, *, train: str = "preview", auto_upgrade: bool = True) -> Survey:
    facts = ExtensionFacts(
        presence=Presence.FOUND,
        current_version=version,
        release_train=train,
        auto_upgrade=auto_upgrade,
    )
    return with_facts(extension=facts)


# --- what is asked -----------------------------------------------------------------------------


def test_existing_things_are_asked_for_by_their_ids() -> None:
    request = asked(settings(WITH_METRICS))

    assert request.cluster_id == CLUSTER_ID
    assert request.grafana_id == GRAFANA_ID
    assert request.workspace_id == WORKSPACE_ID
    assert request.gpu_vm_size == "Standard_NC24ads_A100_v4"


def test_the_settings_subscription_goes_before_the_providers() -> None:
    request = asked(settings(azure={"subscriptionId": OTHER_SUBSCRIPTION}))

    assert request.subscription_id == OTHER_SUBSCRIPTION
    assert request.provider_subscription_id == SUBSCRIPTION
    assert request.cluster_id is not None
    assert request.cluster_id.startswith(f"/subscriptions/{OTHER_SUBSCRIPTION}/")


def test_what_the_stack_makes_is_asked_for_where_it_will_be() -> None:
    names = names_for("gpuobs", "dev")
    request = asked(settings(CREATED))

    assert request.cluster_id is not None
    assert request.cluster_id.endswith(
        f"/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/{names.cluster}"
    )
    assert request.grafana_id is not None
    assert request.grafana_id.endswith(f"/{names.grafana}")
    assert request.workspace_id is None
    assert request.resource_group is None, "a group that is made here need not be there"
    assert request.location == "westeurope"


def test_only_the_namespaces_that_are_used_are_needed() -> None:
    plain = asked(settings())
    read_only = stack(
        {
            "prometheus": {
                "azureMonitorWorkspace": {
                    "existing": {"name": "amw-dev", "resourceGroup": "rg-dev"},
                    "collect": False,
                }
            }
        }
    )

    assert "Microsoft.Monitor" not in plain.namespaces
    assert "Microsoft.KubernetesConfiguration" in plain.namespaces
    assert "Microsoft.Insights" in asked(settings(WITH_METRICS)).namespaces
    assert "Microsoft.Monitor" in asked(settings(read_only)).namespaces
    assert "Microsoft.Insights" not in asked(settings(read_only)).namespaces


@pytest.mark.parametrize(
    ("pool", "nodes"),
    [
        ({}, 1),
        ({"count": 3}, 3),
        ({"count": 0}, 0),
        ({"autoscaling": {"min": 0, "max": 4}}, 4),
    ],
)
def test_the_quota_is_compared_with_as_many_nodes_as_there_may_be(
    pool: dict[str, object], nodes: int
) -> None:
    assert settings(gpuPool=pool).gpu_pool.most_nodes == nodes


@pytest.mark.parametrize("enabled", [True, False])
def test_the_quota_is_asked_for_where_a_pool_is_made(enabled: bool) -> None:
    request = asked(settings(gpuPool={"enabled": enabled}))

    assert (request.gpu_vm_size is None) is not enabled


# --- what is decided ---------------------------------------------------------------------------


def test_what_exists_is_handed_on() -> None:
    existing = checked(GOOD)

    assert existing.cluster == CLUSTER
    assert existing.grafana == GRAFANA
    assert existing.workspace == WORKSPACE
    assert existing.subscription_id == SUBSCRIPTION
    assert existing.location == "westeurope"
    assert existing.azure_monitor_metrics
    assert not existing.warnings


def test_what_the_stack_makes_need_not_be_there() -> None:
    survey = Survey(subscription_id=SUBSCRIPTION, cluster=ABSENT_CLUSTER, grafana=ABSENT_GRAFANA)
    existing = checked(survey, settings(CREATED))

    assert existing.cluster is None
    assert existing.grafana is None
    assert existing.workspace is None
    assert existing.location == "westeurope"
    assert not existing.warnings


def test_what_the_stack_made_before_is_still_not_existing() -> None:
    existing = checked(GOOD, settings(CREATED))

    assert existing.cluster is None
    assert existing.grafana is None


@pytest.mark.parametrize(
    ("pool", "reported"),
    [
        (PoolFacts(name="system", mode="System", count=2), False),
        (PoolFacts(name="system", mode="System", count=3), True),
        # Somebody gave it to the autoscaler.
        (PoolFacts(name="system", mode="System", count=3, min_count=1, max_count=5), False),
        (PoolFacts(name="other", mode="User", count=3), False),
    ],
)
@pytest.mark.handles("inline-and-separate-pools")
def test_another_number_of_system_nodes_than_there_are_is_reported_with_the_command(
    pool: PoolFacts, reported: bool
) -> None:
    warnings = checked(with_cluster(pools=(pool,)), settings(CREATED)).warnings
    assert [("az aks nodepool scale" in line, "count 2" in line) for line in warnings] == (
        [(True, True)] if reported else []
    )


@pytest.mark.parametrize(
    ("location", "cluster", "group", "expected"),
    [
        ("northeurope", "westeurope", "", "northeurope"),
        (None, "westeurope", "eastus", "westeurope"),
    ],
)
def test_the_region_is_the_settings_or_the_clusters(
    location: str | None, cluster: str, group: str, expected: str
) -> None:
    survey = with_cluster(location=cluster).model_copy(update={"resource_group_location": group})

    assert checked(survey, settings(azure={"location": location})).location == expected


def test_the_region_of_a_new_cluster_may_be_its_resource_groups() -> None:
    wanted = settings({**CREATED, "azure": {"resourceGroup": {"name": "rg"}}})
    survey = with_facts(
        cluster=ABSENT_CLUSTER,
        resource_group=Presence.FOUND,
        resource_group_location="swedencentral",
    )

    assert checked(survey, wanted).location == "swedencentral"
    nowhere = survey.model_copy(update={"resource_group_location": ""})
    assert "gpuobs:azure.location" in fault(nowhere, wanted)


@pytest.mark.handles("metrics-add-on-off")
@pytest.mark.parametrize(
    ("asked_for", "add_on", "decided"),
    [("auto", True, True), ("auto", False, False), ("on", True, True), ("off", True, False)],
)
def test_metrics_follow_the_clusters_add_on(asked_for: str, add_on: bool, decided: bool) -> None:
    wanted = settings(inspektorGadget={"azureMonitor": asked_for})

    assert checked(with_cluster(metrics_enabled=add_on), wanted).azure_monitor_metrics is decided


@pytest.mark.parametrize(("asked_for", "decided"), [("auto", False), ("on", True), ("off", False)])
def test_a_new_cluster_has_metrics_where_there_is_a_workspace_for_them(
    asked_for: str, decided: bool
) -> None:
    survey = with_facts(cluster=ABSENT_CLUSTER, grafana=ABSENT_GRAFANA)
    agent = {"azureMonitor": asked_for}
    workspace: dict[str, object] = {"azureMonitorWorkspace": {"create": {}}}

    without = settings(CREATED, inspektorGadget=agent)
    with_workspace = settings(CREATED, inspektorGadget=agent, prometheus=workspace)

    assert checked(survey, without).azure_monitor_metrics is decided
    assert checked(survey, with_workspace).azure_monitor_metrics is (asked_for != "off")


@pytest.mark.handles("metrics-add-on-off")
def test_metrics_without_the_add_on_are_refused_with_the_line_that_enables_it() -> None:
    wanted = settings(WITH_METRICS, inspektorGadget={"azureMonitor": "on"})
    text = fault(with_cluster(metrics_enabled=False), wanted)

    assert "metrics add-on" in text
    assert (
        f"az aks update --enable-azure-monitor-metrics {AKS_DEV} "
        f"--azure-monitor-workspace-resource-id {WORKSPACE_ID}"
    ) in text


def test_a_workspace_that_gets_no_metrics_is_warned_of() -> None:
    survey = with_cluster(metrics_enabled=False)

    (warning,) = checked(survey).warnings
    assert "az aks update --enable-azure-monitor-metrics" in warning
    assert not checked(survey, settings()).warnings, "nobody asked for metrics"


def test_metrics_that_arrive_by_another_rule_already_are_warned_of() -> None:
    by_hand = f"{GROUP}/providers/Microsoft.Insights/dataCollectionRules/MSProm-westeurope-aks"
    (warning,) = checked(with_facts(other_collection_rules=(by_hand,))).warnings

    assert by_hand in warning
    assert "collect: false" in warning


def test_other_rules_are_asked_for_only_where_the_stack_makes_one() -> None:
    assert (asked(settings(WITH_METRICS)).collection_rule_id or "").startswith(GROUP)
    existing = {"name": "amw-dev", "resourceGroup": "rg-dev"}
    wired = {"azureMonitorWorkspace": {"existing": existing, "collect": False}}
    assert asked(settings(prometheus=wired)).collection_rule_id is None
    assert asked(settings()).collection_rule_id is None


# --- the cluster -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("presence", "words"),
    [
        (Presence.ABSENT, "does not"),
        (Presence.FORBIDDEN, "allowed to read"),
        (Presence.UNREACHABLE, "did not answer"),
        (Presence.UNREGISTERED, "az provider register --namespace Microsoft."),
        (Presence.REFUSED, "Azure refuses to show it"),
    ],
)
def test_each_reason_why_something_is_not_seen_keeps_its_own_words(
    presence: Presence, words: str
) -> None:
    survey = Survey(
        subscription_id=SUBSCRIPTION,
        cluster=ClusterFacts(presence=presence, detail="the service's words"),
        grafana=GrafanaFacts(presence=presence),
        workspace=WorkspaceFacts(presence=presence),
    )
    found = faults(survey)

    assert len(found) == 3
    assert all(words in text for text in found)
    assert "aks-dev" in found[0]
    assert "the service's words" in found[0]
    assert "grafana-dev" in found[1]
    assert "amw-dev" in found[2]


def test_a_provider_that_is_not_registered_is_said_once_and_not_as_silence() -> None:
    survey = Survey(
        subscription_id=SUBSCRIPTION,
        unregistered=("Microsoft.Dashboard",),
        cluster=CLUSTER,
        grafana=GrafanaFacts(presence=Presence.UNREGISTERED),
        workspace=WORKSPACE,
    )
    text = fault(survey)
    assert "az provider register --namespace Microsoft.Dashboard" in text
    assert "did not answer" not in text


def test_another_tenants_token_is_said_once_with_the_tenant_to_sign_in_to() -> None:
    tenant = "99999999-9999-4999-8999-999999999999"
    said = (
        "Could not look up aks-dev: Azure does not accept the token "
        "(InvalidAuthenticationTokenTenant: The access token is from the wrong issuer. It must "
        f"match the tenant 'https://sts.windows.net/{tenant}/' associated with this subscription.)"
    )
    refused = Presence.UNAUTHENTICATED
    survey = Survey(
        cluster=ClusterFacts(presence=refused, detail=said),
        grafana=GrafanaFacts(presence=refused, detail=said),
        workspace=WorkspaceFacts(presence=refused, detail=said),
    )
    text = fault(survey)
    assert f"az login --tenant {tenant}" in text
    assert "role" not in text


@pytest.mark.parametrize(
    ("survey", "words"),
    [
        (with_cluster(location=""), "state its location"),
        (with_cluster(location="", node_resource_group=""), "location and node resource group"),
        (with_grafana(endpoint=""), "state its endpoint"),
        (
            with_facts(workspace=WORKSPACE.model_copy(update={"query_endpoint": ""})),
            "state its query endpoint",
        ),
    ],
)
def test_nothing_empty_is_passed_on(survey: Survey, words: str) -> None:
    assert words in fault(survey)


@pytest.mark.handles("cluster-stopped")
def test_a_stopped_cluster_is_reported_with_the_line_that_starts_it() -> None:
    text = fault(with_cluster(power_state="Stopped"))

    assert "stopped" in text
    assert f"az aks start {AKS_DEV}" in text


@pytest.mark.handles("cluster-stopped")
def test_a_cluster_that_the_stack_made_may_have_been_stopped_too() -> None:
    wanted = settings(CREATED)

    assert "az aks start" in fault(with_cluster(power_state="Stopped"), wanted)


@pytest.mark.parametrize("state", ["Updating", "Upgrading", "Creating", "Starting", "Deleting"])
def test_a_cluster_under_change_is_reported(state: str) -> None:
    words = "is being deleted" if state == "Deleting" else f"it is {state}"

    assert words in fault(with_cluster(provisioning_state=state))


def test_a_cluster_whose_last_change_failed_is_warned_of() -> None:
    (warning,) = checked(with_cluster(provisioning_state="Failed")).warnings

    assert f"az aks update {AKS_DEV} --yes" in warning, "without it az asks a question"


def test_a_cluster_with_a_service_principal_is_refused() -> None:
    text = fault(with_cluster(identity_type=""))

    assert f"az aks update --enable-managed-identity {AKS_DEV}" in text


@pytest.mark.handles("local-accounts-disabled")
def test_admin_credentials_need_local_accounts() -> None:
    survey = with_cluster(local_accounts_disabled=True)

    assert "credentials: user" in fault(survey, settings(cluster={"credentials": "admin"}))
    assert not faults(survey, settings()), "user credentials work without local accounts"


def test_a_cluster_with_tainted_pools_only_is_refused_unless_pyroscope_tolerates_them() -> None:
    survey = with_cluster(untainted_pools=())
    tolerant = settings(pyroscope={"tolerations": [{"operator": "Exists"}]})

    assert "az aks nodepool add" in fault(survey)
    assert not faults(survey, tolerant)


def test_safeguards_of_an_automatic_cluster_are_warned_of() -> None:
    without = settings(WITH_METRICS, gpuPool={"devicePlugin": False})
    (warning,) = checked(with_cluster(sku="Automatic"), without).warnings

    assert "--add properties.excludedNamespaces gadget" in warning
    assert "--excluded-ns" not in warning, "it would replace the owner's list"


def test_a_device_plugin_that_an_automatic_cluster_denies_is_found_before() -> None:
    found = fault(with_cluster(sku="Automatic"))

    assert "aks-managed-protect-system-namespaces" in found
    assert "devicePlugin: false" in found


def test_the_autoscaler_beside_node_auto_provisioning_is_found_before() -> None:
    scaled = settings(WITH_METRICS, gpuPool={"autoscaling": {"min": 0, "max": 2}})

    assert "node auto-provisioning" in fault(with_cluster(provisions_nodes=True), scaled)
    assert not faults(with_cluster(provisions_nodes=True))


@pytest.mark.handles("api-server-unreachable")
def test_a_private_api_server_is_named_as_such() -> None:
    (warning,) = checked(with_cluster(private_api_server=True)).warnings

    assert "API server of cluster aks-dev is private" in warning


@pytest.mark.handles("node-group-locked")
def test_a_locked_node_resource_group_is_reported_with_the_ways_out() -> None:
    text = fault(with_cluster(node_resource_group_restriction="ReadOnly"))

    assert "MC_rg-dev_aks-dev_westeurope is locked" in text
    assert "privateLink: { resourceGroup: GROUP }" in text
    assert "autoApproval" in text


@pytest.mark.handles("node-group-locked")
@pytest.mark.parametrize(
    "link", [{"resourceGroup": "rg-links"}, {"autoApproval": [OTHER_SUBSCRIPTION]}]
)
def test_either_way_out_of_a_locked_group_is_taken(link: dict[str, object]) -> None:
    survey = with_cluster(node_resource_group_restriction="ReadOnly")
    survey = survey.model_copy(update={"may_approve": False})

    assert not faults(survey, settings(pyroscope={"privateLink": link}))


@pytest.mark.parametrize(
    ("facts", "deployed", "is_a_fault"),
    [
        ({"certain": True}, frozenset[str](), True),
        ({"certain": True}, {*Own}, False),
        ({"certain": False}, frozenset[str](), False),
    ],
)
def test_a_private_link_in_a_group_of_ones_own_needs_rights_for_the_cluster(
    facts: dict[str, Any], deployed: Container[str], is_a_fault: bool
) -> None:
    wanted = settings(pyroscope={"privateLink": {"resourceGroup": "rg-links"}})
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-links"
    missing = ("Microsoft.Network/privateLinkServices/write",)
    survey = with_facts(link_group=LinkGroupFacts(id=group, missing=missing, **facts))
    try:
        (found,) = evaluate(wanted, survey, asked(wanted), deployed).warnings
        assert not is_a_fault
    except ConfigurationError as error:
        (found,) = map(str, error.faults)
        assert is_a_fault
    assert "privateLinkServices/write" in found
    assert (
        "az role assignment create --role 'Network Contributor' "
        f"--assignee-object-id {CLUSTER_PRINCIPAL} --assignee-principal-type ServicePrincipal "
        f"--scope {group}"
    ) in found
    allowed = with_facts(link_group=LinkGroupFacts(id=group, certain=True))
    assert evaluate(wanted, allowed, asked(wanted), frozenset[str]()).warnings == ()


def test_where_the_caller_may_assign_roles_the_stack_lets_the_cluster_make_the_link() -> None:
    wanted = settings(pyroscope={"privateLink": {"resourceGroup": "rg-links"}})
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-links"
    (right,) = [one for one in asked(wanted).rights if one.scope == group]
    lacking = LinkGroupFacts(id=group, missing=("a/write",), certain=True)

    def found(may: RightFacts, link_group: LinkGroupFacts = lacking) -> Existing:
        survey = with_facts(link_group=link_group, rights=(may,))
        return evaluate(wanted, survey, asked(wanted), frozenset[str]())

    may = RightFacts(key=right.key, scope=group)
    assert found(may).makes_link_role
    assert not found(may, LinkGroupFacts(id=group, certain=True)).makes_link_role
    for lacks in ({"missing": right.actions}, {"known": False}, {"conditional": right.actions}):
        with pytest.raises(ConfigurationError, match="Network Contributor"):
            found(may.model_copy(update=lacks))
    deployed = frozenset({Own.LINK_ROLE})
    kept = evaluate(wanted, GOOD, asked(wanted), deployed)
    assert kept.makes_link_role, "what it has made stays"


def test_whoever_may_not_approve_sees_the_role_and_its_scope() -> None:
    text = fault(with_facts(may_approve=False))

    assert (
        f"az role assignment create --role 'Network Contributor' --assignee-object-id {CALLER} "
        f"--assignee-principal-type User --scope /subscriptions/{SUBSCRIPTION}/resourceGroups/"
        "MC_rg-dev_aks-dev_westeurope"
    ) in text
    assert not faults(with_facts(may_approve=None)), "nothing is concluded from what is not known"


NODES = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{CLUSTER.node_resource_group}"
FRONTEND = "providers/Microsoft.Network/loadBalancers/kubernetes-internal/frontendIPConfigurations"


def with_link(frontend_group: str, service: str = "gadget/pyroscope", **facts: Any) -> Survey:
    link = PrivateLinkFacts(
        presence=Presence.FOUND,
        frontends=(f"{frontend_group}/{FRONTEND}/a1b2",),
        owner_service=service,
    )
    return with_facts(private_link=link, **facts)


@pytest.mark.parametrize("link", [{}, {"resourceGroup": "rg-links", "name": "shared"}])
def test_a_private_link_that_this_clusters_pyroscope_has_is_our_own(
    link: dict[str, object],
) -> None:
    wanted = settings(pyroscope={"privateLink": link})
    for group in (NODES, NODES.lower()):
        assert not faults(with_link(group), wanted)


def test_a_private_link_of_another_cluster_is_found_at_preview() -> None:
    wanted = settings(pyroscope={"privateLink": {"resourceGroup": "rg-links", "name": "shared"}})
    other = with_link(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/MC_rg_aks-other_westeurope")
    for survey in (
        other,
        other.model_copy(update={"cluster": ABSENT_CLUSTER}),
    ):
        found = [text for text in faults(survey, wanted) if "its name must be free" in text]
        assert len(found) == 1
        assert "Private Link Service shared in group rg-links" in found[0]
        assert "another cluster's, with its load balancer in group MC_rg_aks-other" in found[0]
        assert "privateLink: { name: NAME } }, or another resourceGroup" in found[0]
    forbidden = ClusterFacts(presence=Presence.FORBIDDEN)
    unknown = other.model_copy(update={"cluster": forbidden})
    assert not any("must be free" in text for text in faults(unknown, wanted))


def test_a_private_link_of_another_kubernetes_service_is_found_at_preview() -> None:
    text = fault(with_link(NODES, "shop/web"))
    assert "it is of the Kubernetes Service shop/web" in text


@pytest.mark.parametrize(
    ("facts", "rule", "fix"),
    [
        ({"load_balancer_sku": "Basic"}, "needs a Standard load balancer", "upgrade-basic"),
        (
            {"backend_pool_type": "nodeIP"},
            "backendPoolType nodeIP",
            f"az aks update {AKS_DEV} --load-balancer-backend-pool-type nodeIPConfiguration",
        ),
    ],
)
def test_a_load_balancer_that_no_private_link_can_stand_behind_is_refused(
    facts: dict[str, str], rule: str, fix: str
) -> None:
    text = fault(with_cluster(**facts))
    assert rule in text
    assert fix in text


def test_the_load_balancers_that_private_links_need_are_taken() -> None:
    for sku, pools in (("standard", "nodeIPConfiguration"), ("Standard", ""), ("", "")):
        assert not faults(with_cluster(load_balancer_sku=sku, backend_pool_type=pools))


SUBNET_ID = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net/subnets/nodes"
JOIN = "Microsoft.Network/virtualNetworks/subnets/join/action"


def with_subnet(**facts: Any) -> Survey:
    return with_facts(
        link_subnet=SubnetFacts(presence=Presence.FOUND, id=SUBNET_ID).model_copy(update=facts)
    )


def test_a_subnet_that_the_clusters_identity_may_not_use_is_found_before() -> None:
    text = fault(with_subnet(missing=(JOIN,), certain=True))
    assert f"use subnet nodes: {JOIN}" in text
    assert (
        f"--role 'Network Contributor' --assignee-object-id {CLUSTER_PRINCIPAL} "
        f"--assignee-principal-type ServicePrincipal --scope {SUBNET_ID}"
    ) in text
    assert not faults(with_subnet(certain=True))


def test_what_could_not_be_read_of_the_identitys_roles_is_a_warning() -> None:
    (warning,) = checked(with_subnet(missing=(JOIN,))).warnings
    assert "could not be read" in warning
    assert SUBNET_ID in warning


def test_a_subnet_that_is_not_there_is_refused_with_the_line_that_lists_them() -> None:
    wanted = settings(pyroscope={"privateLink": {"subnet": "nodes"}})
    text = fault(with_subnet(presence=Presence.ABSENT), wanted)
    assert text.startswith("gpuobs:pyroscope.privateLink.subnet")
    assert (
        f"az network vnet subnet list --vnet-name net --resource-group rg-dev --subscription "
        f"{SUBSCRIPTION}"
    ) in text


GPU_SUBNET = f"{SUBNET_ID.rpartition('/')[0]}/gpus"


@pytest.mark.parametrize(
    ("subnets", "wanted", "said"),
    [
        (("",), GPU_SUBNET, "aks-dev is in AKS' own"),
        ((SUBNET_ID,), GPU_SUBNET, ""),
        ((SUBNET_ID.upper(),), GPU_SUBNET, ""),
        ((SUBNET_ID,), GPU_SUBNET.replace("/net/", "/net-2/"), "a subnet of virtual network net,"),
        ((), GPU_SUBNET, ""),
    ],
)
def test_a_pools_subnet_is_of_the_network_that_the_clusters_other_pools_are_in(
    subnets: tuple[str, ...], wanted: str, said: str
) -> None:
    own = PoolFacts(name="gpu", subnet_id="/somewhere/else")
    others = tuple(
        PoolFacts(name=f"pool{number}", subnet_id=subnet) for number, subnet in enumerate(subnets)
    )
    found = faults(with_cluster(pools=(own, *others)), settings(gpuPool={"subnetId": wanted}))
    about = [text for text in found if text.startswith("gpuobs:gpuPool.subnetId")]
    assert len(about) == bool(said), found
    assert said in "".join(about)
    if "network net" in said:
        assert f"--vnet-name net --resource-group rg-dev --subscription {SUBSCRIPTION}" in about[0]


def test_visibility_of_the_providers_own_subscription_alone_is_refused() -> None:
    for visibility, refused in (
        ([SUBSCRIPTION], True),
        ([SUBSCRIPTION.upper(), SUBSCRIPTION], True),
        ([OTHER_SUBSCRIPTION], False),
        ([SUBSCRIPTION, OTHER_SUBSCRIPTION], False),
        (["*"], False),
    ):
        wanted = settings(pyroscope={"privateLink": {"visibility": visibility}})
        found = [text for text in faults(GOOD, wanted) if "privateLink.visibility" in text]
        assert bool(found) is refused, visibility


def test_two_regions_are_told_before_the_endpoint_is_there_and_not_after() -> None:
    elsewhere = with_grafana(location="northeurope")
    (warning,) = [text for text in checked(elsewhere).warnings if "northeurope" in text]
    assert "tried in northeurope, Grafana's region" in warning
    assert "Private Link Service in westeurope" in warning
    assert "`private-endpoint-endpoint` fails" in warning
    there = elsewhere.model_copy(update={"private_endpoint": Presence.FOUND})
    assert not [text for text in checked(there).warnings if "northeurope" in text]
    assert not [text for text in checked(GOOD).warnings if "region" in text]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("ARM_ENVIRONMENT", "usgovernment"),
        ("AZURE_ENVIRONMENT", "AzureChinaCloud"),
        ("ARM_METADATA_HOSTNAME", "management.usgovcloudapi.net"),
        ("azure-native:environment", "china"),
        ("azure-native:metadataHost", "management.chinacloudapi.cn"),
    ],
)
def test_another_cloud_is_refused_by_name(place: str, value: str) -> None:
    configured = {place.partition(":")[2]: value} if ":" in place else {}
    environment = {} if configured else {place: value}
    with pytest.raises(ConfigurationError) as caught:
        check_cloud(environment, configured)
    (found,) = caught.value.faults
    assert str(found).startswith(f"{place} = {value}")
    assert "managed private endpoints in the public cloud only" in found.why


@pytest.mark.parametrize("cloud", ["AzureUSGovernment", "AzureChinaCloud"])
def test_a_cloud_that_only_the_azure_cli_is_set_to_is_refused_too(
    tmp_path: Path, cloud: str
) -> None:
    (tmp_path / "config").write_text(f"[core]\noutput = json\n[cloud]\nname = {cloud}\n")
    cli = {"AZURE_CONFIG_DIR": str(tmp_path)}
    with pytest.raises(ConfigurationError) as caught:
        check_cloud(cli, {}, cloud_in_use(cli))
    (found,) = caught.value.faults
    assert str(found).startswith(f"az cloud set = {cloud}")
    assert "az cloud set --name AzureCloud; az login" in found.fix
    variable = {**cli, "AZURE_CLOUD_NAME": "AzureCloud"}
    check_cloud(variable, {}, cloud_in_use(variable))
    with pytest.raises(ConfigurationError, match="unset AZURE_CLOUD_NAME"):
        check_cloud({"AZURE_CLOUD_NAME": cloud}, {}, cloud_in_use({"AZURE_CLOUD_NAME": cloud}))


@pytest.mark.parametrize(
    "otherwise",
    [{"ARM_USE_MSI": "true"}, {"ARM_USE_OIDC": "true"}, {"ARM_CLIENT_ID": "c"}],
)
def test_the_clis_cloud_counts_only_where_it_gives_the_tokens(
    tmp_path: Path, otherwise: dict[str, str]
) -> None:
    (tmp_path / "config").write_text("[cloud]\nname = AzureUSGovernment\n")
    assert cloud_in_use({"AZURE_CONFIG_DIR": str(tmp_path), **otherwise}) == ""


@pytest.mark.parametrize("config", [None, "", "[cloud]\n", "no section", "[cloud]\nname = own\n"])
def test_a_cli_that_is_set_to_nothing_or_to_a_cloud_of_somebodys_own_is_taken(
    tmp_path: Path, config: str | None
) -> None:
    if config is not None:
        (tmp_path / "config").write_text(config)
    cli = {"AZURE_CONFIG_DIR": str(tmp_path)}
    check_cloud(cli, {}, cloud_in_use(cli))


def test_the_public_cloud_is_taken_by_all_its_names() -> None:
    for value in ("public", "Public", "AzureCloud", "AzurePublicCloud", ""):
        check_cloud({"ARM_ENVIRONMENT": value}, {"environment": value})
    check_cloud({"ARM_METADATA_HOSTNAME": "management.azure.com"}, {})


# --- Grafana and its workspace -----------------------------------------------------------------


def test_a_grafana_of_another_tier_is_refused() -> None:
    text = fault(with_grafana(sku="Essential"))

    assert f"az resource update --ids {GRAFANA_ID} --set sku.name=Standard" in text


@pytest.mark.handles("grafana-not-public")
def test_a_grafana_without_public_access_is_reported_at_once() -> None:
    survey = with_grafana(public_network_access="Disabled")

    assert "public network access is Disabled" in fault(survey)
    inside = settings(
        {
            **EXISTING,
            "grafana": {
                "existing": {
                    "name": "grafana-dev",
                    "resourceGroup": "rg-dev",
                    "privateAccess": True,
                }
            },
        }
    )
    assert not faults(survey, inside)


@pytest.mark.handles("grafana-major")
def test_going_back_a_major_version_on_a_live_workspace_is_refused() -> None:
    twelve = settings(CREATED, grafana={"create": {"majorVersion": 12}})
    thirteen = settings(CREATED, grafana={"create": {"majorVersion": "13"}})
    survey = with_grafana(major_version="13")

    text = fault(survey, twelve)
    assert "one way" in text
    assert 'majorVersion: "13"' in text
    assert not faults(survey, thirteen)
    assert not faults(with_grafana(major_version="12"), thirteen), "upgrades are allowed"


@pytest.mark.handles("grafana-major")
@pytest.mark.parametrize(
    ("live", "refused", "warned"),
    [("10", 1, 0), ("11", 0, 1), ("11.6.3", 0, 1), ("12", 0, 0), ("13", 0, 0), ("", 0, 0)],
)
def test_an_existing_grafana_of_a_retired_major_version_is_reported(
    live: str, refused: int, warned: int
) -> None:
    survey = with_grafana(major_version=live)

    assert len(faults(survey)) == refused
    if not refused:
        assert len(checked(survey).warnings) == warned


@pytest.mark.parametrize("state", ["Updating", "Failed", "Deleting"])
def test_a_grafana_that_is_not_ready_is_reported(state: str) -> None:
    assert state in fault(with_grafana(provisioning_state=state))


def test_a_grafana_of_the_stacks_own_that_failed_is_left_to_the_next_update() -> None:
    assert not faults(with_grafana(provisioning_state="Failed"), settings(CREATED))


def test_a_caller_without_grafanas_role_sees_the_line_that_gives_it() -> None:
    text = fault(with_grafana(caller_may_admin=False))

    assert (
        f"az role assignment create --role 'Grafana Admin' --assignee-object-id {CALLER} "
        f"--assignee-principal-type User --scope {GRAFANA_ID}"
    ) in text


def test_nothing_is_concluded_from_roles_that_could_not_be_read() -> None:
    assert not faults(with_grafana(caller_may_admin=None))


def test_a_right_to_approve_that_is_gone_stops_nothing_once_it_is_approved() -> None:
    survey = with_facts(may_approve=False)
    wanted = settings(WITH_METRICS)
    (warning,) = evaluate(wanted, survey, asked(wanted), {*Own}).warnings
    assert "Network Contributor" in warning


@pytest.mark.parametrize(("may_read", "reported"), [(True, 0), (None, 0), (False, 1)])
def test_grafana_must_be_allowed_to_read_an_existing_workspace(
    may_read: bool | None, reported: int
) -> None:
    workspace = WORKSPACE.model_copy(update={"grafana_may_read": may_read})
    found = faults(with_facts(workspace=workspace))

    assert len(found) == reported
    for text in found:
        assert (
            "az role assignment create --role 'Monitoring Data Reader' "
            f"--assignee-object-id {GRAFANA_PRINCIPAL} --assignee-principal-type ServicePrincipal "
            f"--scope {WORKSPACE_ID}"
        ) in text


# --- subscription, group, quota ----------------------------------------------------------------


@pytest.mark.handles("provider-not-registered")
def test_unregistered_providers_are_reported_with_the_lines_that_register_them() -> None:
    survey = with_facts(unregistered=("Microsoft.Dashboard", "Microsoft.KubernetesConfiguration"))
    text = fault(survey)

    for namespace in survey.unregistered:
        assert (
            f"az provider register --namespace {namespace} --subscription {SUBSCRIPTION} --wait"
        ) in text


@pytest.mark.parametrize(
    ("presence", "words"),
    [
        (Presence.ABSENT, "az group create --name rg-obs"),
        (Presence.FORBIDDEN, "allowed to read"),
        (Presence.UNREACHABLE, "did not answer"),
    ],
)
def test_a_resource_group_that_is_not_there_is_reported(presence: Presence, words: str) -> None:
    wanted = settings(azure={"resourceGroup": {"name": "rg-obs"}})

    assert words in fault(with_facts(resource_group=presence), wanted)


@pytest.mark.parametrize(
    ("written", "region"), [({}, CLUSTER.location), ({"location": "northeurope"}, "northeurope")]
)
def test_the_line_that_makes_the_group_has_the_region_of_the_stack(
    written: dict[str, str], region: str
) -> None:
    wanted = settings(azure={"resourceGroup": {"name": "rg-obs"}, **written})

    text = fault(with_facts(resource_group=Presence.ABSENT), wanted)

    assert region
    assert f"az group create --name rg-obs --location {region} --subscription" in text


def test_without_a_credential_there_is_one_fault_and_no_guess() -> None:
    text = fault(Survey(problem="DefaultAzureCredential found no credential."))

    assert "az login" in text
    assert "DefaultAzureCredential found no credential." in text


def test_two_identities_are_reported() -> None:
    wanted = settings(WITH_METRICS)
    request = asked(wanted, replace(PROVIDER, object_id=OTHER_SUBSCRIPTION))

    (warning,) = evaluate(wanted, GOOD, request).warnings
    assert CALLER in warning
    assert OTHER_SUBSCRIPTION in warning


@pytest.mark.parametrize(
    ("pool", "limit", "used", "pools", "refused", "warned"),
    [
        ({}, 24, 0, (), False, False),
        ({}, 0, 0, (), True, False),
        ({}, 48, 25, (), True, False),
        ({}, 24, 24, ("gpu",), False, False),
        ({"count": 2}, 24, 24, ("gpu",), True, False),
        ({"autoscaling": {"min": 0, "max": 8}}, 24, 0, (), False, True),
        ({"autoscaling": {"min": 2, "max": 8}}, 24, 0, (), True, False),
        ({"enabled": False}, 0, 0, (), False, False),
        ({"spot": {}}, 0, 0, (), False, False),
    ],
)
def test_a_gpu_pool_that_exceeds_the_quota_is_reported(
    pool: dict[str, object],
    limit: int,
    used: int,
    pools: tuple[str, ...],
    refused: bool,
    warned: bool,
) -> None:
    survey = with_cluster(
        pools=tuple(PoolFacts(name=name) for name in ("system", *pools))
    ).model_copy(update={"quota_limit": limit, "quota_used": used})
    wanted = settings(gpuPool=pool)

    found = faults(survey, wanted)
    assert len(found) == (1 if refused else 0)
    if refused:
        assert "StandardNCADSA100v4Family" in found[0]
    else:
        assert len(checked(survey, wanted).warnings) == (1 if warned else 0)


def test_nothing_is_concluded_from_a_quota_that_could_not_be_read() -> None:
    assert not faults(with_facts(quota_limit=None, quota_used=None, cores_per_node=None))


def test_the_stacks_own_pool_is_no_reason_to_refuse_a_second_update() -> None:
    survey = with_cluster(pools=(PoolFacts(name="system"), PoolFacts(name="gpu"))).model_copy(
        update={"quota_limit": 24, "quota_used": 24}
    )

    assert not faults(survey, settings())


@pytest.mark.handles("missing-prerequisites")
def test_everything_that_does_not_fit_is_reported_in_one_message() -> None:
    survey = with_facts(
        unregistered=("Microsoft.Dashboard",),
        cluster=CLUSTER.model_copy(update={"power_state": "Stopped", "identity_type": ""}),
        grafana=GRAFANA.model_copy(update={"sku": "Essential", "caller_may_admin": False}),
        workspace=WORKSPACE.model_copy(update={"grafana_may_read": False}),
        may_approve=False,
        quota_limit=0,
    )

    assert len(faults(survey)) == 8


@pytest.mark.handles("stale-registry-login")
def test_a_login_that_may_spoil_the_chart_is_reported_with_the_line_that_ends_it() -> None:
    (warning,) = checked(with_facts(registry_login_file="/home/o/.docker/config.json")).warnings

    assert "/home/o/.docker/config.json holds a login for ghcr.io" in warning
    assert warning.endswith("docker logout ghcr.io")


@pytest.mark.parametrize(
    ("chart", "registry"),
    [
        ({}, "ghcr.io"),
        ({"oci": "oci://registry.example.com:5000/helm/pyroscope"}, "registry.example.com:5000"),
        ({"path": "charts/pyroscope"}, None),
        ({"repository": "https://charts.example.com"}, None),
    ],
)
def test_only_a_chart_from_a_registry_has_one_to_log_in_to(
    chart: dict[str, str], registry: str | None
) -> None:
    assert asked(settings(pyroscope={"chart": chart})).chart_registry == registry


def test_a_login_for_a_mirror_of_ones_own_is_nothing_to_warn_of() -> None:
    assert asked(settings(registry={"prefix": "registry.example.com"})).chart_registry is None


# --- the agent ---------------------------------------------------------------------------------


def test_an_installed_agent_whose_pushes_the_server_refuses_is_a_fault() -> None:
    found = fault(with_agent("0.53.0"), settings(WITH_METRICS, pyroscope={"imageTag": "1.19.2"}))

    assert "gpuobs:pyroscope.imageTag" in found
    assert "the installed agent is 0.53.0" in found
    assert "invalid metric name" in found
    assert 'imageTag: "1.15.0"' in found


@pytest.mark.parametrize(
    ("version", "tag"), [("0.53.0", "1.15.0"), ("0.54.1", "1.19.2"), ("0.55.1", "1.15.0")]
)
def test_an_installed_agent_that_fits_the_server_is_nothing_to_speak_of(
    version: str, tag: str
) -> None:
    found = checked(with_agent(version), settings(WITH_METRICS, pyroscope={"imageTag": tag}))

    assert found.warnings == ()
    assert found.agent_version == version


def test_an_agent_that_azure_upgraded_past_what_is_known_is_a_warning() -> None:
    (warning,) = checked(with_agent("0.56.0")).warnings

    assert "Inspektor Gadget 0.56.0" in warning
    assert "gpuobs check" in warning
    assert "autoUpgrade: false" in warning


@pytest.mark.parametrize(
    "gadget",
    [
        {"releaseTrain": "stable"},
        {"version": "0.54.1", "autoUpgrade": False},
        {"autoUpgrade": False},
    ],
)
def test_an_agent_that_this_update_replaces_is_not_held_against_the_server(
    gadget: dict[str, Any],
) -> None:
    wanted = settings(WITH_METRICS, pyroscope={"imageTag": "1.19.2"}, inspektorGadget=gadget)

    assert checked(with_agent("0.53.0"), wanted).agent_version == ""


def test_an_operator_who_knows_the_risk_is_not_held_up_by_the_installed_agent() -> None:
    knowing = {"imageTag": "1.19.2", "allowIncompatibleServer": True}

    assert faults(with_agent("0.53.0"), settings(WITH_METRICS, pyroscope=knowing)) == []


@pytest.mark.handles("two-identities")
def test_warnings_are_said_beside_the_faults_that_they_may_explain() -> None:
    wanted = settings(WITH_METRICS)
    request = asked(wanted, replace(PROVIDER, object_id=OTHER_SUBSCRIPTION))
    with pytest.raises(ConfigurationError) as refused:
        evaluate(wanted, with_cluster(presence=Presence.FORBIDDEN), request)
    text = str(refused.value)
    assert "you must be allowed to read it" in text
    assert f"Besides: The Azure provider works as {OTHER_SUBSCRIPTION}" in text


@pytest.mark.parametrize(
    ("seconds", "warned"), [(None, False), (-5, True), (600, True), (7200, False)]
)
def test_a_federated_token_that_ends_before_the_update_does_is_warned_of(
    seconds: int | None, warned: bool
) -> None:
    found = checked(with_facts(assertion_seconds=seconds)).warnings
    assert [("ARM_OIDC_TOKEN" in line) for line in found] == ([True] if warned else [])


@pytest.mark.handles("stale-pools-after-refresh")
@pytest.mark.parametrize("presence", [Presence.FORBIDDEN, Presence.UNREACHABLE])
def test_a_cluster_that_this_stack_made_is_not_updated_unseen(presence: Presence) -> None:
    assert "gpuobs:cluster.create" in fault(with_cluster(presence=presence), settings(CREATED))


@pytest.mark.handles("stale-pools-after-refresh")
@pytest.mark.parametrize(
    ("running", "wanted", "sent"),
    [
        ("1.33.3", None, None),
        ("", "1.33", "1.33"),
        ("1.33.3", "1.33", "1.33"),
        ("1.33.3", "1.34", "1.34"),
        ("1.34.1", "1.33", "1.34"),
        ("1.33.10", "1.33.9", "1.33"),
        ("1.9.1", "1.10", "1.10"),
    ],
)
def test_a_newer_version_than_the_settings_is_kept(
    running: str, wanted: str | None, sent: str | None
) -> None:
    assert version_to_send(running, wanted) == sent


AUTOSCALED = {"autoscaling": {"min": 0, "max": 3}, "labels": {"a": "b"}}
LIVE_POOL = PoolFacts(
    name="gpu",
    mode="User",
    count=2,
    min_count=0,
    max_count=3,
    vm_size="Standard_NC24ads_A100_v4",
    os_sku="Ubuntu",
    taints=("sku=gpu:NoSchedule",),
    labels={"a": "b"},
    tags={"gpuobs-stack": "gpuobs gpuobs dev 1"},
)


@pytest.mark.handles("stale-count")
@pytest.mark.parametrize(
    ("live", "changes"),
    [
        ({}, False),
        ({"count": 3}, False),
        ({"max_count": 4}, True),
        ({"min_count": None, "max_count": None}, True),
        ({"taints": ()}, True),
        ({"taints": ("sku=gpu:NoSchedule", "other=one:NoSchedule")}, True),
        ({"labels": {}}, True),
        ({"tags": {**LIVE_POOL.tags, "team": "ml"}}, True),
        # Of a stack of before: it gets its mark.
        ({"tags": {}}, True),
        ({"os_sku": "AzureLinux"}, True),
        # Made again, with as few nodes as there may be.
        ({"vm_size": "Standard_NC48ads_A100_v4", "labels": {}}, False),
        ({"name": "other", "labels": {}}, False),
    ],
)
def test_an_autoscaled_pool_is_changed_where_what_is_live_differs_in_more_than_its_nodes(
    live: dict[str, object], changes: bool
) -> None:
    pools = [LIVE_POOL.model_copy(update=live)]
    assert autoscaled_pool_changes(settings(gpuPool=AUTOSCALED), pools) is changes


# --- management locks ----------------------------------------------------------------------------

NODE_GROUP = f"{GROUP.replace('rg-dev', 'MC_rg-dev_aks-dev_westeurope')}"


def locked(scope: str, *, read_only: bool = True) -> Survey:
    lock = f"{scope}/providers/Microsoft.Authorization/locks/keep"
    facts = LockFacts(id=lock, scope=scope, read_only=read_only)
    return GOOD.model_copy(update={"locks": (facts,)})


@pytest.mark.handles("management-lock")
@pytest.mark.parametrize(
    ("scope", "is_in_the_way"),
    [
        (GROUP.partition("/resourceGroups/")[0], True),
        (GROUP.upper(), True),
        (CLUSTER_ID, True),
        (NODE_GROUP, True),
        (f"{NODE_GROUP}/providers/Microsoft.Network/loadBalancers/kubernetes", True),
        (GRAFANA_ID, True),
        (WORKSPACE_ID, False),
        (f"{GROUP}-2", False),
        (f"{CLUSTER_ID}/agentPools/system", False),
    ],
)
def test_a_lock_that_refuses_changes_of_what_the_stack_changes_is_found_before(
    scope: str, is_in_the_way: bool
) -> None:
    wanted = settings(WITH_METRICS)
    survey, request = locked(scope), asked(wanted)
    remove = f"az lock delete --ids {scope}/providers/Microsoft.Authorization/locks/keep"
    try:
        warnings = evaluate(wanted, survey, request, frozenset[str]()).warnings
        found: list[str] = []
    except ConfigurationError as error:
        found, warnings = [str(one) for one in error.faults], error.warnings
    assert [remove in one for one in found] == [True] * is_in_the_way
    assert not any("lock" in one for one in warnings)
    # Once all is there, a preview without a change goes on.
    later = evaluate(wanted, survey, request, {Own.APPROVAL, *Own}).warnings
    assert [remove in one for one in later if "lock" in one] == [True] * is_in_the_way


@pytest.mark.handles("management-lock")
def test_a_lock_that_refuses_deletions_is_a_warning_before_there_is_anything_to_delete() -> None:
    wanted = settings(WITH_METRICS)
    survey, request = locked(GROUP, read_only=False), asked(wanted)
    (warning,) = evaluate(wanted, survey, request, frozenset[str]()).warnings
    assert "Before `pulumi destroy`" in warning
    assert f"az lock delete --ids {GROUP}/providers/" in warning
    assert evaluate(wanted, survey, request, {*Own}).warnings == ()
