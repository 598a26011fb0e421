"""Devices one by one, and what Kubernetes did: scenarios with known truth, on a real Prometheus."""

import pytest

from dashboards.panels import PanelId
from tests.dashboards.grafana import EVERYTHING
from tests.dashboards.prometheus import Series, counter
from tests.dashboards.scenarios import Check

pytestmark = pytest.mark.prometheus

MIB = 1 << 20
MODEL = "NVIDIA A100 80GB PCIe"
EXPORTER = {"namespace": "default", "pod": "dcgm-exporter-x"}
"""What the scrape says of whom it scraped."""


def series(name: str, **labels: object) -> str:
    inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{inner}}}"


def gpu(index: int = 0, node: str = "node-1", **more: object) -> dict[str, object]:
    return {
        "cluster": "aks-dev",
        "Hostname": node,
        "gpu": index,
        "UUID": f"GPU-{node}-{index}",
        "modelName": MODEL,
        **more,
    }


def device(used: str, free: str, **labels: object) -> Series:
    return {
        series("DCGM_FI_DEV_FB_USED", **labels): used,
        series("DCGM_FI_DEV_FB_FREE", **labels): free,
    }


def row(index: int = 0, node: str = "node-1", namespace: str = "", pod: str = "") -> str:
    named = {"k8s_namespace": namespace, "k8s_podname": pod}
    of = {"cluster": "aks-dev", "Hostname": node, "gpu": index, "modelName": MODEL, **named}
    return series("", **{key: value for key, value in of.items() if value != ""})


def theirs(pod: str, namespace: str = "inference") -> dict[str, object]:
    return {**EXPORTER, "exported_namespace": namespace, "exported_pod": pod}


# --- devices -------------------------------------------------------------------------------------

FULL = {
    # Filled until the process died in minute 20; another GPU, which nobody uses.
    **device("0+4000x20 10x20", "81000-4000x20 80990x20", **gpu(0), **theirs("trainer-0")),
    **device("10x40", "80990x40", **gpu(1), **EXPORTER),
}


def test_each_gpu_has_its_pod_its_peak_its_capacity_and_its_share(check: Check) -> None:
    used, idle = row(0, namespace="inference", pod="trainer-0"), row(1)
    check(PanelId.GPUS, FULL, "30m", {used: 10 * MIB, idle: 10 * MIB})
    check(PanelId.GPUS, FULL, "30m", {used: 80_000 * MIB, idle: 10 * MIB}, ref_id="B")
    check(PanelId.GPUS, FULL, "30m", dict.fromkeys((used, idle), 81_000 * MIB), ref_id="C")
    check(PanelId.GPUS, FULL, "10m", {used: 40e5 / 81e3, idle: 1000 / 81e3}, ref_id="D")


def test_the_line_that_use_cannot_cross_is_what_one_gpu_can_give(check: Check) -> None:
    lines = {row(0): 40_000 * MIB, row(1): 10 * MIB}
    check(PanelId.USED_BY_GPU, FULL, "10m", lines)
    limit = series("", cluster="aks-dev", modelName=MODEL)
    check(PanelId.USED_BY_GPU, FULL, "10m", {limit: 81_000 * MIB}, ref_id="B")


def test_a_chosen_pod_has_its_own_gpus_alone(check: Check) -> None:
    chosen = {**EVERYTHING, "namespace": "inference", "pod": "trainer-0"}
    used = row(0, namespace="inference", pod="trainer-0")
    check(PanelId.GPUS, FULL, "30m", {used: 10 * MIB}, chosen=chosen)
    check(PanelId.GPUS, FULL, "30m", {}, chosen={**EVERYTHING, "pod": "vllm-0"})


def test_a_shared_gpu_has_a_row_for_each_pod_and_one_line(check: Check) -> None:
    shared = {
        name: values
        for pod in ("vllm-0", "vllm-1")
        for name, values in device("700x10", "300x10", **gpu(), **theirs(pod)).items()
    }
    rows = {row(0, namespace="inference", pod=pod): 700 * MIB for pod in ("vllm-0", "vllm-1")}
    check(PanelId.GPUS, shared, "5m", rows)
    check(PanelId.USED_BY_GPU, shared, "5m", {row(0): 700 * MIB})


def test_an_exporter_whose_labels_are_kept_names_the_pod_itself(check: Check) -> None:
    kept = device("700x10", "300x10", **gpu(), namespace="inference", pod="vllm-0")
    check(PanelId.GPUS, kept, "5m", {row(0, namespace="inference", pod="vllm-0"): 700 * MIB})


# --- restarts ------------------------------------------------------------------------------------


def container(pod: str, uid: str = "u1", **more: object) -> dict[str, object]:
    of = {"cluster": "aks-dev", "namespace": "inference", "pod": pod, "container": "main"}
    return {**of, "uid": uid, **more}


