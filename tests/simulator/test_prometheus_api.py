"""The Prometheus endpoint of an Azure Monitor workspace over HTTP."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from simulator import seed
from simulator.values import JsonObject, as_list, as_object, as_objects, dig
from tests.azure_client import ARM, PROMETHEUS, azure_client
from tests.simulator.procedure import CLUSTER_NAME, Procedure, deployed


def _call(client: httpx.Client, path: str, **params: str | float) -> tuple[int, JsonObject]:
    response = client.get(f"/prometheus/amw-dev/api/v1/{path}", params=params)
    return response.status_code, as_object(response.json())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with deployed(tmp_path_factory.mktemp("prometheus")) as found:
        Procedure(found.azure).let_read_metrics(seed.CALLER_ID)
        yield found.azure.http


def test_a_counter_is_found_by_its_labels(client: httpx.Client) -> None:
    query = 'mem_alloc_bytes_total{k8s_podname="vllm-0",otel_scope_name="libcuda_mem_stats"}'
    status, answer = _call(client, "query", query=query)
    (element,) = as_objects(dig(answer, "data", "result"))
    assert (status, answer["status"]) == (200, "success")
    assert dig(answer, "data", "resultType") == "vector"
    assert element["metric"] == {
        "__name__": "mem_alloc_bytes_total",
        "cluster": CLUSTER_NAME,
        "k8s_namespace": "inference",
        "k8s_podname": "vllm-0",
        "pid": "4211",
        "host_raw": "0",
        "otel_scope_name": "libcuda_mem_stats",
    }
    assert int(str(as_list(element["value"])[1])) > 55_100_000_000


def test_a_sum_of_numbers_is_a_scalar(client: httpx.Client) -> None:
    answer = _call(client, "query", query="1+1", time=4)[1]
    assert answer["data"] == {"resultType": "scalar", "result": [4.0, "2"]}


def test_before_the_metrics_flowed_there_are_none(client: httpx.Client) -> None:
    answer = _call(client, "query", query="mem_alloc_bytes_total", time=time.time() - 3600)[1]
    assert dig(answer, "data", "result") == []


def test_a_range_has_points_only_where_metrics_flowed(client: httpx.Client) -> None:
    now = time.time()
    params = {
        "query": "count(mem_alloc_bytes_total)",
        "start": now - 3600,
        "end": now,
        "step": "1s",
    }
    answer = _call(client, "query_range", **params)[1]
    (row,) = as_objects(dig(answer, "data", "result"))
    values = [as_list(sample)[1] for sample in as_list(row["values"])]
    assert 0 < len(values) < 3600
    assert set(values) == {"8"}


def test_a_form_is_read_like_a_query_string(client: httpx.Client) -> None:
    response = client.post("/prometheus/amw-dev/api/v1/query", data={"query": "vector(1)"})
    assert dig(response.json(), "data", "result") is not None


def test_label_values_and_series(client: httpx.Client) -> None:
    assert _call(client, "label/cluster/values")[1]["data"] == [CLUSTER_NAME]
    metrics = _call(client, "label/__name__/values")[1]["data"]
    assert {"mem_alloc_bytes_total", "mem_implicit_free_bytes_total"} <= set(as_list(metrics))
    assert "DCGM_FI_DEV_FB_USED" in as_list(metrics)
    found = _call(client, "series", **{"match[]": 'mem_free_bytes_total{k8s_podname=~"note.*"}'})[1]
    assert found["data"] == [], "nothing has been freed yet"
    found = _call(client, "series", **{"match[]": 'mem_alloc_bytes_total{pid="733"}'})[1]
    assert len(as_objects(found["data"])) == 2
    assert _call(client, "series")[0] == 400


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("query", {"query": "rate(mem_alloc_bytes_total[5m])"}),
        ("query", {}),
        ("query", {"query": "up", "time": "noon"}),
        ("query_range", {"query": "up", "start": "1", "end": "2"}),
        ("query_range", {"query": "up", "start": "2", "end": "1", "step": "1"}),
        ("query_range", {"query": "up", "start": "1", "end": "99999", "step": "1"}),
        ("query_range", {"query": "up", "start": "1", "end": "2", "step": "0"}),
    ],
)
def test_what_is_not_understood_answers_400(
    client: httpx.Client, path: str, params: dict[str, str]
) -> None:
    status, answer = _call(client, path, **params)
    assert (status, answer["status"], answer["errorType"]) == (400, "error", "bad_data")


def test_unknown_paths_and_workspaces_answer_404(client: httpx.Client) -> None:
    assert client.get("/prometheus/amw-dev/api/v1/rules").status_code == 404
    assert client.get("/prometheus/nowhere/api/v1/query?query=1").status_code == 404


def test_a_token_for_another_audience_or_a_missing_role_answers_401(tmp_path: Path) -> None:
    with azure_client(tmp_path) as azure:
        for audience in (ARM, PROMETHEUS):
            azure.http.headers["Authorization"] = f"Bearer {azure.token(audience)}"
            status, answer = _call(azure.http, "query", query="1+1")
            assert (status, answer["errorType"]) == (401, "unauthorized")


def test_without_a_collection_rule_no_metrics_arrive(tmp_path: Path) -> None:
    with deployed(tmp_path, metrics=False) as found:
        Procedure(found.azure).let_read_metrics(seed.CALLER_ID)
        answer = _call(found.azure.http, "query", query="mem_alloc_bytes_total")[1]
    assert dig(answer, "data", "result") == []
