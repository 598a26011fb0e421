"""Section ``gpuPool``: the nodes with GPUs. Which values AKS accepts together is checked here."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from contract.choices import DEVICE_PLUGIN_TAG, EvictionPolicy, GpuDriver, OsSku
from infra.settings.section import Described, RuleViolation, Section, refuse
from infra.settings.types import (
    LABEL_KEY_PATTERN,
    DiskSizeGb,
    GpuVmSize,
    ImageTag,
    LabelValue,
    MaxPods,
    NodeCount,
    PoolName,
    SubnetId,
    Taint,
    Zone,
)

AKS_OWN_PREFIX = "kubernetes.azure.com/"
"""Labels and taints with this prefix are AKS' own."""
_MIG_CAPABLE = re.compile(r"A100|H100|H200|GB200|^Standard_ND96asr_v4$")
"""GPUs that can be partitioned (MIG), as Azure's size names tell them."""


def _positive_or_current(value: object) -> object:
    if isinstance(value, int | float) and (
        isinstance(value, bool) or not (value == -1 or 0 < value < float("inf"))
    ):
        raise refuse(
            "-1 (up to the on-demand price) or more than 0, in US dollars per hour",
            "AKS refuses the pool.",
            "write -1, or the most you want to pay per node and hour",
        )
    return value


SpotPrice = Annotated[float, BeforeValidator(_positive_or_current), Described("-1, or more than 0")]


