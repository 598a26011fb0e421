"""One function a panel: title, description, unit, size, queries. Order is the outline's.

Not here: expressions (:mod:`dashboards.queries`), long texts (:mod:`dashboards.texts`).
"""

from enum import IntEnum
from typing import Final

from grafana_foundation_sdk.builders import common, grafanapyroscope, prometheus, stat, table, text
from grafana_foundation_sdk.builders.dashboard import DashboardLink, Panel, ThresholdsConfig
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    BigValueTextMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
)
from grafana_foundation_sdk.models.dashboard import DashboardLink as DashboardLinkModel
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat
from grafana_foundation_sdk.models.units import BytesIEC, BytesPerSecondIEC, Short

from contract.agent import (
    ALLOCATED,
    FREED,
    FREED_IMPLICITLY,
    METRICS_POD,
    NAMESPACE_LABEL,
    PROFILES_POD,
)
from dashboards import queries
from dashboards.texts import BEFORE_THE_FIRST_PROFILE, how_to_read, not_measured
from dashboards.variables import PROMETHEUS, PYROSCOPE

WIDTH: Final = 24
"""Columns of Grafana's grid; a row of it is 30 pixels high, with 8 between rows."""

TOP_PROCESSES: Final = 10
STEPS_OF_A_PEAK: Final = 720
"""At how many moments of the range a peak is looked for, at most: each minute of half a day."""


class PanelId(IntEnum):
    """Stable, since links name them (``viewPanel``); 1 to 7 are the published dashboard's."""

    ALLOCATION_RATE = 1
    FREE_RATE = 2
    LIVE_BY_POD = 3
    TOP_PROCESSES = 4
    FLAME_GRAPH = 5
    FREED_IMPLICITLY = 6
    LIVE_TOTAL = 7
    LIVE_NOW = 8
    PODS_HOLDING_MEMORY = 9
    PROCESSES_REPORTED = 10
    LOST_FROM_SIGHT = 11
    ALLOCATED_IN_PROFILES = 12
    HOW_TO_READ = 13
    NOT_MEASURED = 14
    LEDGER = 15
    ENDED_PROCESSES = 16
    BEFORE_THE_FIRST_PROFILE = 17
    RESTARTS = 18
    GPUS = 19
    USED_BY_GPU = 20


# --- now -----------------------------------------------------------------------------------------


def live_now() -> stat.Panel:
    """How much is held, in one number."""
    return (
        _with_peak(PanelId.LIVE_NOW, "GPU memory held", queries.live_total())
        .description(
            "What the selected pods hold at the end of the time range, and the most that they held "
            "together within it: allocated, minus freed, minus freed implicitly, as far as the "
            "agents have seen since their own start."
        )
        .unit(BytesIEC)
        .no_value("no process reported")
    )


def pods_holding_memory() -> stat.Panel:
    """How many pods share the GPUs."""
    return (
        _with_peak(
            PanelId.PODS_HOLDING_MEMORY, "Pods holding GPU memory", queries.pods_holding_memory()
        )
        .description(
            "Selected pods with more than 0 bytes of GPU memory: at the end of the range, and at "
            "most within it."
        )
        .unit(Short)
    )


def processes_reported() -> stat.Panel:
    """Whether anything is measured at all."""
    return (
        _with_peak(PanelId.PROCESSES_REPORTED, "Processes reported", queries.processes_reported())
        .description(
            "GPU processes that the agents report, including those that hold nothing any more: at "
            "the end of the range, and at most within it. 0: no workload has allocated since its "
            "agent started, or nothing collects the agents' metrics; the panels from metrics are "
            "then empty."
        )
        .unit(Short)
        .color_mode(BigValueColorMode.BACKGROUND)
        .thresholds(_thresholds((None, "red"), (1, "green")))
    )


def lost_from_sight() -> stat.Panel:
    """How far the live panels can be too low."""
    return (
        _number(
            PanelId.LOST_FROM_SIGHT,
            "Lost from sight in this range (at most)",
            queries.lost_from_sight_in_range(),
        )
        .description(
            "An agent that restarts forgets what was allocated before, though the processes may "
            "still hold it. Above 0, the live panels can be too low by up to this amount until "
            "those processes restart. Nodes that went away with their memory count as well, and "
            "the last process of a node that vanished before its end was collected. What is known "
            "to have ended is in the table of ended processes instead. "
            "docs/users/dashboard.md explains how it is found."
        )
        .unit(BytesIEC)
        .color_mode(BigValueColorMode.BACKGROUND)
        .thresholds(_thresholds((None, "green"), (1, "orange")))
    )


