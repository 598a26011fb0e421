"""Each alert fires on the series that it is for, and not on a neighbour that looks like them.

Every case names all alerts that fire at its minutes; every other one is on, and silent.
"""

from pathlib import Path

import pytest

from alerts import CATALOGUE
from alerts.prometheus import prometheus_file
from simulator import leak
from tests.alerts.twins import (
    BUILD,
    COMPACTED,
    FAILURES,
    GB,
    RECEIVED,
    ROUNDS,
    RULES,
    STARTED,
    UPLOADS,
    agent,
    assert_firing,
    compaction_failed,
    device,
    discarded,
    gpu_request,
    gpus,
    metric,
    phase,
    run,
)
from tests.dashboards.prometheus import Series, counter

pytestmark = pytest.mark.prometheus

PER_MINUTE = 2 * GB // 60
"""Of a leak of 2 GB an hour."""

LEAKING = {counter("alloc"): f"{20 * GB}+{PER_MINUTE}x200"}
FULL = 80_000
"""MiB of a device."""

FIRES: dict[str, tuple[Series, tuple[int, ...], dict[str, int]]] = {
    "a process that grows for an hour": (LEAKING, (70, 100, 200), {"GpuMemoryLeak": 1}),
    "a leak that allocates and frees a part": (
        {counter("alloc"): f"0+{3 * PER_MINUTE}x200", counter("free"): f"0+{2 * PER_MINUTE}x200"},
        (80, 200),
        {"GpuMemoryLeak": 1},
    ),
    "a leak that both probes report is one": (
        {**LEAKING, counter("alloc", otel_scope_name="libcudart_mem_stats"): f"0+{PER_MINUTE}x200"},
        (100,),
        {"GpuMemoryLeak": 1},
    ),
    "two processes that leak": (
        {**LEAKING, counter("alloc", pid=42): f"0+{PER_MINUTE}x200"},
        (100,),
        {"GpuMemoryLeak": 2},
    ),
    "a device that fills by 100 MiB a minute": (
        {device("USED"): "40000+100x150", device("FREE"): "40000-100x150"},
        (70, 150),
        {"GpuMemoryFullSoon": 1},
    ),
    "a device that is nearly full": (
        {device("USED"): f"{FULL - 800}x60", device("FREE"): "800x60"},
        (20,),
        {"GpuMemoryNearCapacity": 1},
    ),
    "a node with GPUs and no agent": ({gpus(): "8x60"}, (20, 50), {"GpuNodeWithoutAgent": 1}),
    "an agent that is pending": (
        {gpus(): "8x60", agent(): "1x60", phase("gadget-x"): "0x60"},
        (20,),
        {"GpuNodeWithoutAgent": 1},
    ),
    "one node of two without an agent": (
        {gpus(): "8x60", gpus("node-2"): "8x60", agent(): "1x60", phase("gadget-x"): "1x60"},
        (20,),
        {"GpuNodeWithoutAgent": 1},
    ),
    "a running GPU pod without one counter": (
        {gpu_request(): "1x60", phase("vllm-0", "inference"): "1x60"},
        (35, 60),
        {"GpuMetricsAbsent": 1},
    ),
    "metrics that move while no sample comes": (
        {counter("alloc"): "0+1000x200", BUILD: "1x200", RECEIVED: "500x200"},
        (60, 200),
        {"GpuProfilesMissing": 1},
    ),
    "pushes without samples, from the first on": (
        {counter("alloc"): "0+1000x200", BUILD: "1x200", RECEIVED: "0x200"},
        (60, 200),
        {"GpuProfilesMissing": 1},
    ),
    "a server that is gone while metrics move": (
        {counter("alloc"): "0+1000x200", BUILD: "1x60 stale", RECEIVED: "0+10x60 stale"},
        (100, 200),
        {"GpuProfilesMissing": 1},
    ),
    "samples that are discarded for two reasons": (
        {
            discarded("rate_limited"): "0+10x60",
            discarded("invalid_labels"): "_x20 7x40",
            BUILD: "1x60",
        },
        (25, 30),
        {"PyroscopeDiscardsProfiles": 2},
    ),
    "rounds of uploads that no longer end": (
        {ROUNDS: "0+0.2x60 12x100"},
        (110, 150),
        {"PyroscopeUploadFailing": 1},
    ),
    "failures that the server counts": (
        {ROUNDS: "0+0.2x100", FAILURES: "0x20 1+1x80"},
        (50, 90),
        {"PyroscopeUploadFailing": 1},
    ),
    "nothing stored for three hours, with profiles": (
        {UPLOADS: "5x400", RECEIVED: "0+100x400"},
        (200, 400),
        {"PyroscopeUploadsMissing": 1},
    ),
    "compactions that only fail": (
        {compaction_failed(): "0+1x200", COMPACTED: "3x200"},
        (30, 200),
        {"PyroscopeCompactorFailing": 1},
    ),
    "a crash with profiles in memory": (
        {STARTED: "1000x100 7000x50", BUILD: "1x150", RECEIVED: "0+10x100 0x50"},
        (102, 110),
        {"PyroscopeRestartedWithProfilesInMemory": 1},
    ),
}

