"""The pool of GPU nodes, and the device plugin on it."""

from dataclasses import replace
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from components.gpu_node_pool import (
    AutoscalingArgs,
    GpuNodePool,
    GpuNodePoolArgs,
    SpotArgs,
)
from contract.choices import DEVICE_PLUGIN_TAG, EvictionPolicy, GpuDriver, OsSku
from contract.images import DEVICE_PLUGIN as IMAGE
from tests.unit import answers
from tests.unit.recording import Recorded, record

POOL = "azure-native:containerservice:AgentPool"
DAEMON_SET = "kubernetes:apps/v1:DaemonSet"
ARGS = GpuNodePoolArgs(
    cluster_name="aks-dev",
    resource_group_name="rg-dev",
    pool_name="gpu",
    vm_size="Standard_NC24ads_A100_v4",
    count=1,
    taints=["sku=gpu:NoSchedule"],
    labels={"team": "ml"},
    os_sku=OsSku.UBUNTU,
    driver=GpuDriver.INSTALL,
    device_plugin=True,
)


def deploy(**changes: Any) -> Recorded:
    def program() -> None:
        provider = kubernetes.Provider("kubernetes", kubeconfig="")
        opts = pulumi.ResourceOptions(providers=[provider])
        GpuNodePool("gpu-pool", replace(ARGS, **changes), opts)

    return record(program, answer_call=answers.Azure().call)


def test_a_fixed_pool_has_its_count_and_no_autoscaler() -> None:
    pool = deploy().only(POOL)
    assert pool.parent == "gpu-pool"
    assert pool.inputs["resourceName"] == "aks-dev"
    assert pool.inputs["mode"] == "User"
    assert pool.inputs["count"] == 1
    assert pool.inputs["enableAutoScaling"] is False
    assert "minCount" not in pool.inputs
    assert pool.ignore_changes == frozenset()


def test_one_that_is_taken_over_is_updated_to_what_the_program_says_and_never_made_anew() -> None:
    imported = "/subscriptions/s/agentPools/gpu"
    scaled = AutoscalingArgs(min_count=0, max_count=3)
    pool = deploy(count=None, autoscaling=scaled, imported=imported).only(POOL)
    assert pool.replace_on_changes == frozenset()
    # AKS wants the number of nodes that there are with every update.
    assert "count" not in pool.ignore_changes


@pytest.mark.handles("autoscaler-without-count")
def test_an_autoscaled_pool_sends_its_minimum_as_count_and_leaves_the_count_alone() -> None:
    scaled = AutoscalingArgs(min_count=0, max_count=3)
    pool = deploy(count=None, autoscaling=scaled).only(POOL)
    sizes = {key: pool.inputs[key] for key in ("count", "minCount", "maxCount")}
    assert sizes == {"count": 0, "minCount": 0, "maxCount": 3}
    assert pool.ignore_changes == {"count"}


@pytest.mark.handles("autoscaler-without-count")
@pytest.mark.handles("stale-count")
def test_a_pool_that_is_changed_sends_the_number_of_nodes_that_it_has() -> None:
    scaled = AutoscalingArgs(min_count=1, max_count=3)
    recorded = deploy(count=None, autoscaling=scaled, sends_present_count=True)
    pool = recorded.only(POOL)
    assert [call.token.rpartition(":")[2] for call in recorded.calls] == ["getAgentPool"]
    assert pool.inputs["count"] == answers.NODES
    assert pool.ignore_changes == frozenset()


@pytest.mark.handles("spot-taint")
def test_a_spot_pool_declares_the_taint_and_label_that_azure_adds() -> None:
    spot = SpotArgs(max_price=-1, eviction_policy=EvictionPolicy.DELETE)
    recorded = deploy(spot=spot)
    pool = recorded.only(POOL).inputs
    assert pool["nodeTaints"] == [
        "sku=gpu:NoSchedule",
        "kubernetes.azure.com/scalesetpriority=spot:NoSchedule",
    ]
    assert pool["nodeLabels"] == {"team": "ml", "kubernetes.azure.com/scalesetpriority": "spot"}
    assert pool["scaleSetPriority"] == "Spot"
    assert pool["scaleSetEvictionPolicy"] == "Delete"
    assert pool["spotMaxPrice"] == -1
    assert len(pod_of(recorded)["tolerations"]) == 2


