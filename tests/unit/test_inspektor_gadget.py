"""The agent's extension and its namespace."""

from dataclasses import replace
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from components.inspektor_gadget import InspektorGadget, InspektorGadgetArgs
from components.present_extension import PresentExtensionArgs
from contract.choices import ClusterCredentials
from contract.messages.agent import AgentRequest
from contract.messages.namespace import NamespaceRequest
from tests.unit import answers
from tests.unit.recording import Recorded, record

EXTENSION = "azure-native:kubernetesconfiguration:Extension"
NAMESPACE = "kubernetes:core/v1:Namespace"
ARGS = InspektorGadgetArgs(
    cluster_id=answers.CLUSTER_ID,
    cluster_name="aks-dev",
    resource_group_name="rg-dev",
    extension_name="inspektor-gadget",
    release_train="preview",
    auto_upgrade=True,
    azure_monitor_metrics=True,
    settings={"inspektor-gadget.config.daemonLogLevel": "debug"},
    create_namespace=True,
    stack_mark="gpuobs gpuobs dev 1",
    credentials=ClusterCredentials.USER,
)
PRESENT = PresentExtensionArgs(
    installed=True,
    release_train="Preview",
    version="0.54.1",
    auto_upgrade=True,
    settings={
        "gpuObservability.enabled": "true",
        "azureMonitor.enabled": "true",
        "inspektor-gadget.config.daemonLogLevel": "debug",
        "Azure.Region": "westeurope",
    },
)


def deploy(**changes: Any) -> Recorded:
    def program() -> None:
        provider = kubernetes.Provider("kubernetes", kubeconfig="")
        opts = pulumi.ResourceOptions(providers=[provider])
        InspektorGadget("agent", replace(ARGS, **changes), opts)

    return record(program, answer_resource=answers.Azure().resource)


def test_the_extension_is_the_agents_on_this_cluster() -> None:
    extension = deploy().only(EXTENSION)
    assert extension.parent == "agent"
    expected = {
        "extensionName": "inspektor-gadget",
        "extensionType": "microsoft.inspektorgadget",
        "clusterRp": "Microsoft.ContainerService",
        "clusterResourceName": "managedClusters",
        "clusterName": "aks-dev",
        "resourceGroupName": "rg-dev",
        "releaseTrain": "preview",
        "autoUpgradeMinorVersion": True,
    }
    assert {key: extension.inputs[key] for key in expected} == expected
    assert "version" not in extension.inputs


def test_a_pinned_version_is_handed_on() -> None:
    inputs = deploy(version="0.53.1", auto_upgrade=False).only(EXTENSION).inputs
    assert inputs["version"] == "0.53.1"
    assert inputs["autoUpgradeMinorVersion"] is False


@pytest.mark.parametrize(("metrics", "text"), [(True, "true"), (False, "false")])
def test_gpu_observability_is_on_and_metrics_are_said_either_way(metrics: bool, text: str) -> None:
    # The service only adds settings: leaving one out does not turn it off.
    settings = deploy(azure_monitor_metrics=metrics).only(EXTENSION).inputs["configurationSettings"]
    assert settings == {
        "gpuObservability.enabled": "true",
        "azureMonitor.enabled": text,
        "inspektor-gadget.config.daemonLogLevel": "debug",
    }


def test_what_the_service_reports_is_not_taken_for_a_change() -> None:
    assert deploy().only(EXTENSION).ignore_changes == {"statuses"}


@pytest.mark.handles("extension-inner-error")
@pytest.mark.handles("failed-upgrade-of-the-agent")
@pytest.mark.parametrize("installed", [None, False, True])
def test_one_that_never_ran_or_a_different_one_is_deleted_before_it_is_made_again(
    installed: bool | None,
) -> None:
    present = None if installed is None else replace(PRESENT, installed=installed)
    extension = deploy(present=present).only(EXTENSION)
    never_ran = {"#initerror"} if installed is False else set[str]()
    assert extension.replace_on_changes == {"extensionType", "scope", *never_ran}
    assert extension.delete_before_replace


@pytest.mark.handles("what-azure-adds-to-the-agent")
def test_what_azure_added_is_ignored_until_something_of_ours_is_sent_and_then_sent_too() -> None:
    same = deploy(present=PRESENT).only(EXTENSION)
    assert same.ignore_changes == {"statuses", "version", 'configurationSettings["Azure.Region"]'}
    assert "Azure.Region" not in same.inputs["configurationSettings"]
    other = deploy(present=PRESENT, release_train="stable").only(EXTENSION)
    assert other.ignore_changes == {"statuses"}
    assert other.inputs["configurationSettings"]["Azure.Region"] == "westeurope"


def test_the_namespace_is_this_stacks_only_if_it_makes_it() -> None:
    made = deploy()
    namespace = made.only(NAMESPACE)
    assert namespace.inputs["metadata"] == {
        "name": "gadget",
        "annotations": {"gpuobs/stack": "gpuobs gpuobs dev 1"},
    }
    assert namespace.provider == "kubernetes"
    assert made.outputs["agent"]["namespace"] == "gadget"
    found = deploy(create_namespace=False)
    assert found.of_type(NAMESPACE) == []
    assert found.reads == {"agent-namespace": "gadget"}
    assert found.outputs["agent"]["namespace"] == "gadget"


@pytest.mark.parametrize(
    ("changes", "release"),
    [
        ({}, "inspektor-gadget"),
        ({"extension_name": "agent"}, "agent"),
        ({"helm_release": "azure-gadget"}, "azure-gadget"),
        ({"create_namespace": False}, None),
    ],
)
def test_the_namespace_is_kept_before_the_extension_and_marked_only_where_it_is_ours(
    changes: dict[str, Any], release: str | None
) -> None:
    recorded = deploy(**changes)
    kept = recorded.named("agent-namespace-protection")
    assert kept.inputs["create"] == "sh operations/run keep-namespace"
    assert kept.inputs["delete"] == "sh operations/run release-namespace"
    request = NamespaceRequest.model_validate_json(kept.inputs["stdin"])
    assert (request.namespace, request.service) == ("gadget", "pyroscope")
    assert (request.cluster_id, request.admin) == (answers.CLUSTER_ID, False)
    assert request.release == release
    assert "agent-namespace-protection" in recorded.only(EXTENSION).depends_on


def test_changed_settings_restart_the_agent_and_nothing_else_does() -> None:
    command = deploy().named("agent-settings")
    assert command.inputs["create"] == "sh operations/run record-agent-settings"
    assert command.inputs["update"] == "sh operations/run restart-agent"
    assert "agent-extension" in command.depends_on
    request = AgentRequest.model_validate_json(command.inputs["stdin"])
    assert request.settings == ARGS.settings
    assert (request.namespace, request.daemon_set) == ("gadget", "gadget")
    same = deploy(version="0.53.1", auto_upgrade=False, azure_monitor_metrics=False)
    assert same.named("agent-settings").inputs["stdin"] == command.inputs["stdin"]


def test_the_administrators_kubeconfig_keeps_it_where_that_is_asked_for() -> None:
    kept = deploy(credentials=ClusterCredentials.ADMIN).named("agent-namespace-protection")
    assert NamespaceRequest.model_validate_json(kept.inputs["stdin"]).admin


def test_the_installed_version_is_answered() -> None:
    assert deploy().outputs["agent"]["currentVersion"] == answers.AGENT_VERSION


def test_the_type_token_never_changes() -> None:
    assert InspektorGadget.TYPE == "gpuobs:index:InspektorGadget"