# --- over time -----------------------------------------------------------------------------------


def live_by_pod(dashboard_uid: str) -> TimeSeries:
    """Who holds memory, and who never gives it back."""
    return (
        _curves(PanelId.LIVE_BY_POD, "Live GPU memory by pod", BytesIEC)
        .description(
            "Bytes that each pod holds: allocated, minus freed, minus freed implicitly. A "
            "staircase that never comes down is a leak. Counted since the start of the pod's "
            "agent: a restarted agent begins at 0 (see 'Lost from sight'), and nothing falls "
            "below 0. A pod that vanished ends its line. Click a line for the pod's own flame "
            "graph."
        )
        .with_target(_metric("A", queries.live_by_pod()).legend_format(_POD_LEGEND))
        .data_links(_pod_links(dashboard_uid))
    )


def live_total() -> TimeSeries:
    """How much is held over time, by all together."""
    return (
        _curves(PanelId.LIVE_TOTAL, "Live GPU memory, total", BytesIEC)
        .description(
            "The sum over all selected pods. An allocation that both the driver's and the "
            "runtime's probe report counts once."
        )
        .with_target(_metric("A", queries.live_total()).legend_format("all selected pods"))
        .fill_opacity(15)
    )


def top_processes(dashboard_uid: str) -> table.Panel:
    """Which processes hold most, and how they came to it."""
    columns = {
        "A": ("Live", queries.top_processes(TOP_PROCESSES)),
        "E": ("Peak in the range", queries.peak_of_top_processes(TOP_PROCESSES)),
        "B": (
            "Allocated",
            queries.counted_of_top_processes(ALLOCATED, TOP_PROCESSES),
        ),
        "C": ("Freed", queries.counted_of_top_processes(FREED, TOP_PROCESSES)),
        "D": (
            "Freed implicitly",
            queries.counted_of_top_processes(FREED_IMPLICITLY, TOP_PROCESSES),
        ),
        "F": ("Show from", queries.begin_of_top_processes(TOP_PROCESSES)),
    }
    values = {f"Value #{ref_id}": title for ref_id, (title, _) in columns.items()}
    panel = (
        table.Panel()
        .id(PanelId.TOP_PROCESSES)
        .title(f"Top {TOP_PROCESSES} processes")
        .description(
            "The processes that hold most GPU memory at the end of the range, the most that each "
            "held within it, and their counters since their agent's start. Much allocated and "
            "little freed is a process that grows; "
            "both large and close together is churn. An empty cell is a counter never touched. "
            "'Show from' is just before a process was first seen in the last 31 days: click it "
            "for the range since then, in which a model server's one allocation lies."
        )
        .datasource(PROMETHEUS)
        .unit(BytesIEC)
        .height(9)
        .span(WIDTH)
        .max_data_points(STEPS_OF_A_PEAK)
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_columns_named(_PROCESS_COLUMNS | values))
        .sort_by([common.TableSortByFieldState().display_name("Live").desc(True)])
        .override_by_name("Pod", _linked(dashboard_uid))
        .override_by_name("Process id", _NAME)
        .override_by_name("Show from", _since(dashboard_uid))
    )
    for ref_id, (_, expression) in columns.items():
        panel.with_target(_snapshot(ref_id, expression).format(PromQueryFormat.TABLE))
    return panel


