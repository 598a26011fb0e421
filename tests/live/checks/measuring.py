"""What is measured: how far profiles reach back, and whose metrics the dashboard and ledger ask."""

import re

from simulator.values import as_list, as_objects, as_text, dig
from tests.live.azure import CheckError, poll
from tests.live.check import Phase, Section, Verdict, check, fails, verdict
from tests.live.world import World

_WAIT_SECONDS = 1200
"""For the end of the workload, and for a scrape after it."""


def _uid(world: World, source: str) -> str:
    return as_text(world.outputs("dataSourceUids").get(source))


def _value(world: World, expression: str) -> float | None:
    """The one value of an instant query, asked through Grafana; None: nothing is there."""
    uid = _uid(world, "prometheus")
    kind = as_text(world.grafana().call("GET", f"/api/datasources/uid/{uid}").body.get("type"))
    query = {
        "refId": "A",
        "datasource": {"type": kind, "uid": uid},
        "expr": expression,
        "instant": True,
    }
    body = {"from": "now-5m", "to": "now", "queries": [query]}
    answer = world.grafana().call("POST", "/api/ds/query", body)
    if not answer.ok:
        raise CheckError(f"{expression}: {answer.error}")
    for frame in as_objects(dig(answer.body, "results", "A", "frames")):
        columns = as_list(dig(frame, "data", "values"))
        if len(columns) > 1 and as_list(columns[-1]):
            return float(str(as_list(columns[-1])[-1]))
    return None


@check(
    "overrides-are-read-while-it-runs",
    Section.GRAFANA,
    Phase.DEPLOYED,
    assumption="A running Pyroscope reads the overrides of tenant `anonymous` (ConfigMap "
    "`pyroscope-overrides-config`) anew, and Grafana's proxy passes `GET /runtime_config`, which "
    "shows them",
    otherwise="panels from profiles answer `query time range exceeds the limit` beyond 24 hours: "
    "restart the server once (`kubectl --namespace gadget rollout restart statefulset/pyroscope`). "
    "`python -m gpuobs hotspots` says what may be missing",
    by_hand="`kubectl --namespace gadget port-forward service/pyroscope 4040`, then "
    "`curl localhost:4040/runtime_config`",
)
def overrides(world: World) -> Verdict:
    """The limits that the stack sets are those that the server shows."""
    path = f"/api/datasources/proxy/uid/{_uid(world, 'pyroscope')}/runtime_config"
    answer = world.grafana().call("GET", path)
    if not answer.ok:
        return fails(f"the server's overrides cannot be read: {answer.error}")
    found = re.findall(r"\"?(max_query_length|max_query_lookback)\"?: *\"?(\w+)", answer.text)
    shown = ", ".join(f"{name} {value}" for name, value in found)
    # Prometheus' durations: 32 days may be shown as 4w4d. Back as far as profiles are kept.
    wanted = {"max_query_length": ("32d", "4w4d"), "max_query_lookback": ("30d", "4w2d")}
    return verdict(
        bool(found) and all(value in wanted[name] for name, value in found),
        f"the server shows {shown or 'no limit of the tenant'}",
    )


@check(
    "restarts-are-collected",
    Section.CLUSTER,
    Phase.GPU,
    assumption="The metrics add-on collects kube-state-metrics' restarts, last reasons and pods by "
    "node (in its list of what it keeps by default)",
    otherwise="the dashboard's table of restarts is empty and the ledger cannot tell memory from "
    "before the agent: add the metrics to the add-on's list, ConfigMap "
    "`ama-metrics-settings-configmap`",
    by_hand="in Grafana, `count(kube_pod_container_status_restarts_total)`",
)
def restarts(world: World) -> Verdict:
    """Restarts and the nodes of pods are in the workspace."""
    names = ("kube_pod_container_status_restarts_total", "kube_pod_info", "kube_pod_created")
    counts = {name: _value(world, f"count({name})") for name in names}
    return verdict(all(counts.values()), f"series: {counts}")


@check(
    "ends-are-counted",
    Section.AGENT,
    Phase.GPU,
    assumption="What a process holds when it exits is added to `mem_implicit_free_bytes_total`, "
    "and its counters stay",
    otherwise="a process that ended is listed only if its agent still counts others; else what it "
    "held counts as lost from sight",
    by_hand="after `kubectl wait --for=condition=complete job/gpu-memory-example`, in Grafana "
    "`max(mem_implicit_free_bytes_total)`",
)
def ends(world: World) -> Verdict:
    """The workload ends with memory in hand; its end is counted."""
    expression = 'max(mem_implicit_free_bytes_total{host_raw="0"})'
    try:
        poll(
            lambda: bool(_value(world, expression)),
            what="the end of the workload in the metrics",
            seconds=_WAIT_SECONDS,
            every=30,
        )
    except CheckError as error:
        return fails(str(error))
    return verdict(True, f"{_value(world, expression) or 0:.0f} bytes are counted so")


CHECKS = (overrides, restarts, ends)
