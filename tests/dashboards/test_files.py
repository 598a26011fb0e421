"""A dashboard file of the user's own: accepted as Grafana exports it, or refused with a reason."""

import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards import DashboardOptions, build, load_file
from tests.dashboards.grafana import mapping, objects, variables

PROMETHEUS_INPUT = {
    "name": "DS_METRICS",
    "label": "Metrics",
    "type": "datasource",
    "pluginId": "prometheus",
    "pluginName": "Prometheus",
}
PYROSCOPE_INPUT = {
    "name": "DS_PROFILES",
    "type": "datasource",
    "pluginId": "grafana-pyroscope-datasource",
}


def panel(source: object, kind: str = "timeseries") -> dict[str, object]:
    return {
        "id": 7,
        "type": kind,
        "title": "Memory",
        "datasource": source,
        "targets": [{"refId": "A", "expr": "up", "datasource": source}],
    }


def document(*panels: object, **more: object) -> dict[str, object]:
    return {"id": 12, "uid": "own", "title": "Own", "version": 9, "panels": list(panels)} | more


def load(
    content: object,
    *,
    uid: str | None = None,
    title: str | None = None,
    prometheus_uid: str | None = "our-prometheus",
) -> dict[str, object]:
    text = content if isinstance(content, str) else json.dumps(content)
    return load_file(
        text,
        uid=uid,
        title=title,
        pyroscope_uid="our-pyroscope",
        prometheus_uid=prometheus_uid,
    )


def refusal(content: object, **more: object) -> str:
    with pytest.raises(ValueError, match=r".") as refused:
        load(content, **more)  # type: ignore[arg-type]
    message = str(refused.value)
    assert message.endswith("."), f"not a sentence: {message}"
    return message


# --- accepted ------------------------------------------------------------------------------------


def test_a_raw_model_is_kept_but_for_the_id_and_version_of_the_grafana_it_came_from() -> None:
    loaded = load(document(panel({"uid": "our-prometheus"}), tags=["own"]))
    assert loaded == {
        "id": None,
        "uid": "own",
        "title": "Own",
        "tags": ["own"],
        "panels": [panel({"uid": "our-prometheus"})],
    }
    assert list(loaded) == sorted(loaded)


@pytest.mark.parametrize("wrapper", ["dashboard", "spec"])
def test_a_wrapped_model_is_unwrapped(wrapper: str) -> None:
    content = {wrapper: document(), "meta": {"slug": "own"}, "overwrite": True}
    assert load(content) == load(document())


def test_uid_and_title_are_overridden_where_given() -> None:
    loaded = load(document(), uid="gpu-dev", title="GPU (dev)")
    assert (loaded["uid"], loaded["title"]) == ("gpu-dev", "GPU (dev)")


def test_placeholders_for_the_two_sources_are_resolved_wherever_they_stand() -> None:
    content = document(
        panel({"type": "prometheus", "uid": "${DS_METRICS}"}),
        panel("${DS_PROFILES}", "flamegraph"),
        {"type": "text", "options": {"content": "from ${DS_METRICS}, limit ${VAR_LIMIT}"}},
        __inputs=[
            PROMETHEUS_INPUT,
            PYROSCOPE_INPUT,
            {"name": "VAR_LIMIT", "type": "constant", "value": "80 GiB"},
        ],
        __requires=[{"type": "grafana", "id": "grafana", "version": "12.0.0"}],
        __elements={},
    )
    first, second, text = objects(load(content)["panels"])
    assert mapping(first["datasource"])["uid"] == "our-prometheus"
    assert mapping(objects(first["targets"])[0]["datasource"])["uid"] == "our-prometheus"
    assert second["datasource"] == "our-pyroscope"
    assert mapping(text["options"])["content"] == "from our-prometheus, limit 80 GiB"
    assert not [key for key in load(content) if key.startswith("__")]


def test_placeholders_beside_a_wrapped_model_are_resolved_too() -> None:
    content = {"dashboard": document(panel("${DS_METRICS}")), "__inputs": [PROMETHEUS_INPUT]}
    assert objects(load(content)["panels"])[0]["datasource"] == "our-prometheus"


@pytest.mark.parametrize(
    "plugin",
    ["prometheus", "grafana-azureprometheus-datasource", "grafana-amazonprometheus-datasource"],
)
def test_every_flavour_of_prometheus_is_ours(plugin: str) -> None:
    content = document(panel("${DS_METRICS}"), __inputs=[PROMETHEUS_INPUT | {"pluginId": plugin}])
    assert objects(load(content)["panels"])[0]["datasource"] == "our-prometheus"