class Autoscaling(Section):
    """The range in which the cluster autoscaler chooses."""

    min: NodeCount
    """Fewest nodes; 0 lets the pool vanish while no pod asks for a GPU."""
    max: NodeCount
    """Most nodes."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """The range is not empty."""
        if self.min > self.max or self.max < 1:
            yield RuleViolation(
                fields=("min", "max"),
                rule=f"min ({self.min}) <= max ({self.max}), and max at least 1",
                why="AKS refuses the pool.",
                fix="raise `max`",
            )


class Spot(Section):
    """Spot nodes: cheaper, and taken back when Azure needs them."""

    max_price: SpotPrice = -1
    """Most to pay for a node and hour, in US dollars; -1: up to the on-demand price."""
    eviction_policy: EvictionPolicy = EvictionPolicy.DELETE
    """What happens to a node that Azure takes back; deallocated nodes count against the quota."""


class MigProfile(StrEnum):
    """How each GPU is partitioned."""

    MIG1G = "MIG1g"
    MIG2G = "MIG2g"
    MIG3G = "MIG3g"
    MIG4G = "MIG4g"
    MIG7G = "MIG7g"


class GpuPoolSettings(Section):
    """The nodes with GPUs."""

    enabled: bool = True
    """Create a GPU node pool; false: the cluster has one already, or needs none."""
    name: PoolName = "gpu"
    """Name of the pool."""
    vm_size: GpuVmSize = "Standard_NC24ads_A100_v4"
    """VM size of the GPU nodes; a change replaces the pool."""
    count: NodeCount | None = None
    """Fixed number of nodes; default 1; left out with autoscaling."""
    autoscaling: Autoscaling | None = None
    """Let the cluster autoscaler choose the number of nodes."""
    spot: Spot | None = None
    """Spot nodes, which Azure may take back; `{}` for the defaults."""
    taints: Sequence[Taint] = ("sku=gpu:NoSchedule",)
    """Taints of the nodes. Spot's own taint and label are added for you."""
    labels: Mapping[str, LabelValue] = Field(default_factory=dict)
    """Labels of the nodes."""
    os_sku: OsSku = OsSku.UBUNTU
    """The nodes' Linux."""
    driver: GpuDriver = GpuDriver.INSTALL
    """`Install`: AKS installs NVIDIA's driver; `None`: you do, e.g. with the GPU Operator."""
    mig_profile: MigProfile | None = None
    """Partition each GPU (A100, H100 and newer); a change replaces the pool."""
    zones: Sequence[Zone] = ()
    """Availability zones; none: AKS chooses."""
    subnet_id: SubnetId | None = None
    """ARM id of the nodes' subnet; default: the cluster's own."""
    os_disk_size_gb: DiskSizeGb | None = None
    """Size of a node's system disk in GB; default: AKS' own."""
    max_pods: MaxPods | None = None
    """Most pods a node; default: AKS' own."""
    device_plugin: bool = True
    """Install the NVIDIA device plugin's DaemonSet, without which no pod can ask for a GPU."""
    device_plugin_tag: ImageTag = DEVICE_PLUGIN_TAG
    """Release of the device plugin, as its image is tagged."""

    @property
    def first_nodes(self) -> int:
        """How many nodes the pool has when it is made."""
        if self.autoscaling is not None:
            return self.autoscaling.min
        return 1 if self.count is None else self.count

    @property
    def most_nodes(self) -> int:
        """How many nodes the pool may have."""
        return self.first_nodes if self.autoscaling is None else self.autoscaling.max

    def rule_violations(self) -> Iterable[RuleViolation]:
        """What AKS accepts together."""
        if self.count is not None and self.autoscaling is not None:
            yield RuleViolation(
                fields=("count", "autoscaling"),
                at="count",
                value=self.count,
                rule="either `count` or `autoscaling`",
                why="the autoscaler changes the number of nodes; a fixed one would fight it at "
                "every update.",
                fix="leave `count` out: the pool starts with `autoscaling.min` nodes",
            )
        if self.driver is GpuDriver.NONE and self.device_plugin:
            yield RuleViolation(
                fields=("driver", "devicePlugin"),
                at="devicePlugin",
                value=True,
                rule="must be false with `driver: None`",
                why="what installs the driver (the GPU Operator) installs a device plugin, and two "
                "on one node take GPUs from each other.",
                fix="write `devicePlugin: false`",
            )
        if self.mig_profile is not None and not _MIG_CAPABLE.search(self.vm_size):
            yield RuleViolation(
                fields=("migProfile", "vmSize"),
                at="migProfile",
                value=self.mig_profile.value,
                rule="only GPUs of the A100, H100 and later generations can be partitioned; "
                f"`vmSize` is {self.vm_size}",
                why="AKS refuses the pool, or its nodes never become ready.",
                fix="leave `migProfile` out, or choose e.g. Standard_NC24ads_A100_v4",
            )
        if len(set(self.zones)) < len(self.zones):
            yield RuleViolation(
                fields=("zones",),
                rule="each zone once",
                why="AKS refuses the pool.",
                fix="leave the repeated one out",
            )
        yield from self._broken_taints()
        yield from self._broken_labels()

    def _broken_taints(self) -> Iterable[RuleViolation]:
        seen: set[tuple[str, str]] = set()
        for number, taint in enumerate(self.taints):
            identity, _, effect = taint.rpartition(":")
            key = identity.partition("=")[0]
            at = f"taints[{number}]"
            if key.startswith(AKS_OWN_PREFIX):
                yield RuleViolation(
                    fields=(at,),
                    value=taint,
                    rule=f"the prefix {AKS_OWN_PREFIX} is AKS' own",
                    why="AKS refuses the pool, or changes the taint at every update.",
                    fix="leave it out: with `spot` its taint and label are added for you",
                )
            if (key, effect) in seen:
                yield RuleViolation(
                    fields=(at,),
                    value=taint,
                    rule="each key and effect once",
                    why="Kubernetes refuses two taints that differ in the value only.",
                    fix="leave one of them out",
                )
            seen.add((key, effect))

    def _broken_labels(self) -> Iterable[RuleViolation]:
        for key in self.labels:
            if not re.fullmatch(LABEL_KEY_PATTERN, key):
                yield RuleViolation(
                    fields=("labels",),
                    value=key,
                    rule="a label's key: an optional DNS prefix with `/`, then at most 63 letters, "
                    "digits, `-_.`",
                    why="Kubernetes refuses the label, and AKS the pool.",
                    fix="rename the label",
                )
            elif key.startswith(AKS_OWN_PREFIX):
                yield RuleViolation(
                    fields=("labels",),
                    value=key,
                    rule=f"the prefix {AKS_OWN_PREFIX} is AKS' own",
                    why="AKS refuses the pool.",
                    fix="rename the label; spot's own label is added for you",
                )
