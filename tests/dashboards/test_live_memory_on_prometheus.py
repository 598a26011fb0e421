"""The metrics panels' values, computed by a real Prometheus on synthetic counters."""

from pathlib import Path

import pytest

from dashboards.panels import TOP_PROCESSES, PanelId
from tests.dashboards.grafana import EVERYTHING, Choice, mapping, objects, promql
from tests.dashboards.prometheus import DRIVER, Series, assert_samples, counter
from tests.dashboards.scenarios import DASHBOARD, Check

pytestmark = pytest.mark.prometheus

RUNTIME = "libcudart_mem_stats"
GIB = 1 << 30


def pod(name: str = "vllm-0", namespace: str = "inference", cluster: str = "aks-dev") -> str:
    return f'{{cluster="{cluster}",k8s_namespace="{namespace}",k8s_podname="{name}"}}'


def process(pid: int, name: str = "vllm-0") -> str:
    return f'{{cluster="aks-dev",k8s_namespace="inference",k8s_podname="{name}",pid="{pid}"}}'


# --- what is held --------------------------------------------------------------------------------


def test_live_memory_is_allocated_minus_freed_minus_implicitly_freed(check: Check) -> None:
    series = {
        counter("alloc"): "0+100x10",
        counter("free"): "0+30x10",
        counter("implicit_free"): "0+5x10",
    }
    check(PanelId.LIVE_BY_POD, series, "10m", {pod(): 650})
    check(PanelId.LIVE_TOTAL, series, "10m", {"{}": 650})


def test_a_process_that_has_never_freed_is_present_with_all_it_holds(check: Check) -> None:
    series = {
        counter("alloc", k8s_podname="leaky"): "0+100x10",
        counter("alloc", k8s_podname="tidy"): "0+100x10",
        counter("free", k8s_podname="tidy"): "0+100x10",
        counter("implicit_free", k8s_podname="tidy"): "0x10",
    }
    check(PanelId.LIVE_BY_POD, series, "10m", {pod("leaky"): 1000, pod("tidy"): 0})
    check(PanelId.LIVE_TOTAL, series, "10m", {"{}": 1000})


def test_the_first_sample_counts_in_full_where_a_growth_function_would_see_nothing(
    check: Check, tmp_path: Path
) -> None:
    reserved = {counter("alloc"): f"_ _ {55 * GIB}x8"}
    check(PanelId.LIVE_BY_POD, reserved, "10m", {pod(): 55 * GIB})
    growth = "sum(increase(mem_alloc_bytes_total[1h]))"
    assert_samples(tmp_path, reserved, growth, "10m", {"{}": 0})


def test_a_process_that_ended_holds_nothing(check: Check) -> None:
    series = {
        counter("alloc"): "0+100x10",
        counter("implicit_free"): "0x9 1000",
    }
    check(PanelId.LIVE_BY_POD, series, "10m", {pod(): 0})
    check(PanelId.PODS_HOLDING_MEMORY, series, "10m", {"{}": 0})
    check(PanelId.PROCESSES_REPORTED, series, "10m", {"{}": 1})


def test_processes_add_up_to_their_pod_and_pods_to_the_total(check: Check) -> None:
    series = {
        counter("alloc", pid=1): "100x10",
        counter("alloc", pid=2): "20x10",
        counter("alloc", pid=1, k8s_podname="trainer-0", k8s_namespace="training"): "7x10",
    }
    check(PanelId.LIVE_BY_POD, series, "5m", {pod(): 120, pod("trainer-0", "training"): 7})
    check(PanelId.LIVE_TOTAL, series, "5m", {"{}": 127})
    check(PanelId.LIVE_NOW, series, "5m", {"{}": 127})
    check(PanelId.PODS_HOLDING_MEMORY, series, "5m", {"{}": 2})
    check(PanelId.PROCESSES_REPORTED, series, "5m", {"{}": 3})


def test_pinned_host_memory_is_not_gpu_memory(check: Check) -> None:
    series = {counter("alloc"): "100x10", counter("alloc", host_raw=1): "5000x10"}
    check(PanelId.LIVE_TOTAL, series, "5m", {"{}": 100})