SOURCE_VARIABLES: dict[str, object] = {
    "list": [
        {"name": "prom_ds", "type": "datasource", "query": "prometheus", "current": {}},
        {"name": "prof", "type": "datasource", "query": "grafana-pyroscope-datasource"},
        {
            "name": "chosen",
            "type": "datasource",
            "query": "prometheus",
            "current": {"text": "Theirs", "value": "theirs"},
        },
        {"name": "logs", "type": "datasource", "query": "loki", "current": {}},
    ]
}


@pytest.mark.parametrize("reference", ["${prom_ds}", "$prom_ds", "[[prom_ds]]", "${prom_ds:raw}"])
def test_sources_named_by_a_variable_keep_working(reference: str) -> None:
    content = document(panel({"type": "prometheus", "uid": reference}), templating=SOURCE_VARIABLES)
    kept = objects(load(content)["panels"])[0]["datasource"]
    assert kept == {"type": "prometheus", "uid": reference}


def test_source_variables_without_a_choice_start_with_this_stacks_sources() -> None:
    known = variables(load(document(templating=SOURCE_VARIABLES)))
    assert mapping(known["prom_ds"]["current"])["value"] == "our-prometheus"
    assert mapping(known["prof"]["current"])["value"] == "our-pyroscope"
    assert mapping(known["chosen"]["current"])["value"] == "theirs"
    assert known["logs"]["current"] == {}


@pytest.mark.parametrize("source", [None, "-- Mixed --", {"uid": "-- Grafana --"}, "grafana"])
def test_grafanas_own_sources_and_the_default_are_left_alone(source: object) -> None:
    assert objects(load(document(panel(source)))["panels"])[0]["datasource"] == source


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        ("prometheus", "our-prometheus"),
        ("grafana-azureprometheus-datasource", "our-prometheus"),
        ("grafana-pyroscope-datasource", "our-pyroscope"),
    ],
)
def test_a_fixed_source_of_another_grafana_becomes_this_stacks_source_of_its_kind(
    kind: str, ours: str
) -> None:
    loaded = objects(load(document(panel({"type": kind, "uid": "theirs"})))["panels"])[0]
    assert loaded["datasource"] == {"type": kind, "uid": ours}
    assert objects(loaded["targets"])[0]["datasource"] == {"type": kind, "uid": ours}


@pytest.mark.parametrize("source", [{"type": "loki", "uid": "x"}, {"uid": "x"}, "Their Loki"])
def test_a_fixed_source_that_this_stack_does_not_have_is_refused_by_name(source: object) -> None:
    message = refusal(document(panel(source)))
    assert '"Memory"' in message
    assert "belongs to the Grafana that the file came from" in message


def test_a_fixed_prometheus_without_a_prometheus_says_what_to_configure() -> None:
    content = document(panel({"type": "prometheus", "uid": "theirs"}))
    assert "prometheus section" in refusal(content, prometheus_uid=None)


def test_a_library_panel_is_refused_also_without_its_elements() -> None:
    shared = {"id": 3, "title": "Shared", "libraryPanel": {"uid": "lib", "name": "Shared"}}
    row = {"type": "row", "title": "Row", "panels": [shared]}
    for content in (document(shared), document(row)):
        assert '"Shared" is a library panel' in refusal(content)


FLAME: dict[str, object] = {
    "type": "flamegraph",
    "title": "Flame graph",
    "datasource": {"type": "grafana-pyroscope-datasource", "uid": "${pyroscope_ds}"},
    "targets": [{"refId": "A", "profileTypeId": "process_cpu:malloc:bytes::"}],
}
PYROSCOPE_VARIABLE = {
    "name": "pyroscope_ds",
    "type": "datasource",
    "query": "grafana-pyroscope-datasource",
}


@pytest.mark.parametrize(
    "fixed", ["process_cpu:malloc:bytes::", "process_cuda:malloc:bytes:process_cuda:bytes"]
)
def test_a_fixed_type_of_gpu_allocations_becomes_the_discovered_one(fixed: str) -> None:
    flame = FLAME | {"targets": [{"refId": "A", "profileTypeId": fixed}]}
    loaded = load(document(flame, templating={"list": [PYROSCOPE_VARIABLE]}))
    (target,) = objects(objects(loaded["panels"])[0]["targets"])
    assert target["profileTypeId"] == "$profile_type"
    variable = variables(loaded)["profile_type"]
    assert variable["datasource"] == FLAME["datasource"]
    assert mapping(variable["query"])["type"] == "profileType"
    assert ":malloc:bytes:" in str(variable["regex"])


def test_other_profile_types_and_variables_stay() -> None:
    for kept in ("process_cpu:cpu:nanoseconds:cpu:nanoseconds", "$profile_type", "$mine"):
        flame = FLAME | {"targets": [{"refId": "A", "profileTypeId": kept}]}
        loaded = load(document(flame, templating={"list": [PYROSCOPE_VARIABLE]}))
        assert objects(objects(loaded["panels"])[0]["targets"])[0]["profileTypeId"] == kept
        assert set(variables(loaded)) == {"pyroscope_ds"}


