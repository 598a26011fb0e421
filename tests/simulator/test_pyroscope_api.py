"""Pyroscope's query API over HTTP: what flowed is answered in the shapes of version 1.15."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from simulator.pyroscope import wire
from simulator.pyroscope.profile import KV_CACHE_BYTES
from simulator.values import JsonObject, as_list, as_object, as_objects, as_text, dig, texts
from tests.azure_client import azure_client
from tests.simulator.procedure import CLUSTER_NAME, Procedure, deployed

TYPE = "process_cpu:malloc:bytes:process_cuda:bytes"
ALLOCATOR = "GPUModelRunner > _allocate_kv_cache_tensors"


class Pyroscope:
    """The port of the planted cluster's Pyroscope."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def post(self, method: str, body: object) -> tuple[int, JsonObject]:
        response = self.raw("POST", f"/querier.v1.QuerierService/{method}", body)
        return response.status_code, as_object(response.json())

    def get(self, path: str, **params: str | int) -> httpx.Response:
        return self._client.get(f"/pyroscope/{CLUSTER_NAME}{path}", params=params)

    def raw(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": content_type}
        url = f"/pyroscope/{CLUSTER_NAME}{path}"
        return self._client.request(method, url, content=content, headers=headers)


@pytest.fixture(scope="module")
def pyroscope(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pyroscope]:
    with deployed(tmp_path_factory.mktemp("pyroscope")) as found:
        yield Pyroscope(found.azure.http)


def _window() -> JsonObject:
    now = int(time.time() * 1000)
    return {"start": now - 3_600_000, "end": now}


def _select(selector: str = "{}", **more: object) -> JsonObject:
    return {"profileTypeID": TYPE, "labelSelector": selector, **_window(), **more}


def _totals(graph: object) -> dict[str, int]:
    """Bytes by function of a flame graph, the largest bar of each."""
    names = texts(dig(graph, "names"))
    found: dict[str, int] = {}
    for level in as_objects(dig(graph, "levels")):
        values = [int(value) for value in texts(level["values"])]
        for at in range(0, len(values), 4):
            name = names[values[at + 3]]
            found[name] = max(found.get(name, 0), values[at + 1])
    return found


def test_the_profile_type_of_the_agent_is_listed(pyroscope: Pyroscope) -> None:
    assert pyroscope.post("ProfileTypes", _window()) == (
        200,
        {
            "profileTypes": [
                {
                    "ID": TYPE,
                    "name": "process_cpu",
                    "sampleType": "malloc",
                    "sampleUnit": "bytes",
                    "periodType": "process_cuda",
                    "periodUnit": "bytes",
                }
            ]
        },
    )


def test_an_older_agent_has_a_type_without_a_period(tmp_path: Path) -> None:
    with deployed(tmp_path, agent="0.53.0") as found:
        status, answer = Pyroscope(found.azure.http).post("ProfileTypes", _window())
    assert status == 200
    assert answer["profileTypes"] == [
        {
            "ID": "process_cpu:malloc:bytes::",
            "name": "process_cpu",
            "sampleType": "malloc",
            "sampleUnit": "bytes",
        }
    ], "zero fields are left out"


def test_the_flame_graph_shows_the_key_value_cache(pyroscope: Pyroscope) -> None:
    status, answer = pyroscope.post("SelectMergeStacktraces", _select())
    graph = as_object(answer["flamegraph"])
    totals = _totals(graph)
    assert status == 200
    assert totals[ALLOCATOR] == KV_CACHE_BYTES
    assert totals["total"] == int(as_text(graph["total"]))
    assert int(as_text(graph["maxSelf"])) == KV_CACHE_BYTES
    first = as_objects(graph["levels"])[0]["values"]
    assert first == ["0", graph["total"], "0", "0"], "64-bit integers are strings"


@pytest.mark.parametrize(
    ("selector", "seen"),
    [
        ('{k8s_podName="vllm-0"}', True),
        ('{k8s_podName="vllm-1"}', False),
        ('{k8s_podName!="vllm-0"}', False),
        ('{k8s_podName=~"vllm-.*", k8s_namespace="inference"}', True),
        ('{k8s_namespace!~"infer.*"}', False),
        ('{service_name="inspektor-gadget"}', True),
        ('{cluster="aks-dev"}', False),
    ],
)
def test_label_selectors_are_honest(pyroscope: Pyroscope, selector: str, seen: bool) -> None:
    _, answer = pyroscope.post("SelectMergeStacktraces", _select(selector))
    assert (ALLOCATOR in _totals(answer["flamegraph"])) is seen


def test_another_profile_type_or_window_has_one_level_of_zeros(pyroscope: Pyroscope) -> None:
    empty = {"flamegraph": {"names": ["total"], "levels": [{"values": ["0", "0", "0", "0"]}]}}
    other = _select() | {"profileTypeID": "process_cpu:malloc:bytes::"}
    assert pyroscope.post("SelectMergeStacktraces", other) == (200, empty)
    before = _select() | {"start": 1_000, "end": 2_000}
    assert pyroscope.post("SelectMergeStacktraces", before) == (200, empty)


@pytest.mark.parametrize(
    "change",
    [
        {"start": 0, "end": 0},
        {"start": 2_000, "end": 1_000},
        {"start": 1, "end": 24 * 3600 * 1000 + 2},
        {"profileTypeID": "malloc"},
        {"labelSelector": ""},
        {"labelSelector": '{pod="'},
        {"start": "soon"},
    ],
)
def test_what_pyroscope_refuses_is_an_invalid_argument(
    pyroscope: Pyroscope, change: JsonObject
) -> None:
    status, answer = pyroscope.post("SelectMergeStacktraces", _select() | change)
    assert (status, answer["code"]) == (400, "invalid_argument")
    assert answer["message"]


def test_times_may_be_strings_and_unknown_fields_are_ignored(pyroscope: Pyroscope) -> None:
    body = _select() | {"unknown": 1}
    body |= {"start": str(body["start"]), "end": str(body["end"])}
    _, answer = pyroscope.post("SelectMergeStacktraces", body)
    assert ALLOCATOR in _totals(answer["flamegraph"])


def test_fewer_nodes_than_there_are_merge_into_other(pyroscope: Pyroscope) -> None:
    whole = _totals(pyroscope.post("SelectMergeStacktraces", _select())[1]["flamegraph"])
    answer = pyroscope.post("SelectMergeStacktraces", _select(maxNodes=8))[1]
    truncated = _totals(answer["flamegraph"])
    assert "other" in truncated
    assert "other" not in whole
    assert truncated["total"] == whole["total"]
    assert len(truncated) < len(whole)


def test_a_merged_profile_holds_every_byte(pyroscope: Pyroscope) -> None:
    status, profile = pyroscope.post("SelectMergeProfile", _select())
    strings = texts(profile["stringTable"])
    functions = {
        item["id"]: strings[int(as_text(item.get("name"), "0"))]
        for item in as_objects(profile["function"])
    }
    samples = as_objects(profile["sample"])
    total = sum(int(texts(item["value"])[0]) for item in samples)
    graph = pyroscope.post("SelectMergeStacktraces", _select())[1]["flamegraph"]
    assert status == 200
    assert total == _totals(graph)["total"]
    largest = max(samples, key=lambda item: int(texts(item["value"])[0]))
    frames = [functions[location] for location in texts(largest["locationId"])]
    assert "+0x" in frames[0], "the innermost frame comes first"
    assert ALLOCATOR in frames
    assert frames[-1] == "", "the agent leaves an empty root"
    assert [
        strings[int(as_text(profile_type[key]))]
        for profile_type in as_objects(profile["sampleType"])
        for key in ("type", "unit")
    ] == ["malloc", "bytes"]


def test_protobuf_in_means_pprof_bytes_out(pyroscope: Pyroscope) -> None:
    window = _window()
    request = (
        wire.message(1, TYPE.encode())
        + wire.message(2, b'{k8s_podName="vllm-0"}')
        + wire.integer(3, int(str(window["start"])))
        + wire.integer(4, int(str(window["end"])))
    )
    path = "/querier.v1.QuerierService/SelectMergeProfile"
    response = pyroscope.raw("POST", path, request, "application/proto")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/proto"
    assert ALLOCATOR.encode() in response.content
    assert b"Pooler > forward" not in response.content, "the selector holds here too"


def test_a_merged_profile_without_data_is_empty(pyroscope: Pyroscope) -> None:
    body = _select('{k8s_podName="none"}')
    assert pyroscope.post("SelectMergeProfile", body) == (200, {})


def test_a_comparison_has_both_sides(pyroscope: Pyroscope) -> None:
    left, right = _select('{k8s_podName="vllm-0"}'), _select('{k8s_podName="vllm-1"}')
    status, answer = pyroscope.post("Diff", {"left": left, "right": right})
    graph = as_object(answer["flamegraph"])
    assert status == 200
    assert int(as_text(graph["leftTicks"])) > int(as_text(graph["rightTicks"])) > 0
    assert all(len(texts(level["values"])) % 7 == 0 for level in as_objects(graph["levels"]))


def test_labels_are_listed_and_their_values_filtered(pyroscope: Pyroscope) -> None:
    names = texts(pyroscope.post("LabelNames", _window())[1]["names"])
    assert {"service_name", "proc_comm", "k8s_namespace", "k8s_podName"} <= set(names)
    assert "cluster" not in names
    body = {**_window(), "name": "k8s_podName"}
    values = pyroscope.post("LabelValues", body)[1]["names"]
    assert values == ["notebook-0", "vllm-0", "vllm-1"]
    body["matchers"] = ['{k8s_namespace="inference"}']
    assert pyroscope.post("LabelValues", body)[1]["names"] == ["vllm-0", "vllm-1"]
    assert pyroscope.post("LabelValues", _window())[0] == 400


def test_series_are_the_distinct_label_sets(pyroscope: Pyroscope) -> None:
    body = {**_window(), "matchers": ["{}"], "labelNames": ["k8s_namespace"]}
    answer = pyroscope.post("Series", body)[1]
    assert answer["labelsSet"] == [
        {"labels": [{"name": "k8s_namespace", "value": "inference"}]},
        {"labels": [{"name": "k8s_namespace", "value": "research"}]},
    ]


def test_a_series_of_bytes_adds_up_to_the_flame_graph(pyroscope: Pyroscope) -> None:
    body = _select(step=15, groupBy=["k8s_podName"])
    status, answer = pyroscope.post("SelectSeries", body)
    points = [
        point for series in as_objects(answer["series"]) for point in as_objects(series["points"])
    ]
    graph = pyroscope.post("SelectMergeStacktraces", body)[1]["flamegraph"]
    assert status == 200
    assert sum(float(str(point["value"])) for point in points) == _totals(graph)["total"]
    assert all(isinstance(point["timestamp"], str) for point in points)
    assert pyroscope.post("SelectSeries", _select())[0] == 400, "a step is needed"


def test_render_answers_the_same_graph_in_plain_numbers(pyroscope: Pyroscope) -> None:
    query = f'{TYPE}{{k8s_podName="vllm-0"}}'
    params = {"query": query, "from": "now-1h", "until": "now", "format": "json"}
    response = pyroscope.get("/pyroscope/render", **params)
    bearer = as_object(response.json())["flamebearer"]
    names, levels = texts(dig(bearer, "names")), dig(bearer, "levels")
    assert response.status_code == 200
    assert ALLOCATOR in names
    assert dig(bearer, "numTicks") == as_list(as_list(levels)[0])[1]
    assert pyroscope.get("/pyroscope/render", query="malloc").status_code == 400
    wrong = pyroscope.get("/pyroscope/render", query=query, **{"from": "yesterday"})
    assert wrong.status_code == 400


def test_readiness_unknown_paths_methods_and_content_types(pyroscope: Pyroscope) -> None:
    assert pyroscope.get("/ready").status_code == 200
    assert pyroscope.get("/no/such/path").status_code == 404
    method = "/querier.v1.QuerierService/ProfileTypes"
    assert pyroscope.raw("POST", "/querier.v1.QuerierService/NoSuch", {}).status_code == 404
    assert pyroscope.raw("GET", method).status_code == 405
    assert pyroscope.raw("POST", method, b"{}", "text/plain").status_code == 415
    assert pyroscope.raw("POST", method, b"{").status_code == 400


def test_without_an_agent_the_server_answers_and_is_empty(tmp_path: Path) -> None:
    with deployed(tmp_path, agent="") as found:
        server = Pyroscope(found.azure.http)
        assert server.get("/ready").status_code == 200
        assert server.post("ProfileTypes", _window()) == (200, {})
        assert server.post("LabelNames", _window()) == (200, {})


def test_a_server_of_an_incompatible_version_stays_empty(tmp_path: Path) -> None:
    with deployed(tmp_path, server="1.20.0") as found:
        server = Pyroscope(found.azure.http)
        assert server.get("/ready").status_code == 200
        assert server.post("ProfileTypes", _window()) == (200, {})


def test_what_was_recorded_stays_when_the_agent_is_removed(tmp_path: Path) -> None:
    with deployed(tmp_path) as found:
        Procedure(found.azure).remove_agent()
        answer = Pyroscope(found.azure.http).post("SelectMergeStacktraces", _select())[1]
    assert _totals(answer["flamegraph"])[ALLOCATOR] == KV_CACHE_BYTES


def test_a_cluster_without_a_server_answers_nothing(tmp_path: Path) -> None:
    with azure_client(tmp_path) as azure:
        assert Pyroscope(azure.http).get("/ready").status_code == 503
