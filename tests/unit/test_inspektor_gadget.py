"""The agent's extension and its namespace."""

from dataclasses import replace
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from components.inspektor_gadget import InspektorGadget, InspektorGadgetArgs
from tests.unit import answers
from tests.unit.recording import Recorded, record

EXTENSION = "azure-native:kubernetesconfiguration:Extension"
NAMESPACE = "kubernetes:core/v1:Namespace"
ARGS = InspektorGadgetArgs(
    cluster_name="aks-dev",
    resource_group_name="rg-dev",
    extension_name="inspektor-gadget",
    release_train="preview",
    auto_upgrade=True,
    azure_monitor_metrics=True,
    settings={"inspektor-gadget.config.daemonLogLevel": "debug"},
    create_namespace=True,
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
def test_a_failed_or_different_extension_is_deleted_before_it_is_made_again() -> None:
    extension = deploy().only(EXTENSION)
    assert extension.replace_on_changes == {"extensionType", "scope", "#initerror"}
    assert extension.delete_before_replace


def test_the_namespace_is_this_stacks_only_if_it_makes_it() -> None:
    made = deploy()
    namespace = made.only(NAMESPACE)
    assert namespace.inputs["metadata"] == {"name": "gadget"}
    assert namespace.provider == "kubernetes"
    assert made.outputs["agent"]["namespace"] == "gadget"
    found = deploy(create_namespace=False)
    assert found.of_type(NAMESPACE) == []
    assert found.reads == {"agent-namespace": "gadget"}
    assert found.outputs["agent"]["namespace"] == "gadget"


def test_the_installed_version_is_answered() -> None:
    assert deploy().outputs["agent"]["currentVersion"] == answers.AGENT_VERSION


def test_the_type_token_never_changes() -> None:
    assert InspektorGadget.TYPE == "gpuobs:index:InspektorGadget"