def ended_processes(dashboard_uid: str) -> table.Panel:
    """What died, with how much in hand, and when: what an out-of-memory leaves behind."""
    return (
        table.Panel()
        .id(PanelId.ENDED_PROCESSES)
        .title("Processes that ended in this range")
        .description(
            "Processes that ended, or destroyed their CUDA context, while they held GPU memory: "
            "what they held when they were last seen to hold any, and when that was. One that gave "
            "everything back before it ended is not here, nor is one whose agent restarted: see "
            "'Lost from sight'."
        )
        .datasource(PROMETHEUS)
        .unit(BytesIEC)
        .no_value("no process ended with GPU memory in hand")
        .height(7)
        .span(WIDTH)
        .max_data_points(STEPS_OF_A_PEAK)
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(
            _columns_named(_PROCESS_COLUMNS | {"Value #A": "Held", "Value #B": "Until"})
        )
        .sort_by([common.TableSortByFieldState().display_name("Until").desc(True)])
        .override_by_name("Pod", _linked(dashboard_uid))
        .override_by_name("Process id", _NAME)
        .override_by_name("Until", [DynamicConfigValue(id_val="unit", value="dateTimeAsIso")])
        .with_target(_snapshot("A", queries.held_by_ended()).format(PromQueryFormat.TABLE))
        .with_target(_snapshot("B", queries.end_of_ended()).format(PromQueryFormat.TABLE))
    )


def restarts() -> table.Panel:
    """What Kubernetes did to the pods: started again, and killed for memory."""
    reason = [
        DynamicConfigValue(
            id_val="mappings",
            value=[{"type": "value", "options": {"OOMKilled": {"color": "red", "index": 0}}}],
        ),
        DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"}),
        DynamicConfigValue(id_val="unit", value="string"),
    ]
    names = {**dict(zip(queries.CONTAINER, _CONTAINER_COLUMNS, strict=True)), "reason": "Reason"}
    values = {"Value #A": "Restarts", "Value #B": "Started at"}
    return (
        table.Panel()
        .id(PanelId.RESTARTS)
        .title("Containers that Kubernetes restarted in this range")
        .description(
            "Containers of pods with GPUs that were started again in the range, how often, and why "
            "they ended. 'OOMKilled' is the container's own memory limit, not the GPU's: a process "
            "that cannot get GPU memory ends by itself, with reason 'Error'. Needs "
            "kube-state-metrics, which Azure's metrics add-on collects."
        )
        .datasource(PROMETHEUS)
        .unit(Short)
        .no_value("no container of a GPU pod restarted, or kube-state-metrics is not collected")
        .height(7)
        .span(WIDTH)
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_columns_named(names | values))
        .sort_by([common.TableSortByFieldState().display_name("Started at").desc(True)])
        .override_by_name("Reason", reason)
        .override_by_name("Started at", [DynamicConfigValue(id_val="unit", value="dateTimeAsIso")])
        .with_target(_snapshot("A", queries.restarts_in_range()).format(PromQueryFormat.TABLE))
        .with_target(
            _snapshot("B", queries.last_start_of_restarted()).format(PromQueryFormat.TABLE)
        )
    )


_CONTAINER_COLUMNS: Final = ("Cluster", "Namespace", "Pod", "Container")
_PROCESS_COLUMNS: Final = {
    "cluster": "Cluster",
    NAMESPACE_LABEL: "Namespace",
    METRICS_POD: "Pod",
    "pid": "Process id",
}
# A process id is a name, not a quantity.
_NAME: Final = [DynamicConfigValue(id_val="unit", value="string")]


def _linked(dashboard_uid: str) -> list[DynamicConfigValue]:
    """A cell with a pod's name leads to that pod."""
    return [DynamicConfigValue(id_val="links", value=_data_links(dashboard_uid, "${__value.raw}"))]


def _since(dashboard_uid: str) -> list[DynamicConfigValue]:
    """A cell with a time leads to the row's pod, from that time on."""
    time_range = "from=${__value.raw}&to=${__to}"
    link = {
        "title": "This pod since then",
        "url": _pod_url(dashboard_uid, "${__data.fields.Pod}", None, time_range),
    }
    return [
        DynamicConfigValue(id_val="unit", value="dateTimeAsIso"),
        DynamicConfigValue(id_val="links", value=[link]),
    ]


def _columns_named(names: dict[str, str]) -> DataTransformerConfig:
    """The columns of a table, in this order and with these titles; the time is left out."""
    return DataTransformerConfig(
        id_val="organize",
        options={
            "excludeByName": {"Time": True},
            "indexByName": {name: index for index, name in enumerate(names)},
            "renameByName": names,
        },
    )


