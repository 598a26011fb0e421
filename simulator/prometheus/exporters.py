"""What the exporters beside the agent say: NVIDIA's DCGM exporter, and kube-state-metrics.

* DCGM: ``DCGM_FI_DEV_FB_USED``, ``_FREE`` and ``_RESERVED`` of each GPU, in MiB, with the labels of
  the exporter's own template (``internal/pkg/rendermetrics``: gpu, UUID, pci_bus_id, device,
  modelName, Hostname) and the pod's. The scrape's target labels ``namespace``, ``pod`` and
  ``container`` are those of the exporter itself, so Prometheus renames the exporter's to
  ``exported_...`` (``honor_labels: false``). A GPU that several pods share is reported for each of
  them, as with the exporter's ``KUBERNETES_VIRTUAL_GPUS``.
* kube-state-metrics: which pod runs where and since when, and how often its container restarted.
  All three are in the list that the metrics add-on keeps (Azure/prometheus-collector,
  ``otelcollector/shared/configmap/mp``, minimal ingestion profile).

A device uses what its processes hold, and what the driver takes for the context of each; the
agent counts the former alone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from simulator.prometheus.selectors import METRIC_NAME
from simulator.prometheus.series import Series
from simulator.pyroscope.profile import Process, held, processes

MIB = 1 << 20
RESERVED_MIB = 684
"""Of 81,920: recorded of an A800 of 80 GB, whose exporter reports 81,236 as used and free."""
TOTAL_MIB = 81_920
CONTEXT_MIB = 498
"""What the driver takes for a process: its context, kernels and libraries."""


@dataclass(frozen=True)
class Node:
    """A node with GPUs, as the exporters see it."""

    name: str
    gpus: int
    agent: str
    """The pod of the agent on it."""
    exporter: str
    """The pod of the DCGM exporter on it; empty without one."""


@dataclass(frozen=True)
class _Gpu:
    node: Node
    index: int
    processes: tuple[Process, ...]

    def used(self, at: float) -> int:
        """MiB, at ``at``."""
        running = [one for one in self.processes if one.is_running(at)]
        size = sum(held(one, at) for one in running)
        return min(-(-size // MIB) + CONTEXT_MIB * len(running), TOTAL_MIB - RESERVED_MIB)

    @property
    def pods(self) -> Iterator[Process]:
        """One process for each pod."""
        return iter({(one.namespace, one.pod): one for one in self.processes}.values())

    @property
    def users(self) -> Iterator[Process]:
        """The same, of pods that run on: one that ended gave the device back before a scrape."""
        return (one for one in self.pods if one.ends is None)


def series_of_exporters(
    cluster_name: str, nodes: tuple[Node, ...], started: float
) -> Iterator[Series]:
    """Every series of a cluster; the workloads ``started`` then, in seconds of the Unix epoch."""
    for gpu in _placed(nodes):
        if gpu.node.exporter:
            yield from _device(cluster_name, gpu)
        for process in gpu.pods:
            yield from _pod(cluster_name, process.namespace, process.pod, gpu.node.name, started)
    for node in nodes:
        yield from _pod(cluster_name, "gadget", node.agent, node.name, started - 60)


def _placed(nodes: tuple[Node, ...]) -> list[_Gpu]:
    """The GPUs, each with its processes: one pod after the other, and round again."""
    places = [(node, index) for node in nodes for index in range(node.gpus)]
    return [
        _Gpu(*place, tuple(processes()[number :: len(places)]))
        for number, place in enumerate(places)
    ]


def _device(cluster_name: str, gpu: _Gpu) -> Iterator[Series]:
    number = f"{gpu.node.name}-{gpu.index}".encode().hex()[-12:]
    labels = {
        "cluster": cluster_name,
        "gpu": str(gpu.index),
        "UUID": f"GPU-5b4e07f6-3a86-4340-039d-{number}",
        "pci_bus_id": f"0000000{gpu.index + 1}:00:00.0",
        "device": f"nvidia{gpu.index}",
        "modelName": "NVIDIA A100 80GB PCIe",
        "Hostname": gpu.node.name,
        "job": "default/dcgm-exporter",
        "namespace": "default",
        "pod": gpu.node.exporter,
        "container": "exporter",
    }
    users = [
        {"exported_namespace": one.namespace, "exported_pod": one.pod, "exported_container": "main"}
        for one in gpu.users
    ]
    figures: dict[str, Callable[[float], float]] = {
        "USED": gpu.used,
        "FREE": lambda at: TOTAL_MIB - RESERVED_MIB - gpu.used(at),
        "RESERVED": lambda _: RESERVED_MIB,
    }
    for user in users or [{}]:
        for figure, read in figures.items():
            name = {METRIC_NAME: f"DCGM_FI_DEV_FB_{figure}"}
            yield Series({**name, **labels, **user}, 0.0, read)


def _pod(
    cluster_name: str, namespace: str, pod: str, node: str, created: float
) -> Iterator[Series]:
    labels = {
        "cluster": cluster_name,
        "job": "kube-state-metrics",
        "namespace": namespace,
        "pod": pod,
    }
    figures: Mapping[str, tuple[dict[str, str], float]] = {
        "kube_pod_info": ({"node": node}, 1),
        "kube_pod_created": ({}, created),
        "kube_pod_container_status_restarts_total": ({"container": "main"}, 0),
    }
    for name, (more, value) in figures.items():
        yield Series({METRIC_NAME: name, **labels, **more}, 0.0, _always(value))


def _always(value: float) -> Callable[[float], float]:
    return lambda _: value