def test_other_variables_and_macros_are_left_alone() -> None:
    text = 'rate(x{pod=~"$pod"}[$__rate_interval]) ${__from} ${pod:regex} $1 ${1}'
    content = document({"type": "text", "title": text}, templating={"list": [{"name": "pod"}]})
    assert objects(load(content)["panels"])[0]["title"] == text


@pytest.mark.parametrize("prometheus", ["p", None])
def test_the_built_in_dashboard_survives_an_export_and_a_load(prometheus: str | None) -> None:
    built = build(
        DashboardOptions(uid="gpu", title="GPU", pyroscope_uid="f", prometheus_uid=prometheus)
    )
    assert load(built) == built


def test_a_byte_order_mark_is_not_the_users_mistake() -> None:
    assert load("\ufeff" + json.dumps(document())) == load(document())


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param("", "not JSON", id="empty"),
        pytest.param('{"panels": [', "line 1", id="cut off"),
        pytest.param("[" * 100_000, "nested too deeply", id="hostile"),
        pytest.param('{"panels": [NaN]}', "NaN", id="no number"),
        pytest.param([], "no JSON object", id="a list"),
        pytest.param({"title": "x"}, '"panels"', id="something else"),
        pytest.param({"spec": {"elements": {}, "layout": {}}}, "schema v2", id="dynamic layout"),
        pytest.param(
            document(__elements={"a": {"kind": 1}}), "library panels", id="library panels"
        ),
        pytest.param(document(__inputs="x"), "__inputs", id="inputs are no list"),
        pytest.param(
            document(__inputs=[{"type": "datasource"}]), "__inputs", id="a nameless input"
        ),
        pytest.param(
            document(__inputs=[{"name": "DS_L", "type": "datasource", "pluginId": "loki"}]),
            "type loki",
            id="another source",
        ),
        pytest.param(
            document(__inputs=[{"name": "X", "type": "expression"}]), "expression", id="no source"
        ),
        pytest.param(document(panel("${DS_METRICS}")), "DS_METRICS", id="undefined placeholder"),
        pytest.param(
            document(panel({"uid": "$nowhere"})), '"Memory" uses the data source $nowhere', id="var"
        ),
        pytest.param(
            document(
                panel({"uid": "$interval"}),
                templating={"list": [{"name": "interval", "type": "interval"}]},
            ),
            "$interval",
            id="a variable that is no source",
        ),
        pytest.param(
            document({"type": "text", "title": "${VAR_LIMIT}"}), "VAR_LIMIT", id="constant"
        ),
        pytest.param(document(title=" "), "no title", id="no title"),
        pytest.param(document(uid=None), "uid", id="no uid"),
        pytest.param(document(uid="with space"), "with space", id="bad uid"),
    ],
)
def test_a_file_that_cannot_work_is_refused_in_a_sentence(content: object, reason: str) -> None:
    assert reason in refusal(content)


@pytest.mark.handles("uid-too-long")
def test_a_uid_of_41_characters_is_refused_and_of_40_is_not() -> None:
    assert load(document(), uid="u" * 40)["uid"] == "u" * 40
    assert "40" in refusal(document(), uid="u" * 41)


def test_a_prometheus_placeholder_without_a_prometheus_says_what_to_configure() -> None:
    content = document(panel("${DS_METRICS}"), __inputs=[PROMETHEUS_INPUT])
    message = refusal(content, prometheus_uid=None)
    assert "DS_METRICS" in message
    assert "prometheus section" in message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["panels", "templating", "list", "__inputs", "datasource", "uid"])
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


def sentence_or_model(content: object) -> str | dict[str, object]:
    try:
        return load(content, uid="gpu", title="GPU")
    except ValueError as refused:
        return str(refused)


@given(JSON)
def test_any_json_is_either_loaded_or_refused_in_a_sentence(content: object) -> None:
    answer = sentence_or_model(content)
    if isinstance(answer, str):
        assert answer.endswith(".")
    else:
        assert (answer["id"], answer["uid"], answer["title"]) == (None, "gpu", "GPU")


@pytest.mark.parametrize("depth", [300, 500, 900, 2000, 20_000])
def test_nesting_of_any_depth_is_loaded_or_refused_in_a_sentence(depth: int) -> None:
    nested = '{"panels": [], "x": ' + "[" * depth + "]" * depth + "}"
    answer = sentence_or_model(nested)
    assert isinstance(answer, dict) or "nested too deeply" in answer


def test_the_golden_files_load(request: pytest.FixtureRequest) -> None:
    here = Path(cast("str", request.path)).parent
    for file in here.glob("golden*.json"):
        assert load(file.read_text()) == json.loads(file.read_text())
