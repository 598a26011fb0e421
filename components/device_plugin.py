"""NVIDIA's device plugin on one pool of nodes.

AKS installs the driver but no device plugin, and without one a node advertises no
``nvidia.com/gpu``. Nothing here runs on other pools.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from components.cluster_leftovers import marked
from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.options import deleted_with
from contract.choices import DEVICE_PLUGIN_NAMESPACE, device_plugin_name
from contract.images import DEVICE_PLUGIN

SOCKETS = "/var/lib/kubelet/device-plugins"
SOCKETS_VOLUME = "device-plugins"
RESOURCES: Mapping[str, Mapping[str, str]] = {
    "requests": {"cpu": "50m", "memory": "100Mi"},
    "limits": {"cpu": "500m", "memory": "256Mi"},
}
"""So that a policy that demands them takes the pods; the plugin answers kubelet, and rests."""
POOL_LABEL = "kubernetes.azure.com/agentpool"
"""AKS puts the pool's name under this label on each of its nodes."""


@dataclass(frozen=True, kw_only=True)
class DevicePluginArgs:
    """On which nodes."""

    pool_name: str
    taints: Sequence[str]
    """The pool's, each ``key=value:effect`` or ``key:effect``."""
    image: str | None = None
    """Without its tag; None: the public one."""
    tag: str
    """Release of NVIDIA's plugin, the tag of its image."""
    labels: Mapping[str, str] | None = None
    """Further labels of its pods."""
    sliced: bool
    """Whether the GPUs are cut into slices (MIG), each of which counts as a GPU."""
    stack_mark: str | None = None
    """Of the stack that it is of; None: it is not marked."""
    daemon_set_args: FurtherArgs | None = None
    """Further arguments of the DaemonSet (``metadata``, ``spec``); keys as Kubernetes has them."""


class DevicePlugin(pulumi.ComponentResource):
    """The DaemonSet. Needs the cluster's kubernetes provider."""

    TYPE = "gpuobs:index:DevicePlugin"

    daemon_set_name: pulumi.Output[str]
    """Its name in the namespace ``kube-system``."""

    def __init__(
        self, name: str, args: DevicePluginArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(self.TYPE, name, component_inputs(args, leave_out={"stack_mark"}), opts)
        labels = {"name": device_plugin_name(args.pool_name)}
        # An object of plain JSON: the SDK's own class evaluates the types of all of Kubernetes'
        # core to translate names, which takes longer than the rest of the program.
        CustomResource(
            f"{name}-daemon-set",
            api_version="apps/v1",
            kind="DaemonSet",
            metadata={
                "name": labels["name"],
                "namespace": DEVICE_PLUGIN_NAMESPACE,
                "labels": labels,
                **marked(args.stack_mark),
            },
            spec={
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": {**(args.labels or {}), **labels}},
                    "spec": _pod(args),
                },
            },
            opts=pulumi.ResourceOptions(
                parent=self,
                # Deployed by 0.1 as a child of the pool, under this component's name.
                aliases=[pulumi.Alias(name=name, parent=opts.parent if opts else None)],
                transformations=adding("daemon_set_args", args.daemon_set_args),
                # Its name is fixed: a second one beside it is not possible.
                delete_before_replace=True,
                # Nothing outside the cluster depends on it.
                deleted_with=deleted_with(opts),
            ),
        )
        self.daemon_set_name = pulumi.Output.from_input(labels["name"])
        self.register_outputs({"daemonSetName": self.daemon_set_name})


def _pod(args: DevicePluginArgs) -> dict[str, object]:
    return {
        "priorityClassName": "system-node-critical",
        "nodeSelector": {POOL_LABEL: args.pool_name},
        "tolerations": [_toleration(taint) for taint in args.taints],
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(f"{args.image or DEVICE_PLUGIN}:{args.tag}", sliced=args.sliced)],
        "volumes": [{"name": SOCKETS_VOLUME, "hostPath": {"path": SOCKETS}}],
    }


def _container(image: str, *, sliced: bool) -> dict[str, object]:
    # A node whose driver is still being installed must not be given up.
    environment = [{"name": "FAIL_ON_INIT_ERROR", "value": "false"}]
    container: dict[str, object] = {
        "name": "nvidia-device-plugin",
        "image": image,
        "env": environment,
        "resources": RESOURCES,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": SOCKETS_VOLUME, "mountPath": SOCKETS}],
    }
    if sliced:
        # Each slice is advertised as a GPU of its own; reading how a GPU is sliced takes more
        # rights.
        container["args"] = ["--mig-strategy=single"]
        container["env"] = [*environment, {"name": "NVIDIA_MIG_MONITOR_DEVICES", "value": "all"}]
        container["securityContext"] = {"capabilities": {"add": ["SYS_ADMIN"]}}
    return container


def _toleration(taint: str) -> dict[str, str]:
    """The toleration of ``key=value:effect`` or ``key:effect``."""
    assignment, _, effect = taint.rpartition(":")
    key, equals, value = assignment.partition("=")
    if not equals:
        return {"key": key, "operator": "Exists", "effect": effect}
    return {"key": key, "operator": "Equal", "value": value, "effect": effect}