EVERY_TEN = tuple(range(5, 200, 10))

SILENT: dict[str, Series] = {
    # --- leak
    "a server that takes all memory at its start": {
        counter("alloc"): f"_x30 0 {10 * GB} {30 * GB} {55 * GB}x200"
    },
    "an agent that restarts": {
        counter("alloc"): f"{55 * GB}x60 0x5 {GB}x140",
        counter("free"): f"{2 * GB}x60 0x145",
    },
    "an agent that restarts in a leak begins a new hour": {
        counter("alloc"): f"0+{PER_MINUTE}x50 0+{PER_MINUTE}x40 stale",
    },
    "a new pod that grows for less than an hour": {
        counter("alloc", k8s_podname="new"): f"_x20 0+{PER_MINUTE}x50 stale"
    },
    "a job that grows and finishes": {
        counter("alloc"): f"0+{2 * PER_MINUTE}x50 {100 * PER_MINUTE}x150",
        counter("implicit_free"): f"_x51 {100 * PER_MINUTE}x149",
    },
    "a cache that fills and empties": {
        counter("alloc"): "0+" + f"{4 * GB}x200",
        counter("free"): " ".join(
            str(4 * GB * minute - (minute % 10) * GB) for minute in range(200)
        ),
    },
    "growth in one quarter of each hour": {
        counter("alloc"): " ".join(
            str(20 * GB + GB * (minute // 60) + GB * min(minute % 60, 10) // 10)
            for minute in range(200)
        )
    },
    "a leak below the threshold": {counter("alloc"): f"0+{PER_MINUTE // 10}x200"},
    "pinned host memory that grows": {counter("alloc", host_raw=1): f"0+{PER_MINUTE}x200"},
    "another cluster's leak": {counter("alloc", cluster="aks-prod"): f"0+{PER_MINUTE}x200"},
    # --- device
    "a device that vLLM fills and keeps": {
        device("USED"): f"0x10 {FULL * 9 // 10}x190",
        device("FREE"): f"{FULL}x10 {FULL // 10}x190",
    },
    "a device whose use wavers": {
        device("USED"): " ".join(str(40000 + 20 * (minute % 3)) for minute in range(200)),
        device("FREE"): "40000x200",
    },
    "a new pod on a device": {
        device("USED"): "70000x60 stale",
        device("USED", pod="new"): "_x60 0+1000x50 stale",
        device("FREE"): "10000x60 stale",
        device("FREE", pod="new"): "_x60 80000-1000x50 stale",
    },
    # --- agent
    "agents on every node, one restarted": {
        gpus(): "8x200",
        agent(): "1x100 stale",
        phase("gadget-x"): "1x100 stale",
        agent(pod="gadget-y"): "_x105 1x95",
        phase("gadget-y"): "_x105 1x95",
    },
    "a new node has a quarter of an hour": {
        gpus(): "_x50 8x150",
        agent(): "_x60 1x140",
        phase("gadget-x"): "_x60 1x140",
    },
    "a node without GPUs": {gpus(): "0x200"},
    "Pyroscope's pod is no agent, and not missed on its node": {
        metric(
            "kube_pod_info",
            namespace="gadget",
            pod="pyroscope-0",
            node="node-9",
            created_by_kind="StatefulSet",
        ): "1x200"
    },
    # --- metrics
    "a finished job leaves no counters": {
        gpu_request(): "1x60 stale",
        phase("vllm-0", "inference"): "1x60 0x140",
        counter("alloc"): f"{GB}x60 stale",
    },
    "a pod that still waits for its GPU": {
        gpu_request(): "1x200",
        phase("vllm-0", "inference"): "0x200",
    },
    "counters that pause for a restart of the agent": {
        gpu_request(): "1x200",
        phase("vllm-0", "inference"): "1x200",
        counter("alloc"): f"{GB}x60 _x10 {GB}x130",
    },
    # --- profiles
    "a server that allocated at its start and is quiet": {
        counter("alloc"): f"_x10 {55 * GB}x190",
        BUILD: "1x200",
        RECEIVED: "_x10 400x190",
    },
    "profiles that arrive": {
        counter("alloc"): "0+1000x200",
        BUILD: "1x200",
        RECEIVED: "0+10x200",
    },
    "the first profiles of a new server": {
        counter("alloc"): "0x50 0+1000x30 30000x120",
        BUILD: "1x200",
        RECEIVED: "_x50 20+10x30 320x120",
    },
    "a stack whose Pyroscope is not collected": {counter("alloc"): "0+1000x200"},
    # --- server
    "samples that were discarded long ago": {discarded("rate_limited"): "500x200"},
    "uploads as they should be": {
        ROUNDS: "0+0.2x200",
        FAILURES: "0x200",
        UPLOADS: "0+0.02x200",
        RECEIVED: "0+100x200",
        BUILD: "1x200",
        STARTED: "1000x200",
    },
    "a restarted server has half an hour to end a round": {
        ROUNDS: "0+0.2x60 0x7 1+0.2x130",
        UPLOADS: "3x60 0x140",
    },
    "a quiet cluster has nothing to store": {UPLOADS: "5x400", RECEIVED: "900x400"},
    "one failed compaction between successes": {
        compaction_failed(): "0x50 1x150",
        COMPACTED: "0+0.1x200",
    },
    "a compaction that a shutdown ended": {
        compaction_failed("shutdown"): "0x50 1x150",
        COMPACTED: "0x200",
    },
    "a new pod of the server": {
        STARTED: "1000x100 stale",
        STARTED.replace("10.0.0.7", "10.0.0.8"): "_x101 7000x99",
        BUILD: "1x100 stale",
        BUILD.replace("10.0.0.7", "10.0.0.8"): "_x101 1x99",
        RECEIVED: "0+10x100 stale",
        RECEIVED.replace("10.0.0.7", "10.0.0.8"): "_x101 0+10x99",
    },
    "a crash with nothing received": {
        STARTED: "1000x100 7000x100",
        BUILD: "1x200",
        RECEIVED: "5x100 0x100",
    },
    "another container's restart": {
        metric("process_start_time_seconds", job="other", instance="10.0.0.9:80"): "1x100 2x100",
        BUILD: "1x200",
        RECEIVED: "0+10x200",
    },
}


@pytest.mark.parametrize("name", FIRES)
def test_an_alert_fires_on_what_it_is_for(tmp_path: Path, name: str) -> None:
    series, minutes, expected = FIRES[name]
    assert_firing(tmp_path, series, minutes, expected)


@pytest.mark.parametrize("name", SILENT)
def test_no_alert_fires_on_a_neighbour_that_looks_like_it(tmp_path: Path, name: str) -> None:
    assert_firing(tmp_path, SILENT[name], EVERY_TEN, {})


def test_every_alert_has_a_series_that_it_fires_on() -> None:
    fired = {name for _, _, expected in FIRES.values() for name in expected}
    assert fired == {alert.name for alert in CATALOGUE}


def test_an_alert_says_how_much_where_and_what_to_do(tmp_path: Path) -> None:
    process = {"cluster": "aks-dev", "k8s_namespace": "inference", "k8s_podname": "vllm-0"}
    (rule,) = [one for one in RULES if one.alert == "GpuMemoryLeak"]
    run(
        tmp_path,
        LEAKING,
        {
            "alert_rule_test": [
                {
                    "eval_time": "100m",
                    "alertname": "GpuMemoryLeak",
                    "exp_alerts": [
                        {
                            "exp_labels": {**process, "pid": "41", "severity": "warning"},
                            "exp_annotations": {
                                **rule.annotations,
                                "summary": "Process 41 of pod inference/vllm-0 holds 2 GB of GPU "
                                "memory more with every hour, and gave nothing back in the last "
                                "one.",
                                "command": "python -m gpuobs explain --stack dev --window 2h "
                                "--pod vllm-0",
                                "dashboard": "https://grafana/d/gpu?from=now-2h&to=now"
                                "&var-namespace=inference&var-pod=vllm-0",
                            },
                        }
                    ],
                }
            ]
        },
    )


def test_hours_until_full_are_what_is_left_by_what_is_taken(tmp_path: Path) -> None:
    series = {device("USED"): "40000+100x150", device("FREE"): "40000-100x150"}
    (rule,) = [one for one in RULES if one.alert == "GpuMemoryFullSoon"]
    labels = device("USED", k8s_namespace="inference", k8s_podname="vllm-0").partition("{")[2]
    run(
        tmp_path,
        series,
        {
            "promql_expr_test": [
                {
                    "expr": rule.expression,
                    "eval_time": "100m",
                    # 30,000 MiB are left at 100 a minute.
                    "exp_samples": [{"labels": f"{{{labels}", "value": 5}],
                }
            ]
        },
    )


def test_a_pod_that_the_exporter_names_apart_is_the_one_that_is_said(tmp_path: Path) -> None:
    theirs = {"pod": "dcgm-1", "exported_pod": "vllm-0", "exported_namespace": "inference"}
    series = {
        device("USED", namespace="gpu", **theirs): f"{FULL}x60",
        device("FREE", namespace="gpu", **theirs): "0x60",
    }
    (rule,) = [one for one in RULES if one.alert == "GpuMemoryNearCapacity"]
    run(
        tmp_path,
        series,
        {
            "promql_expr_test": [
                {
                    "expr": f"sum by (k8s_namespace, k8s_podname) ({rule.expression})",
                    "eval_time": "10m",
                    "exp_samples": [
                        {
                            "labels": '{k8s_namespace="inference",k8s_podname="vllm-0"}',
                            "value": 100,
                        }
                    ],
                }
            ]
        },
    )


def test_the_file_is_one_that_prometheus_accepts(tmp_path: Path) -> None:
    run(tmp_path, {}, {}, prometheus_file(RULES))


def test_the_demo_shows_the_alert_in_prometheus_own_words(tmp_path: Path) -> None:
    rules_file = tmp_path / "rules.yaml"
    rules_file.write_text(prometheus_file(RULES, "https://grafana/d/gpu"))
    shown = leak.fired(rules_file)
    assert "holds 3 GB of GPU memory more with every hour" in shown
    assert "command: python -m gpuobs explain --stack dev --window 2h --pod notebook-0" in shown
    assert "https://grafana/d/gpu?from=now-2h&to=now&var-namespace=research" in shown


def test_the_demo_says_so_where_the_leak_would_not_fire(tmp_path: Path) -> None:
    rules_file = tmp_path / "rules.yaml"
    rules_file.write_text(prometheus_file(RULES).replace("* 3600 / 1000000000", "* 0"))
    with pytest.raises(ValueError, match="GpuMemoryLeak"):
        leak.fired(rules_file)
