"""The ledger on a real Prometheus, with series in which the truth is known: one cluster for each.

Whatever the truth is, the rows of an account add up to the device's own number.
"""

import time
from collections import defaultdict
from collections.abc import Generator

import pytest

from memory.ledger import CONTEXT_BYTES, Account, Cause, ledger
from memory.metrics import Prometheus
from memory.reading import DCGM, MIB, NVIDIA_SMI, Pod, Reading, read
from memory.text import WITHOUT_DEVICES, ledger_text
from tests.dashboards import prometheus

pytestmark = pytest.mark.prometheus

NOW = int(time.time()) // 60 * 60
BEGIN = NOW - 3600
DRIVER, RUNTIME = "libcuda_mem_stats", "libcudart_mem_stats"
DAY = 86400


Values = int | list[int | None]
"""A number, or one for each minute with None where there is none."""


class Samples:
    """An hour of samples, one a minute, family by family."""

    def __init__(self) -> None:
        self._families: dict[str, list[str]] = defaultdict(list)

    def add(self, family: str, kind: str, labels: dict[str, object], values: Values) -> None:
        """Samples of one series."""
        inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
        name = f"{family}_total" if kind == "counter" else family
        listed: list[int | None] = values if isinstance(values, list) else [values] * 61
        self._families[f"{kind} {family}"] += [
            f"{name}{{{inner}}} {value} {BEGIN + 60 * minute}"
            for minute, value in enumerate(listed)
            if value is not None
        ]

    def lines(self) -> list[str]:
        """As OpenMetrics has them."""
        found: list[str] = []
        for head, samples in self._families.items():
            kind, _, family = head.partition(" ")
            found += [f"# TYPE {family} {kind}", *samples]
        return found

    # --- what the exporters say ---------------------------------------------------------------

    def counted(
        self,
        cluster: str,
        mib: Values,
        *,
        kind: str = "alloc",
        pod: str = "vllm-0",
        pid: int = 41,
        scope: str = DRIVER,
    ) -> None:
        """A counter of the agent; MiB."""
        listed: list[int | None] = mib if isinstance(mib, list) else [mib] * 61
        scaled = [None if one is None else one * MIB for one in listed]
        labels: dict[str, object] = {
            "cluster": cluster,
            "k8s_namespace": "inference",
            "k8s_podname": pod,
            "pid": pid,
            "job": "gadget",
            "instance": "10.0.0.4:2224",
            "host_raw": 0,
            "comm": "python3",
            "otel_scope_name": scope,
        }
        self.add(f"mem_{kind}_bytes", "counter", labels, scaled)

    def device(
        self, cluster: str, used: int, *, gpu: int = 0, pod: str = "vllm-0", node: str = "node-1"
    ) -> None:
        """DCGM's two figures of a GPU with 80,000 MiB."""
        labels: dict[str, object] = {
            "cluster": cluster,
            "gpu": gpu,
            "UUID": f"GPU-{cluster}-{node}-{gpu}",
            "Hostname": node,
        }
        if pod:
            labels |= {"namespace": "inference", "pod": pod}
        self.add("DCGM_FI_DEV_FB_USED", "gauge", labels, used)
        self.add("DCGM_FI_DEV_FB_FREE", "gauge", labels, 80_000 - used)

    def ages(self, cluster: str, *, pod: int, agent: int, name: str = "vllm-0") -> None:
        """When a pod and its node's agent were made, in seconds before now."""
        for namespace, one, age in (("inference", name, pod), ("gadget", "gadget-x", agent)):
            labels: dict[str, object] = {"cluster": cluster, "namespace": namespace, "pod": one}
            self.add("kube_pod_info", "gauge", {**labels, "node": "node-1"}, 1)
            self.add("kube_pod_created", "gauge", labels, NOW - age)


def samples() -> list[str]:
    made = Samples()
    # A context and nothing else, of a process that both probes report.
    for scope in (DRIVER, RUNTIME):
        made.counted("context", 6000, scope=scope)
        made.counted("context", 1000, kind="free", scope=scope)
    made.device("context", 5400)
    # Memory that was there before the agent came.
    made.counted("before", 1000)
    made.device("before", 20_000)
    made.ages("before", pod=2 * DAY, agent=DAY)
    # Memory that no probe sees.
    made.counted("unseen", 1000)
    made.device("unseen", 20_000)
    made.ages("unseen", pod=3600, agent=DAY)
    # Nobody knows why.
    made.counted("unknown", 1000)
    made.device("unknown", 20_000)
    # Frees that were missed.
    made.counted("negative", 5000)
    made.device("negative", 4000)
    # An agent that restarted half an hour ago; the process holds what it held.
    made.counted("restarted", [*[10_000] * 31, *[100] * 30])
    made.device("restarted", 10_500)
    _ends(made)
    _nodes(made)
    return made.lines()


