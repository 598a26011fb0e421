"""The cluster component: yours or made, and the provider for what is in it."""

import base64
import json
from dataclasses import replace

import pulumi
import pytest
import yaml

from components.aks_cluster import (
    AksCluster,
    AksClusterArgs,
    ExistingClusterArgs,
    NewClusterArgs,
)
from components.kubeconfig import portable
from components.system_pool import SystemPoolArgs
from contract.choices import ClusterCredentials
from tests.unit import answers
from tests.unit.recording import Recorded, Secret, record

CLUSTER = "azure-native:containerservice:ManagedCluster"
PROVIDER = "pulumi:providers:kubernetes"
NEW = NewClusterArgs(
    dns_prefix="gpuobs",
    system_pool_vm_size="Standard_D4s_v5",
    system_pool_count=2,
    azure_monitor_metrics=True,
    kubernetes_version="1.33",
    tags={"team": "ml"},
)


def deploy(
    *,
    new: NewClusterArgs | None = None,
    pool: SystemPoolArgs | None = None,
    credentials: ClusterCredentials = ClusterCredentials.USER,
    kubeconfig: str = answers.KUBECONFIG,
    preview: bool = False,
) -> Recorded:
    azure = answers.Azure(kubeconfig=kubeconfig)
    args = AksClusterArgs(
        cluster_name="aks-dev",
        resource_group_name="rg-dev",
        location="westeurope",
        node_resource_group="MC_rg-dev",
        credentials=credentials,
        existing=None if new else ExistingClusterArgs(id=answers.CLUSTER_ID),
        new=new,
        system_pool=pool,
    )
    return record(
        lambda: AksCluster("cluster", args),
        answer_resource=azure.resource,
        answer_call=azure.call,
        preview=preview,
    )


def kubeconfig_of(recorded: Recorded) -> str:
    secret = recorded.only(PROVIDER).inputs["kubeconfig"]
    assert isinstance(secret, Secret), "the kubeconfig is in plain text"
    assert isinstance(secret.value, str)
    return secret.value


def test_an_existing_cluster_is_only_read() -> None:
    recorded = deploy()
    assert [one.type for one in recorded.resources] == [AksCluster.TYPE, PROVIDER]
    assert recorded.outputs["cluster"]["id"] == answers.CLUSTER_ID


def test_the_type_token_never_changes() -> None:
    # Another one would replace everything inside.
    assert AksCluster.TYPE == "gpuobs:index:AksCluster"


@pytest.mark.handles("kubeconfig-rotates")
def test_a_rotated_kubeconfig_replaces_nothing() -> None:
    provider = deploy().only(PROVIDER)
    assert provider.inputs["clusterIdentifier"] == answers.CLUSTER_ID.lower()


def test_an_existing_namespace_would_not_be_taken_over() -> None:
    # The arguments of a provider travel as JSON texts.
    assert deploy().only(PROVIDER).inputs["enableServerSideApply"] == "false"


def test_the_component_itself_does_not_hold_the_kubeconfig() -> None:
    recorded = deploy()
    component = recorded.named("cluster")
    assert "kubeconfig" not in component.inputs
    assert "kubeconfig" not in recorded.outputs["cluster"]


def test_users_and_admins_credentials_are_asked_for_by_their_own_functions() -> None:
    user = deploy().calls[0]
    assert user.token.endswith(":listManagedClusterUserCredentials")
    assert user.arguments == {
        "resourceGroupName": "rg-dev",
        "resourceName": "aks-dev",
        "format": "exec",
    }
    admin = deploy(credentials=ClusterCredentials.ADMIN).calls[0]
    assert admin.token.endswith(":listManagedClusterAdminCredentials")


def test_credentials_that_are_certificates_are_used_as_they_are() -> None:
    assert kubeconfig_of(deploy()) == answers.KUBECONFIG


@pytest.mark.handles("local-accounts-disabled")
def test_an_entra_cluster_gets_its_token_from_our_own_operation_without_kubelogin() -> None:
    config = json.loads(kubeconfig_of(deploy(kubeconfig=answers.ENTRA_KUBECONFIG)))
    program = config["users"][0]["user"]["exec"]
    assert program["command"] == "sh"
    assert program["args"] == ["operations/run", "kube-token"]
    assert program["interactiveMode"] == "Never"
    assert "kubelogin" not in json.dumps(config)
    assert "--tenant-id" not in json.dumps(config)
    before = yaml.safe_load(answers.ENTRA_KUBECONFIG)
    assert config["clusters"] == before["clusters"]