def ledger() -> TimeSeries:
    """What the devices say, what is counted, and the difference."""
    return (
        _curves(PanelId.LEDGER, "Used, counted, and the difference, by cluster", BytesIEC)
        .description(
            "All GPUs of the chosen clusters, whatever pods are chosen: bytes in use as the "
            "devices say (needs NVIDIA's DCGM exporter; without it only what is counted is "
            "shown), what the agents count as held, and the difference: CUDA contexts and "
            "libraries, memory taken before the agent came, and allocations that it does not see. "
            "`python -m gpuobs ledger` splits the difference by its likely cause."
        )
        .with_target(_metric("A", queries.used_by_devices()).legend_format("{{cluster}}: used"))
        .with_target(
            _metric("B", queries.counted_of_clusters()).legend_format("{{cluster}}: counted")
        )
        .with_target(_metric("C", queries.not_counted()).legend_format("{{cluster}}: not counted"))
        .with_target(
            _metric("D", queries.capacity_of_devices()).legend_format("{{cluster}}: capacity")
        )
        .override_by_regexp("/: capacity$/", _LIMIT)
    )


def used_by_gpu() -> TimeSeries:
    """How full each GPU is over time, and where it is full."""
    name = "{{Hostname}} GPU {{gpu}} {{GPU_I_ID}}"
    return (
        _curves(PanelId.USED_BY_GPU, "In use by GPU, and where a GPU is full", BytesIEC)
        .description(
            "Bytes in use of each GPU, whatever uses them, and the dashed line that they cannot "
            "cross: what one GPU of its kind can give. Needs NVIDIA's DCGM exporter. With a pod "
            "chosen, its GPUs, where the exporter names pods."
        )
        .with_target(_metric("A", queries.used_by_gpu()).legend_format(name))
        .with_target(_metric("B", queries.capacity_by_model()).legend_format("full: {{modelName}}"))
        .override_by_regexp("/^full: /", _LIMIT)
    )


