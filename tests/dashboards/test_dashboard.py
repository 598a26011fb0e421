"""The built-in dashboard: a golden file, Grafana's schema, and the rules of its layout."""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import jsonschema
import pytest

from dashboards import DashboardOptions, build
from dashboards.__main__ import main
from dashboards.panels import PanelId
from tests.dashboards.grafana import (
    Json,
    mapping,
    objects,
    options_after_regex,
    panel,
    panels,
    target,
    variables,
)

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

OPTIONS = DashboardOptions(
    uid="gpu-dev",
    title="GPU memory (dev)",
    pyroscope_uid="pyroscope-dev",
    prometheus_uid="prometheus-dev",
    owner_text="Managed by Pulumi project gpuobs, stack dev: changes by hand are undone.",
)
WITHOUT_METRICS = DashboardOptions(
    uid="gpu-dev", title="GPU memory (dev)", pyroscope_uid="pyroscope-dev", prometheus_uid=None
)
BOTH = pytest.mark.parametrize(
    "dashboard",
    [
        pytest.param(build(OPTIONS), id="with metrics"),
        pytest.param(build(WITHOUT_METRICS), id="without metrics"),
    ],
)


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Json", value).values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from strings(item)


# --- as a whole ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        ("golden.json", ["--prometheus", "managed-prometheus"]),
        ("golden-without-metrics.json", []),
    ],
)
def test_the_printed_dashboard_is_the_golden_file(
    file: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    regenerate = f"python -m dashboards {' '.join(arguments)} > tests/dashboards/{file}"
    assert capsys.readouterr().out == (HERE / file).read_text(), (
        f"The dashboard changed. Look at the difference; where it is meant: {regenerate}"
    )


@BOTH
def test_the_json_fits_grafanas_published_schema(dashboard: Json) -> None:
    schema = json.loads((HERE / "grafana-11.6-dashboard.schema.json").read_text())
    # An annotation holds its data source's own query beside what the schema lists.
    schema["definitions"]["AnnotationQuery"]["additionalProperties"] = True
    jsonschema.validate(dashboard, schema, cls=jsonschema.Draft7Validator)
    # The check has teeth: it refuses what it should.
    broken = copy.deepcopy(dict(dashboard))
    cast("dict[str, object]", objects(broken["panels"])[1])["datasource"] = "by name"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema, cls=jsonschema.Draft7Validator)


@BOTH
def test_keys_are_sorted_at_every_level_and_the_id_is_null(dashboard: Json) -> None:
    assert json.dumps(dashboard) == json.dumps(dashboard, sort_keys=True)
    assert dashboard["id"] is None


def test_the_same_options_give_the_same_dashboard() -> None:
    assert build(OPTIONS) == build(OPTIONS)


def test_uid_title_sources_and_owner_are_the_options() -> None:
    dashboard = build(OPTIONS)
    assert dashboard["uid"] == "gpu-dev"
    assert dashboard["title"] == "GPU memory (dev)"
    assert OPTIONS.owner_text in str(dashboard["description"])
    known = variables(dashboard)
    assert mapping(known["prom_ds"]["current"])["value"] == "prometheus-dev"
    assert mapping(known["pyroscope_ds"]["current"])["value"] == "pyroscope-dev"


@pytest.mark.handles("dashboard-from-a-moving-branch")
@BOTH
def test_the_dashboard_does_not_refresh_by_itself(dashboard: Json) -> None:
    assert dashboard["refresh"] == ""


def test_ids_of_the_published_dashboards_panels_are_kept() -> None:
    dashboard = build(OPTIONS)
    titles = {cast("int", item["id"]): str(item["title"]) for item in panels(dashboard)}
    assert titles[1].startswith("Allocation rate")
    assert titles[2].startswith("Free rate")
    assert titles[3] == "Live GPU memory by pod"
    assert titles[4].startswith("Top ")
    assert panel(dashboard, 5)["type"] == "flamegraph"
    assert titles[6].startswith("Freed implicitly")
    assert titles[7] == "Live GPU memory, total"


@BOTH
def test_every_panel_has_an_id_of_its_own_and_a_description(dashboard: Json) -> None:
    everything = objects(dashboard["panels"])
    ids = [item["id"] for item in everything]
    assert len(ids) == len(set(map(str, ids)))
    for item in panels(dashboard):
        assert len(str(item["description"])) > 20, item["title"]


@BOTH
def test_panels_lie_on_the_grid_without_overlap(dashboard: Json) -> None:
    taken: dict[tuple[int, int], object] = {}
    for item in objects(dashboard["panels"]):
        position = {key: cast("int", value) for key, value in mapping(item["gridPos"]).items()}
        assert position["x"] + position["w"] <= 24
        for x in range(position["x"], position["x"] + position["w"]):
            for y in range(position["y"], position["y"] + position["h"]):
                assert (x, y) not in taken, f"{item['title']} covers {taken[x, y]}"
                taken[x, y] = item["title"]