def test_an_allocation_by_one_thread_and_its_free_by_another_cancel_out(check: Check) -> None:
    series = {
        counter("alloc", comm="python3"): "100x10",
        counter("alloc", comm="worker-1"): "50x10",
        counter("free", comm="worker-2"): "140x10",
    }
    check(PanelId.LIVE_BY_POD, series, "5m", {pod(): 10})


def test_nothing_is_shown_where_there_is_no_data_and_counts_say_zero(check: Check) -> None:
    for panel in (PanelId.LIVE_BY_POD, PanelId.LIVE_TOTAL, PanelId.LIVE_NOW):
        check(panel, {}, "10m", {})
    for panel in (
        PanelId.PODS_HOLDING_MEMORY,
        PanelId.PROCESSES_REPORTED,
        PanelId.LOST_FROM_SIGHT,
    ):
        check(panel, {}, "10m", {"{}": 0})


def test_a_pod_that_vanished_ends_its_line_and_leaves_the_total(check: Check) -> None:
    series = {
        counter("alloc", k8s_podname="gone"): "100x4 stale",
        counter("alloc", k8s_podname="stays"): "7x20",
    }
    check(PanelId.LIVE_BY_POD, series, "4m", {pod("gone"): 100, pod("stays"): 7})
    check(PanelId.LIVE_BY_POD, series, "5m", {pod("stays"): 7})
    check(PanelId.LIVE_TOTAL, series, "5m", {"{}": 7})


# --- the peak, which an out-of-memory leaves behind ----------------------------------------------

# 80 GiB of a trainer until it died in minute 8; a server that holds 20 throughout.
DIED = {
    counter("alloc", k8s_podname="trainer-0"): f"10+{10 * GIB}x8 {80 * GIB + 10}x30",
    counter("implicit_free", k8s_podname="trainer-0"): f"_x9 {80 * GIB + 10}x30",
    counter("alloc"): f"{20 * GIB}x40",
}


def test_the_peak_stands_beside_what_is_left_after_a_process_died(check: Check) -> None:
    peak = 100 * GIB + 10
    check(PanelId.LIVE_NOW, DIED, "30m", {"{}": 20 * GIB})
    check(PanelId.LIVE_NOW, DIED, "30m", {"{}": peak}, ref_id="B")
    check(PanelId.PODS_HOLDING_MEMORY, DIED, "30m", {"{}": 1})
    check(PanelId.PODS_HOLDING_MEMORY, DIED, "30m", {"{}": 2}, ref_id="B")
    # A peak before the range is not one of the range.
    check(PanelId.LIVE_NOW, DIED, "30m", {"{}": 20 * GIB}, ref_id="B", time_range="15m")


def test_the_peak_is_of_the_moment_and_no_sum_of_peaks(check: Check) -> None:
    series = {
        counter("alloc", pid=1): "100x20",
        counter("free", pid=1): "0x9 100x10",
        counter("alloc", pid=2): "_x12 70x8",
    }
    check(PanelId.LIVE_NOW, series, "20m", {"{}": 100}, ref_id="B")
    check(PanelId.PROCESSES_REPORTED, series, "20m", {"{}": 2}, ref_id="B")


def test_the_table_has_the_peak_of_exactly_its_processes(check: Check) -> None:
    series = {counter("alloc", pid=pid): f"{pid * 100}x20" for pid in range(1, TOP_PROCESSES + 3)}
    series[counter("free", pid=12)] = "0x9 150x10"
    top = {process(pid): pid * 100.0 for pid in range(3, TOP_PROCESSES + 3)}
    check(PanelId.TOP_PROCESSES, series, "20m", top, ref_id="E")


@pytest.mark.parametrize(
    ("first", "at", "begin"),
    [
        pytest.param(63, "300m", 65 - 10, id="the step after its first sample, less ten minutes"),
        pytest.param(60, "62m", 60 - 10, id="young"),
        pytest.param(63, "1540m", 120 - 120, id="older than a day: the hour after, less two"),
    ],
)
def test_a_process_is_shown_from_before_its_first_sample(
    check: Check, first: int, at: str, begin: int
) -> None:
    series = {counter("alloc"): f"{'_ ' * first}{55 * GIB}x1600"}
    check(PanelId.TOP_PROCESSES, series, at, {process(41): begin * 60_000}, ref_id="F")