def restarts(pod: str, values: str, uid: str = "u1") -> Series:
    return {series("kube_pod_container_status_restarts_total", **container(pod, uid)): values}


def last_reason(pod: str, reason: str, values: str, uid: str = "u1") -> Series:
    name = "kube_pod_container_status_last_terminated_reason"
    return {series(name, **container(pod, uid, reason=reason)): values}


def asks_for_a_gpu(pod: str, uid: str = "u1") -> Series:
    labels = container(pod, uid, resource="nvidia_com_gpu")
    return {series("kube_pod_container_resource_requests", **labels): "1x60"}


def restarted(pod: str, reason: str = "") -> str:
    of = {"cluster": "aks-dev", "namespace": "inference", "pod": pod, "container": "main"}
    return series("", **of, **({"reason": reason} if reason else {}))


def test_a_container_killed_for_memory_says_so_and_how_often_and_since_when(check: Check) -> None:
    killed = {
        **asks_for_a_gpu("vllm-0"),
        **restarts("vllm-0", "5x20 6x10 7x20"),
        **last_reason("vllm-0", "OOMKilled", "_x21 1x29"),
        series("kube_pod_container_state_started", **container("vllm-0")): "60x20 1260x10 1860x20",
    }
    check(PanelId.RESTARTS, killed, "45m", {restarted("vllm-0", "OOMKilled"): 2}, time_range="40m")
    started = {restarted("vllm-0"): 1_860_000}
    check(PanelId.RESTARTS, killed, "45m", started, ref_id="B", time_range="40m")


@pytest.mark.parametrize(
    "quiet",
    [
        pytest.param(
            {
                **asks_for_a_gpu("vllm-0"),
                **restarts("vllm-0", "5x50"),
                **last_reason("vllm-0", "OOMKilled", "1x50"),
            },
            id="killed before the range",
        ),
        pytest.param(
            {
                **restarts("web-0", "5x20 6x30"),
                **last_reason("web-0", "OOMKilled", "_x21 1x29"),
            },
            id="a pod without a GPU",
        ),
        pytest.param(
            {
                **asks_for_a_gpu("vllm-0", "u1"),
                **restarts("vllm-0", "5x20 stale", "u1"),
                **restarts("vllm-0", "_x22 0x28", "u2"),
            },
            id="a pod made again under its name",
        ),
    ],
)
def test_what_did_not_restart_in_the_range_is_not_listed(check: Check, quiet: Series) -> None:
    check(PanelId.RESTARTS, quiet, "45m", {}, time_range="30m")
    check(PanelId.RESTARTS, quiet, "45m", {}, ref_id="B", time_range="30m")


def test_a_restart_without_a_known_reason_is_listed_all_the_same(check: Check) -> None:
    # No request for a GPU is seen, but the agent counts the pod.
    found = {
        **restarts("vllm-0", "0x20 1x30"),
        counter("alloc", k8s_podname="vllm-0"): "100x50",
    }
    check(PanelId.RESTARTS, found, "45m", {restarted("vllm-0"): 1})


def test_a_pod_that_is_gone_at_the_end_of_the_range_is_still_listed(check: Check) -> None:
    gone = {
        **asks_for_a_gpu("vllm-0"),
        **restarts("vllm-0", "0x10 1x10 stale"),
        **last_reason("vllm-0", "OOMKilled", "_x11 1x9 stale"),
    }
    check(PanelId.RESTARTS, gone, "45m", {restarted("vllm-0", "OOMKilled"): 1})


def test_an_earlier_reason_that_has_given_way_is_not_the_reason(check: Check) -> None:
    replaced = {
        **asks_for_a_gpu("vllm-0"),
        **restarts("vllm-0", "5x30 6x20"),
        **last_reason("vllm-0", "OOMKilled", "1x30 stale"),
        **last_reason("vllm-0", "Error", "_x31 1x19"),
    }
    check(PanelId.RESTARTS, replaced, "45m", {restarted("vllm-0", "Error"): 1}, time_range="30m")


def test_a_container_that_is_not_started_again_is_listed_with_its_reason(check: Check) -> None:
    name = "kube_pod_container_status_terminated_reason"
    job = {
        **asks_for_a_gpu("job-a"),
        **asks_for_a_gpu("job-b"),
        series(name, **container("job-a", reason="OOMKilled")): "_x20 1x30",
        series(name, **container("job-b", reason="Completed")): "_x20 1x30",
    }
    check(PanelId.RESTARTS, job, "45m", {restarted("job-a", "OOMKilled"): 0})


def test_a_pod_seen_by_two_collectors_counts_once(check: Check) -> None:
    twice = {
        series(
            "kube_pod_container_status_restarts_total", **container("vllm-0"), job=job
        ): "0x9 1x9"
        for job in ("kube-state-metrics", "own")
    }
    check(PanelId.RESTARTS, {**twice, **asks_for_a_gpu("vllm-0")}, "15m", {restarted("vllm-0"): 1})