def test_an_ordinary_pool_says_nothing_of_spot() -> None:
    inputs = deploy().only(POOL).inputs
    for key in ("scaleSetPriority", "scaleSetEvictionPolicy", "spotMaxPrice"):
        assert key not in inputs


def test_driver_slices_zones_network_disk_and_pods_are_handed_on() -> None:
    pool = deploy(
        driver=GpuDriver.NONE,
        mig_profile="MIG2g",
        zones=["1", "2"],
        subnet_id="/subnets/gpu",
        os_disk_size_gb=256,
        max_pods=50,
        os_sku=OsSku.AZURE_LINUX,
        tags={"a": "b"},
    ).only(POOL)
    assert pool.inputs["gpuProfile"] == {"driver": "None"}
    assert pool.inputs["gpuInstanceProfile"] == "MIG2g"
    assert pool.inputs["availabilityZones"] == ["1", "2"]
    assert pool.inputs["vnetSubnetID"] == "/subnets/gpu"
    assert pool.inputs["osDiskSizeGB"] == 256
    assert pool.inputs["maxPods"] == 50
    assert pool.inputs["osSKU"] == "AzureLinux"
    assert pool.inputs["tags"] == {"a": "b"}


def test_what_aks_refuses_to_change_makes_another_pool_in_place_of_the_old_one() -> None:
    pool = deploy().only(POOL)
    assert {"gpuProfile", "scaleSetPriority", "availabilityZones"} <= pool.replace_on_changes
    assert "nodeTaints" not in pool.replace_on_changes
    assert pool.delete_before_replace


def pod_of(recorded: Recorded) -> dict[str, Any]:
    return recorded.only(DAEMON_SET).inputs["spec"]["template"]["spec"]


def test_the_device_plugin_runs_on_this_pools_nodes_only_and_tolerates_their_taints() -> None:
    recorded = deploy()
    plugin = recorded.only(DAEMON_SET)
    assert plugin.parent == "gpu-pool-device-plugin"
    assert plugin.provider == "kubernetes"
    component = recorded.named(plugin.parent)
    assert component.parent == "gpu-pool"
    assert "gpu-pool-pool" in component.depends_on
    pod = pod_of(recorded)
    assert pod["nodeSelector"] == {"kubernetes.azure.com/agentpool": "gpu"}
    assert pod["tolerations"] == [
        {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    ]


@pytest.mark.parametrize(
    ("taint", "toleration"),
    [
        ("a=b:NoExecute", {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute"}),
        ("a:NoSchedule", {"key": "a", "operator": "Exists", "effect": "NoSchedule"}),
        ("a=:NoSchedule", {"key": "a", "operator": "Equal", "value": "", "effect": "NoSchedule"}),
        (
            "example.com/a=b=c:NoSchedule",
            {
                "key": "example.com/a",
                "operator": "Equal",
                "value": "b=c",
                "effect": "NoSchedule",
            },
        ),
    ],
)
def test_every_taint_has_its_toleration(taint: str, toleration: dict[str, str]) -> None:
    assert pod_of(deploy(taints=[taint]))["tolerations"] == [toleration]


def test_the_device_plugins_image_is_one_version() -> None:
    (container,) = pod_of(deploy())["containers"]
    assert container["image"] == f"{IMAGE}:{DEVICE_PLUGIN_TAG}"
    assert "args" not in container


def test_the_device_plugins_release_is_a_choice() -> None:
    (container,) = pod_of(deploy(device_plugin_tag="v0.17.4"))["containers"]
    assert container["image"] == f"{IMAGE}:v0.17.4"


def test_slices_are_advertised_as_gpus() -> None:
    (container,) = pod_of(deploy(mig_profile="MIG1g"))["containers"]
    assert container["args"] == ["--mig-strategy=single"]
    assert {"name": "NVIDIA_MIG_MONITOR_DEVICES", "value": "all"} in container["env"]
    assert container["securityContext"] == {"capabilities": {"add": ["SYS_ADMIN"]}}


def test_without_the_device_plugin_there_is_none() -> None:
    recorded = deploy(device_plugin=False)
    assert recorded.of_type(DAEMON_SET) == []
    assert len(recorded.of_type(POOL)) == 1