# --- counted once --------------------------------------------------------------------------------


def test_an_allocation_that_driver_and_runtime_both_report_counts_once(check: Check) -> None:
    series = {
        counter("alloc", otel_scope_name=DRIVER): "100x10",
        counter("alloc", otel_scope_name=RUNTIME): "100x10",
        counter("free", otel_scope_name=DRIVER): "40x10",
        counter("free", otel_scope_name=RUNTIME): "40x10",
        counter("alloc", pid=42, otel_scope_name=DRIVER): "9x10",
    }
    check(PanelId.LIVE_BY_POD, series, "5m", {pod(): 69})
    check(PanelId.LIVE_TOTAL, series, "5m", {"{}": 69})


def test_what_the_runtime_keeps_in_its_pool_is_still_held(check: Check) -> None:
    series = {
        counter("alloc", otel_scope_name=DRIVER): "100x10",
        counter("alloc", otel_scope_name=RUNTIME): "100x10",
        counter("free", otel_scope_name=RUNTIME): "100x10",
    }
    check(PanelId.LIVE_BY_POD, series, "5m", {pod(): 100})


def test_each_process_takes_its_own_larger_report(check: Check) -> None:
    series = {
        counter("alloc", pid=1, otel_scope_name=DRIVER): "100x10",
        counter("alloc", pid=1, otel_scope_name=RUNTIME): "60x10",
        counter("alloc", pid=2, otel_scope_name=RUNTIME): "30x10",
    }
    check(PanelId.LIVE_BY_POD, series, "5m", {pod(): 130})


def test_agents_that_are_scraped_by_two_jobs_count_once(check: Check) -> None:
    series = {
        counter(kind, job=job): f"{value}x10"
        for kind, value in (("alloc", 100), ("free", 30))
        for job in ("gadget", "kubernetes-pods")
    }
    check(PanelId.LIVE_TOTAL, series, "5m", {"{}": 70})


def test_metrics_without_any_scope_label_are_counted(check: Check) -> None:
    series = {counter("alloc", otel_scope_name=""): "100x10"}
    check(PanelId.LIVE_TOTAL, series, "5m", {"{}": 100})


# --- agents that restart -------------------------------------------------------------------------

# The agent restarts at minute 12: 1000 allocated, 300 freed before it; then 40 and 10.
RESTARTED = {
    counter("alloc"): "1000x11 40x40",
    counter("free"): "300x11 10x40",
    counter("implicit_free"): "0x51",
}


def test_counters_that_restart_together_give_what_the_agent_has_seen_since(check: Check) -> None:
    check(PanelId.LIVE_BY_POD, RESTARTED, "11m", {pod(): 700})
    check(PanelId.LIVE_BY_POD, RESTARTED, "12m", {pod(): 30})
    check(PanelId.LIVE_BY_POD, RESTARTED, "40m", {pod(): 30})


def test_live_memory_is_never_negative_while_an_old_free_counter_lingers(check: Check) -> None:
    # Nothing marks the old series as gone, and nothing has been freed since: Prometheus still
    # answers the old value for five minutes.
    series = {counter("alloc"): "1000x11 40x40", counter("free"): "900x11 _x40"}
    check(PanelId.LIVE_BY_POD, series, "13m", {pod(): 0})
    check(PanelId.LIVE_BY_POD, series, "17m", {pod(): 40})


def test_one_clamped_process_does_not_hide_what_another_holds(check: Check) -> None:
    series = {
        counter("alloc", pid=1): "1000x11 40x40",
        counter("free", pid=1): "900x11 _x40",
        counter("alloc", pid=2): "500x51",
    }
    check(PanelId.LIVE_TOTAL, series, "13m", {"{}": 500})