def test_the_token_is_for_the_tenant_of_the_cluster() -> None:
    tenant = "44444444-4444-4444-8444-444444444444"
    kubeconfig = answers.ENTRA_KUBECONFIG.replace(
        "[get-token,", f"[get-token, --tenant-id, {tenant},"
    )
    config = json.loads(kubeconfig_of(deploy(kubeconfig=kubeconfig)))
    program = config["users"][0]["user"]["exec"]
    assert program["args"] == ["operations/run", "kube-token", "--tenant-id", tenant]


def test_only_the_users_that_call_a_program_are_given_ours() -> None:
    mixed = yaml.safe_load(answers.ENTRA_KUBECONFIG)
    mixed["users"].append({"name": "admin", "user": {"token": "t"}})
    config = json.loads(portable(base64.b64encode(yaml.safe_dump(mixed).encode()).decode()))
    assert config["users"][1] == {"name": "admin", "user": {"token": "t"}}


def test_a_new_cluster_has_what_agent_private_link_and_metrics_need() -> None:
    cluster = deploy(new=NEW).only(CLUSTER)
    assert cluster.parent == "cluster"
    inputs = cluster.inputs
    assert inputs["resourceName"] == "aks-dev"
    assert inputs["identity"] == {"type": "SystemAssigned"}
    assert inputs["networkProfile"]["loadBalancerSku"] == "standard"
    assert inputs["azureMonitorProfile"] == {"metrics": {"enabled": True}}
    assert inputs["oidcIssuerProfile"] == {"enabled": True}
    assert inputs["securityProfile"] == {"workloadIdentity": {"enabled": True}}
    assert inputs["nodeResourceGroup"] == "MC_rg-dev"
    assert inputs["kubernetesVersion"] == "1.33"
    assert inputs["tags"] == {"team": "ml"}


@pytest.mark.handles("inline-and-separate-pools")
def test_a_new_cluster_has_one_inline_pool_and_no_list_is_ignored() -> None:
    cluster = deploy(new=NEW).only(CLUSTER)
    (pool,) = cluster.inputs["agentPoolProfiles"]
    assert (pool["name"], pool["mode"], pool["count"]) == ("system", "System", 2)
    assert "nodeTaints" not in pool, "Pyroscope tolerates no taint"
    assert cluster.ignore_changes == frozenset()
    assert cluster.delete_before_replace


@pytest.mark.handles("stale-pools-after-refresh")
def test_a_cluster_that_is_there_says_of_its_system_pool_what_is_so() -> None:
    pool = SystemPoolArgs(name="system2", vm_size="Standard_D8s_v5", count=4, autoscaled=False)
    same = deploy(new=NEW, pool=replace(pool, name="system", vm_size="Standard_D4s_v5", count=2))
    made = deploy(new=NEW)
    assert same.only(CLUSTER).inputs == made.only(CLUSTER).inputs
    (changed,) = deploy(new=NEW, pool=pool).only(CLUSTER).inputs["agentPoolProfiles"]
    assert (changed["name"], changed["vmSize"], changed["count"]) == (
        "system2",
        "Standard_D8s_v5",
        4,
    )
    autoscaled = deploy(new=NEW, pool=replace(pool, autoscaled=True)).only(CLUSTER)
    assert "agentPoolProfiles" not in autoscaled.inputs


def test_in_the_preview_of_a_new_cluster_nothing_is_asked_of_it() -> None:
    recorded = deploy(new=NEW, preview=True)
    assert recorded.calls == []


def test_neither_yours_nor_a_new_one_is_a_mistake_of_the_caller() -> None:
    args = AksClusterArgs(
        cluster_name="a",
        resource_group_name="b",
        location="c",
        node_resource_group="d",
        credentials=ClusterCredentials.USER,
    )
    with pytest.raises(ValueError, match="neither"):
        record(lambda: AksCluster("cluster", args))


def test_what_is_in_a_new_cluster_waits_for_it_and_knows_which_it_is() -> None:
    azure = answers.Azure()
    made: list[pulumi.Resource | None] = []

    def program() -> None:
        args = AksClusterArgs(
            cluster_name="aks-dev",
            resource_group_name="rg-dev",
            location="westeurope",
            node_resource_group="MC_rg-dev",
            credentials=ClusterCredentials.USER,
            new=NEW,
        )
        cluster = AksCluster("cluster", args)
        made.append(cluster.created)
        pulumi.Stash("inside", input=cluster.cluster_name)

    recorded = record(program, answer_resource=azure.resource, answer_call=azure.call)
    assert "cluster-cluster" in recorded.named("inside").property_depends_on["input"]
    assert made[0] is not None
