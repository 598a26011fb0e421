"""What the simulated exporters say, held against what the simulated agent counts."""

import pytest

from simulator.prometheus.exporters import CONTEXT_MIB, MIB, Node, series_of_exporters
from simulator.prometheus.series import SCOPES, Series, series_of

LATER = 3600.0


def node(number: int, gpus: int = 1, exporter: str = "dcgm-exporter-x") -> Node:
    return Node(f"aks-gpu-0-vmss{number:06}", gpus, f"gadget-{number}", exporter)


def exported(metric: str, *nodes: Node) -> list[Series]:
    made = series_of_exporters("aks-dev", nodes, 1000.0)
    return [one for one in made if one.labels["__name__"] == metric]


def counted(kind: str, at: float) -> dict[str, float]:
    """Bytes by pod, as the driver's probe counts them."""
    return {
        one.labels["k8s_podname"]: value
        for one in series_of("aks-dev")
        if one.labels["__name__"] == f"mem_{kind}_bytes_total"
        and one.labels["otel_scope_name"] == SCOPES[0]
        and (value := one.value(at)) is not None
    }


def held(at: float) -> dict[str, float]:
    freed, implicitly = counted("free", at), counted("implicit_free", at)
    return {
        pod: size - freed.get(pod, 0) - implicitly.get(pod, 0)
        for pod, size in counted("alloc", at).items()
    }


@pytest.mark.parametrize("nodes", [(node(0),), (node(0), node(1)), (node(0, gpus=4),)])
def test_devices_use_what_processes_hold_and_a_context_for_each(nodes: tuple[Node, ...]) -> None:
    by_device = {
        one.labels["UUID"]: one.value(LATER) or 0.0
        for one in exported("DCGM_FI_DEV_FB_USED", *nodes)
    }
    assert len(by_device) == sum(one.gpus for one in nodes)
    running = [size for size in held(LATER).values() if size]
    beyond = sum(by_device.values()) - sum(running) / MIB
    # Each device rounds up to a MiB.
    assert 0 <= beyond - CONTEXT_MIB * len(running) <= len(by_device)


def test_used_free_and_reserved_are_the_device() -> None:
    parts = [exported(f"DCGM_FI_DEV_FB_{figure}", node(0)) for figure in ("USED", "FREE")]
    assert {sum(one[0].value(at) or 0 for one in parts) for at in (0.0, LATER)} == {81_920 - 684}


def test_a_shared_device_is_reported_for_each_of_its_pods_and_an_idle_one_for_none() -> None:
    shared = exported("DCGM_FI_DEV_FB_USED", node(0))
    assert len({one.labels["exported_pod"] for one in shared}) == len(shared) == 3
    alone = exported("DCGM_FI_DEV_FB_USED", node(0, gpus=5))
    # The fourth is the job's that has ended.
    assert sum("exported_pod" not in one.labels for one in alone) == 2


def test_without_the_exporter_nodes_and_pods_are_known_and_devices_are_not() -> None:
    assert exported("DCGM_FI_DEV_FB_USED", node(0, exporter="")) == []
    places = {one.labels["pod"]: one.labels["node"] for one in exported("kube_pod_info", node(0))}
    assert places["vllm-0"] == places["gadget-0"] == node(0).name


def test_a_process_that_ends_keeps_its_series_and_what_it_held_is_freed_implicitly() -> None:
    before, after = 0.1, 10.0
    assert held(before)["sweep-0"] == counted("alloc", before)["sweep-0"] > 0
    assert "sweep-0" not in counted("implicit_free", before)
    assert counted("alloc", after)["sweep-0"] == counted("alloc", before)["sweep-0"]
    assert held(after)["sweep-0"] == 0