def test_a_restarted_agent_at_another_address_counts_once(check: Check) -> None:
    series = {
        counter("alloc", instance="10.0.0.4:2224"): "1000x11",
        counter("alloc", instance="10.0.0.9:2224"): "_x12 40x40",
    }
    check(PanelId.LIVE_TOTAL, series, "13m", {"{}": 1000})
    check(PanelId.LIVE_TOTAL, series, "20m", {"{}": 40})


@pytest.mark.parametrize("minute", ["15m", "20m", "30m", "50m"])
def test_what_a_restarted_agent_forgot_is_said_once(check: Check, minute: str) -> None:
    check(PanelId.LOST_FROM_SIGHT, RESTARTED, minute, {"{}": 700}, time_range="50m")


def test_what_was_forgotten_before_the_time_range_is_not_said(check: Check) -> None:
    check(PanelId.LOST_FROM_SIGHT, RESTARTED, "50m", {"{}": 0}, time_range="20m")


def test_a_quiet_process_whose_series_a_restart_ended_counts_as_lost(check: Check) -> None:
    series = {counter("alloc"): f"{55 * GIB}x11 stale"}
    check(PanelId.LIVE_TOTAL, series, "12m", {})
    check(PanelId.LOST_FROM_SIGHT, series, "30m", {"{}": 55 * GIB})


@pytest.mark.parametrize(
    "series",
    [
        pytest.param({counter("alloc"): "1000x50", counter("free"): "0x11 900x40"}, id="freed"),
        pytest.param(
            {counter("alloc"): "1000x11 stale", counter("implicit_free"): "0x10 1000 stale"},
            id="ended before its pod went away",
        ),
        pytest.param({counter("alloc"): "1000x9 stale 1000x40"}, id="one scrape missed"),
        pytest.param({counter("alloc"): "_x10 1000x40"}, id="began"),
    ],
)
def test_nothing_counts_as_lost_that_the_agent_has_followed(check: Check, series: Series) -> None:
    for minute in ("15m", "20m", "45m"):
        check(PanelId.LOST_FROM_SIGHT, series, minute, {"{}": 0})


def test_the_annotation_marks_the_process_that_was_lost_and_only_then(tmp_path: Path) -> None:
    (annotation,) = objects(mapping(DASHBOARD["annotations"])["list"])
    expression = promql(str(annotation["expr"]))
    assert_samples(tmp_path, RESTARTED, expression, "11m", {})
    assert_samples(tmp_path, RESTARTED, expression, "14m", {process(41): 700})
    assert_samples(tmp_path, RESTARTED, expression, "20m", {})


# --- what ended, told apart from an agent that restarted -----------------------------------------


@pytest.mark.parametrize(
    ("series", "held", "until"),
    [
        pytest.param(DIED, 80 * GIB + 10, 8, id="out of memory beside a server that runs on"),
        pytest.param(
            {counter("alloc", k8s_podname="trainer-0"): "700x30"}
            | {counter("implicit_free", k8s_podname="trainer-0"): "_x20 700x10"},
            *(700, 19),
            id="the only process, its end counted",
        ),
        pytest.param(
            {counter("alloc", k8s_podname="trainer-0"): "700x11 stale"}
            | {counter("alloc"): "1000x40"},
            *(700, 11),
            id="gone with its pod while its agent counts another",
        ),
        pytest.param(
            {counter("alloc", k8s_podname="trainer-0"): "_x12 700x15"}
            | {counter("implicit_free", k8s_podname="trainer-0"): "_x12 700x15"},
            *(700, 12),
            id="lived between two scrapes",
        ),
        pytest.param(
            {counter("alloc", k8s_podname="trainer-0"): "1000x30"}
            | {counter("free", k8s_podname="trainer-0"): "0x9 600x20"}
            | {counter("implicit_free", k8s_podname="trainer-0"): "0x19 400x10"},
            *(400, 19),
            id="held less at its end than before",
        ),
    ],
)
def test_what_ended_is_listed_with_what_it_held_and_when_and_is_not_lost_from_sight(
    check: Check, series: Series, held: int, until: int
) -> None:
    died = process(41, "trainer-0")
    check(PanelId.ENDED_PROCESSES, series, "30m", {died: held})
    check(PanelId.ENDED_PROCESSES, series, "30m", {died: until * 60_000}, ref_id="B")
    check(PanelId.LOST_FROM_SIGHT, series, "30m", {"{}": 0})