def gpus(dashboard_uid: str) -> table.Panel:
    """Which GPU is whose, and how full."""
    used = queries.used_of_gpus()
    columns = {
        "A": ("In use", used),
        "B": ("Peak in the range", queries.peak_in_range(used)),
        "C": ("Capacity", queries.capacity_of_gpus()),
        "D": ("Share", queries.share_of_gpus()),
    }
    values = {f"Value #{ref_id}": title for ref_id, (title, _) in columns.items()}
    names = {**dict(zip(queries.DEVICE, _DEVICE_COLUMNS, strict=True)), **_POD_COLUMNS}
    panel = (
        table.Panel()
        .id(PanelId.GPUS)
        .title("GPUs")
        .description(
            "Each GPU with the pod that it belongs to, what is in use at the end of the range and "
            "at most within it, and the share of what it can give. A GPU that several pods share "
            "has a row for each of them, with the figures of the whole GPU. Needs NVIDIA's DCGM "
            "exporter."
        )
        .datasource(PROMETHEUS)
        .unit(BytesIEC)
        .no_value("no DCGM exporter is collected, or it names no GPU of these pods")
        .height(7)
        .span(WIDTH)
        .max_data_points(STEPS_OF_A_PEAK)
        .with_transformation(DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(_columns_named(names | values))
        .sort_by([common.TableSortByFieldState().display_name("Share").desc(True)])
        .override_by_name("Pod", _linked(dashboard_uid))
        .override_by_name("GPU", _NAME)
        .override_by_name("Slice", _NAME)
        .override_by_name("Share", _SHARE)
    )
    for ref_id, (_, expression) in columns.items():
        panel.with_target(_snapshot(ref_id, expression).format(PromQueryFormat.TABLE))
    return panel


_DEVICE_COLUMNS: Final = ("Cluster", "Node", "GPU", "Slice", "Model")
_POD_COLUMNS: Final = {NAMESPACE_LABEL: "Namespace", METRICS_POD: "Pod"}
_SHARE: Final = [
    DynamicConfigValue(id_val="unit", value="percent"),
    DynamicConfigValue(id_val="min", value=0),
    DynamicConfigValue(id_val="max", value=100),
    DynamicConfigValue(id_val="custom.cellOptions", value={"type": "gauge", "mode": "basic"}),
]
_LIMIT: Final = [
    DynamicConfigValue(id_val="custom.lineStyle", value={"fill": "dash", "dash": [8, 8]}),
    DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": "red"}),
]


def allocation_rate() -> TimeSeries:
    """Who allocates all the time."""
    return (
        _curves(PanelId.ALLOCATION_RATE, "Allocation rate by pod", BytesPerSecondIEC)
        .description(
            "Bytes allocated per second. The first value of a process is where its counter starts, "
            "not a rate: one large allocation at start shows as a step in 'Live GPU memory'."
        )
        .with_target(_rate("A", queries.rate_by_pod(ALLOCATED)).legend_format(_POD_LEGEND))
    )


def free_rate() -> TimeSeries:
    """Who gives back what they allocate."""
    return (
        _curves(PanelId.FREE_RATE, "Free rate by pod", BytesPerSecondIEC)
        .description(
            "Bytes freed per second by explicit calls. Steadily below the allocation rate: the pod "
            "grows. Both high and equal: churn that a memory pool would save."
        )
        .with_target(_rate("A", queries.rate_by_pod(FREED)).legend_format(_POD_LEGEND))
    )


def freed_implicitly() -> TimeSeries:
    """Whose processes end with memory in hand."""
    return (
        _curves(PanelId.FREED_IMPLICITLY, "Freed implicitly by pod", BytesIEC)
        .description(
            "Bytes released since the agent's start because a context or a process ended, without "
            "a call to free them. A step at shutdown is normal; step after step in a running "
            "pod is a process that keeps crashing or restarting."
        )
        .with_target(_metric("A", queries.implicitly_freed_by_pod()).legend_format(_POD_LEGEND))
    )


# --- profiles ------------------------------------------------------------------------------------


def flame_graph() -> Panel:
    """Which function allocates."""
    return (
        Panel()
        .type("flamegraph")
        .id(PanelId.FLAME_GRAPH)
        .title("Which function allocates GPU memory")
        .description(
            "Bytes allocated in the time range, by call stack. Allocations, not live memory: frees "
            "are invisible here. Filtered by namespace and pod; not by cluster, a label that "
            f"profiles lack. The same pod is called {METRICS_POD} in metrics and {PROFILES_POD} in "
            "profiles; the filter uses each where it applies. Empty: choose another profile type "
            "or a longer range, or let the workload allocate again."
        )
        .datasource(PYROSCOPE)
        .unit(BytesIEC)
        .height(24)
        .span(WIDTH)
        .with_target(_profiles("A").query_type("profile"))
    )


def allocated_in_profiles() -> TimeSeries:
    """When the allocations in the flame graph happened."""
    # No unit: some versions of Grafana turn this into a rate, and all name the unit themselves.
    return (
        _curves(PanelId.ALLOCATED_IN_PROFILES, "When it was allocated, by pod (profiles)", None)
        .description(
            "When the allocations in the flame graph happened. Drag over a peak to narrow the "
            "range of the whole dashboard to it. A pod that restarts allocates again, and counts "
            "again."
        )
        .datasource(PYROSCOPE)
        .span(WIDTH)
        .with_target(_profiles("A").query_type("metrics").group_by([PROFILES_POD]))
    )


# --- texts ---------------------------------------------------------------------------------------


def reading_guide(documentation_url: str | None) -> text.Panel:
    """How to read the flame graph."""
    return (
        text.Panel()
        .id(PanelId.HOW_TO_READ)
        .title("How to read this")
        .description("The flame graph in four questions.")
        .content(how_to_read(documentation_url))
        .height(12)
        .span(WIDTH // 2)
    )


def before_the_first_profile() -> text.Panel:
    """What an error below means while nothing has been pushed."""
    return (
        text.Panel()
        .id(PanelId.BEFORE_THE_FIRST_PROFILE)
        .title("An error below, or nothing?")
        .description("What it means while the variable Profile type has nothing to choose.")
        .content(BEFORE_THE_FIRST_PROFILE)
        .height(4)
        .span(WIDTH)
    )


def limits(documentation_url: str | None, *, with_metrics: bool) -> text.Panel:
    """What no panel can show."""
    return (
        text.Panel()
        .id(PanelId.NOT_MEASURED)
        .title("What is not measured")
        .description("What to keep in mind before drawing a conclusion.")
        .content(not_measured(documentation_url, with_metrics=with_metrics))
        .height(12)
        .span(WIDTH // 2)
    )


# --- common ground -------------------------------------------------------------------------------

_POD_LEGEND: Final = f"{{{{{NAMESPACE_LABEL}}}}}/{{{{{METRICS_POD}}}}}"


def _number(panel_id: PanelId, title: str, expression: str, legend: str = "__auto") -> stat.Panel:
    return (
        stat.Panel()
        .id(panel_id)
        .title(title)
        .datasource(PROMETHEUS)
        .with_target(_snapshot("A", expression).legend_format(legend))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .graph_mode(BigValueGraphMode.NONE)
        .color_mode(BigValueColorMode.NONE)
        .height(4)
        .span(WIDTH // 4)
    )


def _with_peak(panel_id: PanelId, title: str, expression: str) -> stat.Panel:
    """A number at the end of the range, and its largest within it: what counts after a crash."""
    return (
        _number(panel_id, title, expression, "now")
        .with_target(
            _snapshot("B", queries.peak_in_range(expression)).legend_format("peak in the range")
        )
        .text_mode(BigValueTextMode.VALUE_AND_NAME)
        .max_data_points(STEPS_OF_A_PEAK)
    )


def _curves(panel_id: PanelId, title: str, unit: str | None) -> TimeSeries:
    panel = (
        TimeSeries()
        .id(panel_id)
        .title(title)
        .datasource(PROMETHEUS)
        .min(0)
        .height(9)
        .span(WIDTH // 2)
        .legend(
            common.VizLegendOptions()
            .show_legend(True)
            .display_mode(LegendDisplayMode.TABLE)
            .placement(LegendPlacement.BOTTOM)
            .calcs(["lastNotNull", "max"])
        )
        .tooltip(
            common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING)
        )
        .stacking(common.StackingConfig().mode(StackingMode.NONE))
    )
    return panel if unit is None else panel.unit(unit)


def _metric(ref_id: str, expression: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().ref_id(ref_id).expr(expression).range().datasource(PROMETHEUS)


def _rate(ref_id: str, expression: str) -> prometheus.Dataquery:
    # From this, Grafana makes $__rate_interval four minutes: two samples even at a scrape a minute,
    # whatever scrape interval the data source believes in.
    return _metric(ref_id, expression).interval("1m")


def _snapshot(ref_id: str, expression: str) -> prometheus.Dataquery:
    """Evaluated once, at the end of the time range."""
    return (
        prometheus.Dataquery()
        .ref_id(ref_id)
        .expr(expression)
        .instant()
        # The shortest $__interval: a scrape a minute has nothing in between.
        .interval("1m")
        .datasource(PROMETHEUS)
    )


def _profiles(ref_id: str) -> grafanapyroscope.Dataquery:
    return (
        grafanapyroscope.Dataquery()
        .ref_id(ref_id)
        .datasource(PYROSCOPE)
        .profile_type_id(queries.PROFILE_TYPE)
        .label_selector(queries.PROFILES)
    )


def _thresholds(*steps: tuple[float | None, str]) -> ThresholdsConfig:
    """Steps of (from this value on, colour); None is the beginning."""
    return (
        ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=color) for value, color in steps])
    )


def _pod_url(
    dashboard_uid: str,
    pod: str,
    panel: PanelId | None,
    time_range: str = "${__url_time_range}",
) -> str:
    """This dashboard for one pod, with all other choices kept, and the time range unless given."""
    kept = ("prom_ds", "pyroscope_ds", "profile_type", "cluster", "namespace")
    parameters = [
        time_range,
        *(f"${{{name}:queryparam}}" for name in kept),
        f"var-pod={pod}",
    ]
    if panel is not None:
        parameters.append(f"viewPanel={panel.value}")
    return f"/d/{dashboard_uid}?{'&'.join(parameters)}"


def _data_links(dashboard_uid: str, pod: str) -> list[dict[str, object]]:
    return [
        {"title": title, "url": _pod_url(dashboard_uid, pod, panel)}
        for title, panel in (
            ("The flame graph of this pod", PanelId.FLAME_GRAPH),
            ("Everything about this pod", None),
        )
    ]


def _pod_links(dashboard_uid: str) -> list[Builder[DashboardLinkModel]]:
    pod = f"${{__field.labels.{METRICS_POD}}}"
    return [
        DashboardLink(str(link["title"])).type(DashboardLinkType.LINK).url(str(link["url"]))
        for link in _data_links(dashboard_uid, pod)
    ]
