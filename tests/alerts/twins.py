"""Alert rules on a real Prometheus: which of them fire on given series, and what they say."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from alerts import AlertOptions, rules
from alerts.catalogue import AlertKey
from alerts.prometheus import prometheus_file
from alerts.rules import AlertChoice
from tests.dashboards.prometheus import Series, run_promtool

EVERYTHING = {key: AlertChoice(on=True) for key in AlertKey}
CLUSTER = "aks-dev"
RULES = rules(AlertOptions(stack="dev", cluster=CLUSTER, choices=EVERYTHING))
GB = 10**9


def run(folder: Path, series: Series, tests: Mapping[str, object], text: str = "") -> None:
    """Run promtool's tests of the rules (all of them, unless ``text`` has others) on ``series``."""
    (folder / "rules.yaml").write_text(text or prometheus_file(RULES, "https://grafana/d/gpu"))
    run_promtool(folder / "alerts.test.json", series, tests, rule_files=["rules.yaml"])


def assert_firing(
    folder: Path, series: Series, minutes: Sequence[int], expected: Mapping[str, int]
) -> None:
    """At each of these minutes exactly ``expected`` fires: how many alerts, by name."""
    counted = [
        {"labels": f'{{alertname="{name}"}}', "value": count} for name, count in expected.items()
    ]
    run(
        folder,
        series,
        {
            "promql_expr_test": [
                {
                    "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                    "eval_time": f"{minute}m",
                    "exp_samples": counted,
                }
                for minute in minutes
            ]
        },
    )


# --- series ------------------------------------------------------------------------------------


def metric(name: str, **labels: object) -> str:
    """A series of this cluster."""
    inner = ",".join(f'{key}="{value}"' for key, value in {"cluster": CLUSTER, **labels}.items())
    return f"{name}{{{inner}}}"


def device(kind: str, **labels: object) -> str:
    """A figure of NVIDIA's exporter, in MiB."""
    known: dict[str, object] = {
        "gpu": 0,
        "UUID": "GPU-1",
        "Hostname": "node-1",
        "namespace": "inference",
        "pod": "vllm-0",
    }
    return metric(f"DCGM_FI_DEV_FB_{kind}", **{**known, **labels})


def server(name: str, **labels: object) -> str:
    """A metric of Pyroscope's."""
    known: dict[str, object] = {"job": "gadget/pyroscope", "instance": "10.0.0.7:4040"}
    return metric(name, **{**known, **labels})


RECEIVED = server("pyroscope_distributor_received_samples_sum", type="malloc", tenant="anonymous")
BUILD = server("pyroscope_build_info", version="1.19.2")
UPLOADS = server("pyroscope_shipper_uploads_total")
ROUNDS = server("pyroscope_shipper_dir_syncs_total")
FAILURES = server("pyroscope_shipper_upload_failures_total")
STARTED = server("process_start_time_seconds")
COMPACTED = server("pyroscope_compactor_runs_completed_total")


def compaction_failed(reason: str = "error") -> str:
    return server("pyroscope_compactor_runs_failed_total", reason=reason)


def discarded(reason: str) -> str:
    return server("pyroscope_discarded_samples_total", reason=reason, tenant="anonymous")


def gpus(node: str = "node-1") -> str:
    return metric("kube_node_status_allocatable", node=node, resource="nvidia_com_gpu")


def agent(node: str = "node-1", pod: str = "gadget-x") -> str:
    return metric(
        "kube_pod_info", namespace="gadget", pod=pod, node=node, created_by_kind="DaemonSet"
    )


def phase(pod: str, namespace: str = "gadget", value: str = "Running") -> str:
    return metric("kube_pod_status_phase", namespace=namespace, pod=pod, phase=value)


def gpu_request(pod: str = "vllm-0") -> str:
    return metric(
        "kube_pod_container_resource_requests",
        namespace="inference",
        pod=pod,
        container="c",
        resource="nvidia_com_gpu",
    )