def test_what_ended_is_found_though_another_pod_of_the_agent_is_not_chosen(check: Check) -> None:
    series = {
        counter("alloc", k8s_podname="trainer-0"): "700x11 stale",
        counter("alloc"): "1000x40",
    }
    chosen = dict(EVERYTHING) | {"pod": "trainer-0"}
    check(PanelId.ENDED_PROCESSES, series, "30m", {process(41, "trainer-0"): 700}, chosen=chosen)


ELSEWHERE = {counter("alloc", k8s_podname="other", instance="10.0.0.9:2224"): "5x50"}


@pytest.mark.parametrize(
    ("series", "lost"),
    [
        pytest.param(RESTARTED, 700, id="agent restarted"),
        pytest.param({counter("alloc"): "900x11 stale"} | ELSEWHERE, 900, id="and stays silent"),
        pytest.param(
            {counter("alloc"): "900x11 stale", counter("alloc", pid=42): "50x11 _x3 20x20"}
            | ELSEWHERE,
            950,
            id="with two processes, of which one allocates again",
        ),
        pytest.param(
            {counter("alloc"): "900x11 stale", counter("alloc", pid=43): "_x13 70x30"} | ELSEWHERE,
            900,
            id="and counts a process that began after it",
        ),
        pytest.param(
            {counter("alloc", instance="10.0.0.4:2224"): "900x11 stale"}
            | {counter("alloc", instance="10.0.0.7:2224"): "_x13 40x30"},
            900,
            id="at another address",
        ),
        pytest.param({counter("alloc"): "900x40", counter("free"): "0x9 900x30"}, 0, id="freed"),
        pytest.param(
            {counter("alloc"): "900x9 1500x30", counter("implicit_free"): "0x9 900x30"},
            0,
            id="another context after the first",
        ),
    ],
)
def test_an_agent_that_restarted_and_a_process_that_lives_are_not_ended(
    check: Check, series: Series, lost: int
) -> None:
    check(PanelId.ENDED_PROCESSES, series, "30m", {})
    check(PanelId.ENDED_PROCESSES, series, "30m", {}, ref_id="B")
    check(PanelId.LOST_FROM_SIGHT, series, "30m", {"{}": lost})


def test_what_ended_before_the_time_range_is_not_listed(check: Check) -> None:
    check(PanelId.ENDED_PROCESSES, DIED, "35m", {}, time_range="15m")


# --- what is chosen ------------------------------------------------------------------------------

TWO_CLUSTERS = {
    counter("alloc", cluster="aks-dev"): "1x10",
    counter("alloc", cluster="aks-prod"): "20x10",
    counter("alloc", cluster="aks-prod", k8s_podname="llama-3.1-0"): "300x10",
    counter("alloc", cluster="aks-prod", k8s_podname="llama-3x1-0"): "4000x10",
    counter("alloc", cluster="aks-prod", k8s_namespace="batch"): "50000x10",
}


@pytest.mark.parametrize(
    ("chosen", "total"),
    [
        ({}, 54321),
        ({"cluster": "aks-dev"}, 1),
        ({"cluster": "aks-prod"}, 54320),
        ({"cluster": ["aks-dev", "aks-prod"], "namespace": "batch"}, 50000),
        ({"pod": "vllm-0"}, 50021),
        ({"pod": ["vllm-0", "llama-3.1-0"], "namespace": "inference"}, 321),
        ({"pod": "llama-3.1-0"}, 300),
    ],
)
def test_a_choice_filters_exactly(check: Check, chosen: dict[str, Choice], total: int) -> None:
    check(PanelId.LIVE_TOTAL, TWO_CLUSTERS, "5m", {"{}": total}, chosen=dict(EVERYTHING) | chosen)