def _ends(made: Samples) -> None:
    # Two processes, one of which is gone.
    made.counted("ended", 3000)
    made.counted("ended", [*[7000] * 31, *[None] * 30], pid=42)
    made.device("ended", 3300)
    # The same, and the one that is gone has exited: its counters stay, its end freed the rest.
    made.counted("exited", 3000)
    made.counted("exited", 7000, pid=42)
    made.counted("exited", [*[None] * 31, *[7000] * 30], kind="implicit_free", pid=42)
    # And one that lived between two samples.
    made.counted("exited", [*[None] * 31, *[500] * 30], pid=43)
    made.counted("exited", [*[None] * 31, *[500] * 30], kind="implicit_free", pid=43)
    made.device("exited", 3300)
    # One that exited before the window, and one whose first context went long ago: it has given the
    # rest back itself, and runs on.
    made.counted("long ago", 7000, pid=42)
    made.counted("long ago", 7000, kind="implicit_free", pid=42)
    made.counted("long ago", 900, pid=43)
    made.counted("long ago", 200, kind="implicit_free", pid=43)
    made.counted("long ago", [*[0] * 31, *[700] * 30], kind="free", pid=43)
    made.device("long ago", 300)


def _nodes(made: Samples) -> None:
    # A node whose exporter names no pods: two GPUs, two pods.
    made.counted("node", 1000)
    made.counted("node", 2000, pod="vllm-1")
    made.device("node", 1300, pod="")
    made.device("node", 2300, gpu=1, pod="")
    made.ages("node", pod=3600, agent=DAY)
    made.ages("node", pod=3600, agent=DAY, name="vllm-1")
    # One GPU is a pod's, and one is idle: a driver alone takes a few MiB.
    made.counted("idle", 1000)
    made.device("idle", 1300)
    made.device("idle", 4, gpu=1, pod="")
    # A GPU that two pods share, on one node, and a pod with one of its own, on another.
    made.counted("mixed", 1000, pod="vllm-0")
    made.counted("mixed", 2000, pod="vllm-1")
    made.counted("mixed", 3000, pod="vllm-2")
    for pod in ("vllm-0", "vllm-1"):
        made.device("mixed", 3600, pod=pod)
        made.ages("mixed", pod=3600, agent=DAY, name=pod)
    made.device("mixed", 3300, pod="vllm-2", node="node-2")
    # The same, and nobody says where the pods are.
    made.counted("nowhere", 1000)
    made.device("nowhere", 1300, pod="", node="node-1")
    made.device("nowhere", 300, pod="", node="node-2")
    # nvidia-smi, in bytes.
    made.counted("smi", 1000)
    for name, size in (("used", 1300), ("total", 80_000)):
        labels: dict[str, object] = {"cluster": "smi", "uuid": "u", "index": 0, "node": "node-1"}
        made.add(f"nvidia_smi_memory_{name}_bytes", "gauge", labels, size * MIB)
    # No exporter at all.
    made.counted("blind", 1000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[prometheus.Server]:
    with prometheus.serving(tmp_path_factory.mktemp("ledger"), samples()) as running:
        yield running


def reading(server: prometheus.Server, cluster: str) -> Reading:
    return read(Prometheus(server.url), BEGIN, NOW, cluster)


def only(server: prometheus.Server, cluster: str) -> Account:
    (account,) = ledger(reading(server, cluster))
    return account


def causes(account: Account) -> dict[Cause, float]:
    """MiB by cause, without those that are nothing."""
    return {
        row.cause: row.bytes / MIB for row in account.rows if row.cause is not None and row.bytes
    }


CONTEXT = CONTEXT_BYTES / MIB
TRUTHS: dict[str, dict[Cause, float]] = {
    "context": {Cause.CONTEXT: 400},
    "before": {Cause.CONTEXT: CONTEXT, Cause.BEFORE_AGENT: 19_000 - CONTEXT},
    "unseen": {Cause.CONTEXT: CONTEXT, Cause.UNSEEN: 19_000 - CONTEXT},
    "unknown": {Cause.CONTEXT: CONTEXT, Cause.NOT_ATTRIBUTED: 19_000 - CONTEXT},
    "negative": {Cause.COUNTED_TOO_MUCH: -1000},
    "restarted": {Cause.CONTEXT: CONTEXT, Cause.BEFORE_AGENT: 10_400 - CONTEXT},
    "ended": {Cause.CONTEXT: 300},
    "exited": {Cause.CONTEXT: 300},
    "long ago": {Cause.CONTEXT: 300},
    "node": {Cause.CONTEXT: 600},
    "nowhere": {Cause.CONTEXT: 600},
    "smi": {Cause.CONTEXT: 300},
}


@pytest.mark.parametrize("cluster", TRUTHS)
def test_the_difference_is_what_it_truly_is_from(server: prometheus.Server, cluster: str) -> None:
    assert causes(only(server, cluster)) == pytest.approx(TRUTHS[cluster])


@pytest.mark.parametrize("cluster", TRUTHS)
def test_the_rows_add_up_to_the_devices_own_number(server: prometheus.Server, cluster: str) -> None:
    account = only(server, cluster)
    assert account.device_bytes is not None
    assert sum(row.bytes for row in account.rows) == pytest.approx(account.device_bytes)
    if cluster != "negative":
        # Nothing is hidden: what is not attributed is a row, also where it is nothing.
        assert [row for row in account.rows if row.cause is Cause.NOT_ATTRIBUTED]


def test_every_cause_is_the_truth_once() -> None:
    assert {cause for truth in TRUTHS.values() for cause in truth} == set(Cause)


def test_driver_and_runtime_count_once(server: prometheus.Server) -> None:
    assert only(server, "context").held == 5000 * MIB


def test_a_process_that_is_gone_is_told_apart_and_not_added(server: prometheus.Server) -> None:
    account = only(server, "ended")
    (gone,) = account.ended
    assert (gone.pid, gone.peak) == ("42", 7000 * MIB)
    # Prometheus bridges five minutes.
    assert 0 <= gone.last_seen - (BEGIN + 30 * 60) <= 300
    assert account.held == 3000 * MIB


def test_a_process_that_exited_holds_nothing_though_its_counters_stay(
    server: prometheus.Server,
) -> None:
    account = only(server, "exited")
    assert account.held == 3000 * MIB
    assert [(one.pid, one.peak, one.now) for one in account.ended] == [
        ("42", 7000 * MIB, 0),
        ("43", 500 * MIB, 0),
    ]
    assert [(one.last_seen - BEGIN) / 60 for one in account.ended] == [30, 31]
    assert [row.process.pid for row in account.rows if row.process] == ["41"]


def test_what_ended_before_the_window_is_not_told_again_and_what_gave_all_back_runs_on(
    server: prometheus.Server,
) -> None:
    account = only(server, "long ago")
    assert account.ended == []
    assert [(row.process.pid, row.bytes) for row in account.rows if row.process] == [("43", 0)]


def test_accounts_are_pods_where_the_exporter_names_them_else_nodes(
    server: prometheus.Server,
) -> None:
    assert only(server, "context").name == "inference/vllm-0"
    assert only(server, "node").name == "node node-1"
    assert only(server, "nowhere").name == "all nodes"


def test_an_idle_gpu_beside_does_not_take_the_pods_accounts_away(
    server: prometheus.Server,
) -> None:
    of_pod, idle = ledger(reading(server, "idle"))
    assert of_pod.name == "inference/vllm-0"
    assert causes(of_pod) == {Cause.CONTEXT: 300}
    assert idle.name == "devices of no pod"
    assert causes(idle) == {Cause.NOT_ATTRIBUTED: 4}


def test_a_shared_gpu_makes_an_account_of_its_own_node_alone(server: prometheus.Server) -> None:
    shared, alone = ledger(reading(server, "mixed"))
    assert (shared.name, shared.held) == ("node node-1", 3000 * MIB)
    assert causes(shared) == {Cause.CONTEXT: 600}
    assert (alone.name, alone.held) == ("inference/vllm-2", 3000 * MIB)
    assert causes(alone) == {Cause.CONTEXT: 300}


def test_the_capacity_of_a_pods_gpu_is_its_own_or_its_nodes(server: prometheus.Server) -> None:
    found = reading(server, "mixed")
    for pod in ("vllm-0", "vllm-2"):
        assert found.capacity_of(Pod("inference", pod)) == 80_000 * MIB
    assert found.capacity_of(Pod("inference", "nobody")) == 0
    assert reading(server, "blind").capacity_of(Pod("inference", "vllm-0")) == 0


def test_the_page_says_which_gpu_where_there_is_one_and_who_says_so(
    server: prometheus.Server,
) -> None:
    found = reading(server, "context")
    page = "\n".join(ledger_text(found, ledger(found), None, binary=False))
    assert "inference/vllm-0, GPU 0 of node-1" in page
    assert f"used, as {DCGM} says" in page
    assert reading(server, "smi").device_source == NVIDIA_SMI
    both = reading(server, "node")
    assert "node node-1, 2 GPUs" in "\n".join(ledger_text(both, ledger(both), None, binary=True))


def test_without_an_exporter_it_says_what_is_missing_and_how_to_get_it(
    server: prometheus.Server,
) -> None:
    found = reading(server, "blind")
    (account,) = ledger(found)
    assert account.device_bytes is None
    page = "\n".join(ledger_text(found, [account], None, binary=False))
    assert WITHOUT_DEVICES in page
    assert "held by process 41 of inference/vllm-0" in page


def test_without_anything_it_says_so(server: prometheus.Server) -> None:
    found = reading(server, "nobody")
    assert "No agent counts any process" in "\n".join(
        ledger_text(found, ledger(found), None, binary=False)
    )
