"""The GPU memory dashboard: its outline, top to bottom.

Pure: options in, Grafana's JSON model (schema of Grafana 11.6) out. Nothing here reaches the
network, and the same options give the same JSON.
"""

import json
from typing import Final, cast

from grafana_foundation_sdk.builders.dashboard import (
    AnnotationQuery,
    Dashboard,
    DashboardLink,
    Row,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DashboardCursorSync, DashboardLinkType

from contract.agent import METRICS_POD, NAMESPACE_LABEL
from dashboards import panels, queries, variables
from dashboards.options import DashboardOptions

_ANNOTATED_PROCESS: Final = f"{{{{{NAMESPACE_LABEL}}}}}/{{{{{METRICS_POD}}}}}, process {{{{pid}}}}"


def build(options: DashboardOptions) -> dict[str, object]:
    """The dashboard's JSON without Grafana's import wrapper; ``id`` is null, keys are sorted."""
    dashboard = (
        Dashboard(options.title)
        .uid(options.uid)
        .description(_description(options))
        .tags(["gpu", "inspektor-gadget", "kubernetes", "pyroscope"])
        .timezone("browser")
        .time("now-1h", "now")
        # An automatic refresh folds a flame graph that somebody is reading.
        .refresh("")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .link(_other_stacks())
    )
    if options.prometheus_uid is None:
        _without_metrics(dashboard, options)
    else:
        _with_metrics(dashboard, options, options.prometheus_uid)
    return _json(dashboard)


def _with_metrics(dashboard: Dashboard, options: DashboardOptions, prometheus_uid: str) -> None:
    (
        dashboard.with_variable(variables.prometheus_source(prometheus_uid))
        .with_variable(variables.pyroscope_source(options.pyroscope_uid))
        .with_variable(variables.cluster())
        .with_variable(variables.namespace_of_metrics())
        .with_variable(variables.pod_of_metrics())
        .with_variable(variables.profile_type())
        .annotation(_agents_lost())
        .with_row(_row("Who holds GPU memory", 101))
        .with_panel(panels.live_now())
        .with_panel(panels.pods_holding_memory())
        .with_panel(panels.processes_reported())
        .with_panel(panels.lost_from_sight())
        .with_panel(panels.live_by_pod(options.uid))
        .with_panel(panels.live_total())
        .with_panel(panels.top_processes(options.uid))
        .with_panel(panels.ended_processes(options.uid))
        .with_panel(panels.restarts())
        .with_row(_row("Does it add up to what the devices say?", 104))
        .with_panel(panels.ledger())
        .with_panel(panels.used_by_gpu())
        .with_panel(panels.gpus(options.uid))
        .with_row(_row("Which function allocates it", 102))
        .with_panel(panels.before_the_first_profile())
        .with_panel(panels.flame_graph())
        .with_panel(panels.reading_guide(options.documentation_url))
        .with_panel(panels.limits(options.documentation_url, with_metrics=True))
        .with_row(_row("How it comes and goes", 103))
        .with_panel(panels.allocation_rate())
        .with_panel(panels.free_rate())
        .with_panel(panels.freed_implicitly())
        .with_panel(panels.allocated_in_profiles().span(panels.WIDTH // 2))
    )


def _without_metrics(dashboard: Dashboard, options: DashboardOptions) -> None:
    (
        dashboard.with_variable(variables.pyroscope_source(options.pyroscope_uid))
        .with_variable(variables.profile_type())
        .with_variable(variables.namespace_of_profiles())
        .with_variable(variables.pod_of_profiles())
        .with_row(_row("Which function allocates GPU memory", 102))
        .with_panel(panels.before_the_first_profile())
        .with_panel(panels.flame_graph())
        .with_panel(panels.reading_guide(options.documentation_url))
        .with_panel(panels.limits(options.documentation_url, with_metrics=False))
        .with_panel(panels.allocated_in_profiles())
    )


def _row(title: str, row_id: int) -> Row:
    return Row(title).id(row_id)


def _description(options: DashboardOptions) -> str:
    summary = (
        "Who holds GPU memory, and which function allocates it: counters and profiles of the "
        "Inspektor Gadget agents. Needs Grafana 11.6 or later."
    )
    return f"{summary} {options.owner_text}".strip()


def _other_stacks() -> DashboardLink:
    """The dashboards of other clusters on the same Grafana; operations tag all of them so."""
    return (
        DashboardLink("Other GPU memory dashboards")
        .type(DashboardLinkType.DASHBOARDS)
        .tags(["gpuobs"])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )


def _agents_lost() -> AnnotationQuery:
    """Marks where a curve falls because the agent, and not the workload, let go."""
    return (
        AnnotationQuery()
        .name("Agent restarted: memory lost from sight")
        .datasource(variables.PROMETHEUS)
        .enable(True)
        .icon_color("orange")
        .expr(queries.lost_from_sight())
    )


def _json(dashboard: Dashboard) -> dict[str, object]:
    built = dashboard.build()
    for variable in built.templating.list_val or []:
        # The SDK sets what belongs to interval variables on all, beyond Grafana's schema.
        variable.auto = variable.auto_min = variable.auto_count = None
    model = json.loads(json.dumps(built, cls=JSONEncoder)) | {"id": None}
    for annotation in model["annotations"].get("list", []):
        # Fields of the Prometheus plugin's annotations, which the SDK does not know.
        annotation |= {"titleFormat": annotation["name"], "textFormat": _ANNOTATED_PROCESS}
    return cast("dict[str, object]", json.loads(json.dumps(model, sort_keys=True)))