def test_all_includes_a_prometheus_without_cluster_label_and_processes_outside_pods(
    check: Check,
) -> None:
    series = {counter("alloc", cluster="", k8s_namespace="", k8s_podname=""): "100x10"}
    check(PanelId.LIVE_BY_POD, series, "5m", {"{}": 100})


# --- processes, rates, implicit frees ------------------------------------------------------------


def test_the_table_has_the_processes_that_hold_most_and_their_counters(check: Check) -> None:
    series: dict[str, str] = {}
    for pid in range(1, TOP_PROCESSES + 3):
        series[counter("alloc", pid=pid)] = f"{pid * 100}x10"
        series[counter("alloc", pid=pid, otel_scope_name=RUNTIME)] = f"{pid * 100}x10"
    series[counter("free", pid=12)] = "50x10"
    series[counter("implicit_free", pid=12)] = "1x10"
    series[counter("free", pid=1)] = "50x10"
    top = range(3, TOP_PROCESSES + 3)
    check(PanelId.TOP_PROCESSES, series, "5m", {process(pid): pid * 100 for pid in top}, ref_id="A")
    check(PanelId.TOP_PROCESSES, series, "5m", {process(pid): pid * 100 for pid in top}, ref_id="B")
    check(PanelId.TOP_PROCESSES, series, "5m", {process(12): 50}, ref_id="C")
    check(PanelId.TOP_PROCESSES, series, "5m", {process(12): 1}, ref_id="D")


@pytest.mark.parametrize(
    ("panel", "kind"), [(PanelId.ALLOCATION_RATE, "alloc"), (PanelId.FREE_RATE, "free")]
)
def test_a_rate_is_bytes_per_second_counted_once(check: Check, panel: PanelId, kind: str) -> None:
    series = {
        counter(kind, otel_scope_name=DRIVER): "0+960x20",
        counter(kind, otel_scope_name=RUNTIME): "0+960x20",
        counter(kind, pid=42): "0+480x20",
    }
    check(panel, series, "10m", {pod(): 24})


@pytest.mark.parametrize(
    ("panel", "kind"), [(PanelId.ALLOCATION_RATE, "alloc"), (PanelId.FREE_RATE, "free")]
)
def test_a_rate_is_not_negative_where_a_counter_restarts(
    check: Check, panel: PanelId, kind: str
) -> None:
    # From 9600 the counter restarts, and has 960 at its next sample: growth goes on unchanged.
    series = {counter(kind): "0+960x10 960+960x10"}
    check(panel, series, "12m", {pod(): 16})


def test_an_implicit_free_shows_though_it_is_its_series_first_sample(check: Check) -> None:
    series = {
        counter("alloc"): "1000x10",
        counter("implicit_free"): "_x5 1000x5",
        counter("implicit_free", otel_scope_name=RUNTIME): "_x5 1000x5",
    }
    check(PanelId.FREED_IMPLICITLY, series, "3m", {})
    check(PanelId.FREED_IMPLICITLY, series, "8m", {pod(): 1000})


# --- the ledger ----------------------------------------------------------------------------------


def test_used_is_what_the_devices_say_and_the_rest_is_what_is_not_counted(check: Check) -> None:
    def figure(name: str, pod: str) -> str:
        labels = f'cluster="aks-dev",Hostname="node-1",gpu="0",UUID="GPU-1",pod="{pod}"'
        return f"DCGM_FI_DEV_FB_{name}{{{labels}}}"

    mib = 1 << 20
    series = {
        counter("alloc"): f"{100 * mib}x10",
        counter("alloc", otel_scope_name=RUNTIME): f"{100 * mib}x10",
        # A device that two pods share is reported for each of them.
        **{figure("USED", pod): "700x10" for pod in ("a", "b")},
        **{figure("FREE", pod): "300x10" for pod in ("a", "b")},
    }
    cluster = '{cluster="aks-dev"}'
    for ref_id, expected in (("A", 700), ("B", 100), ("C", 600), ("D", 1000)):
        check(PanelId.LEDGER, series, "5m", {cluster: expected * mib}, ref_id=ref_id)