@BOTH
def test_every_panel_with_numbers_states_their_unit(dashboard: Json) -> None:
    for item in panels(dashboard):
        if item["type"] == "text" or item["id"] == PanelId.ALLOCATED_IN_PROFILES:
            continue  # Grafana names the unit of a profile's series itself
        unit = mapping(mapping(item["fieldConfig"])["defaults"]).get("unit")
        assert unit in {"bytes", "binBps", "short"}, item["title"]


@BOTH
def test_every_variable_that_is_used_is_defined(dashboard: Json) -> None:
    used = {
        name for text in strings(dashboard) for name in re.findall(r"\$\{?([a-z][a-z_]*)", text)
    }
    assert used <= set(variables(dashboard)), used - set(variables(dashboard))


# --- variables -----------------------------------------------------------------------------------


def test_the_variables_are_the_published_ones_and_the_profile_type() -> None:
    names = ["prom_ds", "pyroscope_ds", "cluster", "namespace", "pod", "profile_type"]
    assert list(variables(build(OPTIONS))) == names


@pytest.mark.handles("dashboard-from-a-moving-branch")
def test_the_profile_type_is_discovered_whatever_the_versions_of_agent_and_server() -> None:
    variable = variables(build(OPTIONS))["profile_type"]
    assert mapping(variable["query"])["type"] == "profileType"
    of_gpu_memory = [
        "process_cpu:malloc:bytes::",
        "process_cpu:malloc:bytes:process_cuda:bytes",
        "process_cuda:malloc:bytes:process_cuda:bytes",
    ]
    others = [
        "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
        "memory:alloc_space:bytes:space:bytes",
        "memory:inuse_objects:count:space:bytes",
        "process_cpu:malloc:count::",
    ]
    offered = options_after_regex(str(variable["regex"]), others + of_gpu_memory)
    assert offered == of_gpu_memory
    assert variable["sort"] == 2, "descending: the newest agent's type comes first"
    assert sorted(of_gpu_memory, reverse=True) == of_gpu_memory[::-1]


def test_all_is_an_explicit_everything_and_several_values_can_be_chosen() -> None:
    for dashboard, names in (
        (build(OPTIONS), ("cluster", "namespace", "pod")),
        (build(WITHOUT_METRICS), ("namespace", "pod")),
    ):
        for name in names:
            variable = variables(dashboard)[name]
            assert variable["includeAll"]
            assert variable["multi"]
            assert variable["allValue"] == ".*"


def test_the_cluster_filter_says_that_profiles_have_no_cluster() -> None:
    dashboard = build(OPTIONS)
    assert "no cluster label" in str(variables(dashboard)["cluster"]["description"])
    assert "not by cluster" in str(panel(dashboard, PanelId.FLAME_GRAPH)["description"])
    assert "cluster" not in str(target(dashboard, PanelId.FLAME_GRAPH)["labelSelector"])


# --- the flame graph -----------------------------------------------------------------------------


@BOTH
def test_the_flame_graph_is_large_and_asks_for_a_profile(dashboard: Json) -> None:
    item = panel(dashboard, PanelId.FLAME_GRAPH)
    position = mapping(item["gridPos"])
    assert position["w"] == 24
    assert cast("int", position["h"]) >= 20
    query = target(dashboard, PanelId.FLAME_GRAPH)
    assert query["queryType"] == "profile"
    assert query["profileTypeId"] == "$profile_type"


def test_each_source_is_asked_with_its_own_spelling_of_the_pod() -> None:
    dashboard = build(OPTIONS)
    assert "k8s_podName=~" in str(target(dashboard, PanelId.FLAME_GRAPH)["labelSelector"])
    assert "k8s_podname=~" in str(target(dashboard, PanelId.LIVE_BY_POD)["expr"])


@BOTH
def test_rates_span_at_least_two_samples_of_a_scrape_a_minute(dashboard: Json) -> None:
    for item in panels(dashboard):
        for query in objects(item.get("targets")):
            if "$__rate_interval" in str(query.get("expr")):
                assert query["interval"] == "1m", item["title"]


# --- links ---------------------------------------------------------------------------------------


def test_links_of_a_pod_keep_the_time_range_and_every_other_choice() -> None:
    dashboard = build(OPTIONS)
    curve = mapping(mapping(panel(dashboard, PanelId.LIVE_BY_POD)["fieldConfig"])["defaults"])
    table = mapping(panel(dashboard, PanelId.TOP_PROCESSES)["fieldConfig"])
    (column,) = [
        override
        for override in objects(table["overrides"])
        if mapping(override["matcher"])["options"] == "Pod"
    ]
    cells = mapping(objects(column["properties"])[0])
    links = [*objects(curve["links"]), *objects(cells["value"])]
    assert len(links) == 4
    for link in links:
        url = str(link["url"])
        assert url.startswith("/d/gpu-dev?${__url_time_range}&")
        assert "var-pod=${__" in url
        for name in set(variables(dashboard)) - {"pod"}:
            assert f"${{{name}:queryparam}}" in url
    assert any(f"viewPanel={PanelId.FLAME_GRAPH.value}" in str(link["url"]) for link in links)


def test_one_click_shows_a_pod_from_its_processs_start_with_every_other_choice_kept() -> None:
    dashboard = build(OPTIONS)
    table = mapping(panel(dashboard, PanelId.TOP_PROCESSES)["fieldConfig"])
    (column,) = [
        override
        for override in objects(table["overrides"])
        if mapping(override["matcher"])["options"] == "Show from"
    ]
    (links,) = [one for one in objects(column["properties"]) if one["id"] == "links"]
    (link,) = objects(links["value"])
    url = str(link["url"])
    assert url.startswith("/d/gpu-dev?from=${__value.raw}&to=${__to}&")
    assert "var-pod=${__data.fields.Pod}" in url
    for name in set(variables(dashboard)) - {"pod"}:
        assert f"${{{name}:queryparam}}" in url


def test_the_way_to_other_stacks_dashboards_keeps_time_and_choices() -> None:
    (link,) = objects(build(OPTIONS)["links"])
    assert link["tags"] == ["gpuobs"]
    assert link["keepTime"]
    assert link["includeVars"]


# --- texts ---------------------------------------------------------------------------------------


@pytest.mark.handles("only-later-allocations-are-seen")
@BOTH
def test_the_texts_explain_reading_and_limits_and_link_to_documentation(dashboard: Json) -> None:
    guide = str(mapping(panel(dashboard, PanelId.HOW_TO_READ)["options"])["content"])
    limits = str(mapping(panel(dashboard, PanelId.NOT_MEASURED)["options"])["content"])
    for text in (guide, limits):
        assert "](https://" in text
        assert "docs/users/dashboard.md" in text
    for word in ("Self", "Total", "interpreter trampoline", "who allocates"):
        assert word in guide
    for word in (
        "before the agent",
        "cuMemAllocAsync",
        "expandable segments",
        "Failed allocations",
        "CUDA contexts",
        "Sleep mode",
        "cluster",
        "symbols",
    ):
        assert word in limits


@BOTH
def test_a_sentence_above_the_flame_graph_explains_an_error_before_the_first_profile(
    dashboard: Json,
) -> None:
    sentence = panel(dashboard, PanelId.BEFORE_THE_FIRST_PROFILE)
    everything = [item["id"] for item in panels(dashboard)]
    assert everything.index(sentence["id"]) + 1 == everything.index(PanelId.FLAME_GRAPH)
    content = str(mapping(sentence["options"])["content"])
    for word in ("*Profile type*", "no profile", "allocates", "python -m gpuobs check"):
        assert word in content


def test_the_projects_own_documentation_is_linked_where_its_address_is_known() -> None:
    options = DashboardOptions(
        uid="gpu",
        title="GPU",
        pyroscope_uid="p",
        prometheus_uid=None,
        documentation_url="https://git.example/gpuobs/docs/",
    )
    guide = mapping(panel(build(options), PanelId.HOW_TO_READ)["options"])["content"]
    assert "](https://git.example/gpuobs/docs/users/dashboard.md)" in str(guide)


def test_every_panel_is_explained_in_the_documentation() -> None:
    documentation = (ROOT / "docs" / "users" / "dashboard.md").read_text()
    for item in panels(build(OPTIONS)):
        assert f"**{item['title']}**" in documentation, item["title"]


# --- without metrics -----------------------------------------------------------------------------


def test_without_prometheus_nothing_asks_it_and_the_text_says_what_is_left_out() -> None:
    dashboard = build(WITHOUT_METRICS)
    everything = list(strings(dashboard))
    assert not [text for text in everything if "prom_ds" in text or text == "prometheus"]
    assert list(variables(dashboard)) == ["pyroscope_ds", "profile_type", "namespace", "pod"]
    limits = mapping(panel(dashboard, PanelId.NOT_MEASURED)["options"])["content"]
    assert "no Prometheus" in str(limits)


def test_without_prometheus_pods_are_discovered_from_the_profiles() -> None:
    known = variables(build(WITHOUT_METRICS))
    for name, label in (("namespace", "k8s_namespace"), ("pod", "k8s_podName")):
        query = mapping(known[name]["query"])
        assert query["type"] == "labelValue"
        assert query["labelName"] == label
        assert query["profileTypeId"] == "$profile_type"


def test_printing_names_what_is_wrong_with_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--prometheus"])
    assert stopped.value.code == 2
    assert "--prometheus" in capsys.readouterr().err
