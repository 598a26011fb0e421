"""Grafana's data sources in use: health, proxy, queries and resources, and what is behind them."""

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from simulator.pyroscope.profile import KV_CACHE_BYTES
from simulator.values import JsonObject, as_list, as_object, as_objects, as_text, dig, texts
from tests.azure_client import azure_client
from tests.simulator.planted import Grafana, age, plant, serving
from tests.simulator.procedure import (
    NOT_REFRESHED,
    PENDING,
    REJECTED,
    Deployed,
    Procedure,
    deployed,
)

TYPE = "process_cpu:malloc:bytes:process_cuda:bytes"
ALLOCATOR = "GPUModelRunner > _allocate_kv_cache_tensors"


def _add_sources(api: Grafana, pyroscope_host: str, query_endpoint: str) -> Grafana:
    """The two sources of a stack."""
    for body in (
        {
            "name": "profiles",
            "uid": "profiles",
            "type": "grafana-pyroscope-datasource",
            "access": "proxy",
            "url": f"http://{pyroscope_host}:4040",
        },
        {
            "name": "metrics",
            "uid": "metrics",
            "type": "prometheus",
            "access": "proxy",
            "url": query_endpoint,
            "jsonData": {"httpMethod": "POST", "azureCredentials": {"authType": "msi"}},
        },
    ):
        assert api.call("POST", "/datasources", body)[0] == 200
    return api


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    with deployed(tmp_path_factory.mktemp("flow")) as found:
        _add_sources(found.grafana, found.private_ip, found.query_endpoint)
        yield found


@pytest.fixture
def grafana(azure: Deployed) -> Grafana:
    return azure.grafana


def _query(api: Grafana, uid: str, **query: object) -> tuple[int, JsonObject]:
    """Status of the whole and the result of one query."""
    asked = {"refId": "A", "datasource": {"uid": uid}, **query}
    body = {"queries": [asked], "from": "now-1h", "to": "now"}
    status, answer = api.call("POST", "/ds/query", body)
    return status, as_object(dig(answer, "results", "A"))


def _profile(api: Grafana, selector: str = "{}", **more: object) -> tuple[int, JsonObject]:
    query: JsonObject = {"queryType": "profile", "profileTypeId": TYPE, "labelSelector": selector}
    return _query(api, "profiles", **(query | more))


def _columns(frame: JsonObject) -> dict[str, list[object]]:
    names = [as_text(field["name"]) for field in as_objects(dig(frame, "schema", "fields"))]
    return dict(zip(names, map(as_list, as_list(dig(frame, "data", "values"))), strict=True))


def test_a_profile_query_answers_a_flame_graph_depth_first(grafana: Grafana) -> None:
    status, result = _profile(grafana)
    (frame,) = as_objects(result["frames"])
    columns = _columns(frame)
    fields = {as_text(field["name"]): field for field in as_objects(dig(frame, "schema", "fields"))}
    names = texts(dig(fields["label"], "config", "type", "enum", "text"))
    labels = [names[int(str(index))] for index in columns["label"]]
    assert (status, result["status"]) == (200, 200)
    assert dig(frame, "schema", "meta", "preferredVisualisationType") == "flamegraph"
    assert dig(fields["value"], "config", "unit") == "bytes"
    assert labels[0] == "total"
    row = labels.index(ALLOCATOR)
    assert (columns["self"][row], columns["value"][row]) == (0, KV_CACHE_BYTES)
    assert columns["value"][0] == sum(int(str(value)) for value in columns["self"])
    levels = [int(str(level)) for level in columns["level"]]
    steps = [after - before for before, after in pairwise(levels)]
    assert all(step <= 1 for step in steps), "a node is followed by its children"


def test_a_profile_query_without_data_answers_one_row(grafana: Grafana) -> None:
    _, result = _profile(grafana, '{k8s_podName="none"}')
    (frame,) = as_objects(result["frames"])
    assert _columns(frame)["value"] == [0]


def test_a_metrics_query_answers_a_frame_a_group(grafana: Grafana) -> None:
    query: JsonObject = {
        "queryType": "metrics",
        "profileTypeId": TYPE,
        "labelSelector": "{}",
        "groupBy": ["k8s_podName"],
    }
    _, result = _query(grafana, "profiles", **query)
    frames = as_objects(result["frames"])
    pods = [dig(as_objects(dig(frame, "schema", "fields"))[1], "labels") for frame in frames]
    assert pods == [{"k8s_podName": name} for name in ("notebook-0", "vllm-0", "vllm-1")]


def test_a_query_that_the_server_refuses_tells_its_message(grafana: Grafana) -> None:
    status, result = _profile(grafana, "{broken")
    assert status == 400
    assert "invalid_argument" in as_text(result["error"])


def test_health_of_both_sources_is_ok(grafana: Grafana) -> None:
    for uid in ("profiles", "metrics"):
        status, answer = grafana.call("GET", f"/datasources/uid/{uid}/health")
        assert (status, answer["status"]) == (200, "OK"), uid


def test_the_proxy_leads_to_pyroscope(grafana: Grafana) -> None:
    now = int(time.time() * 1000)
    path = "/datasources/proxy/uid/profiles/querier.v1.QuerierService/ProfileTypes"
    status, answer = grafana.call("POST", path, {"start": now - 3_600_000, "end": now})
    assert status == 200
    assert [item["ID"] for item in as_objects(answer["profileTypes"])] == [TYPE]
    assert grafana.raw("GET", "/datasources/proxy/uid/profiles/ready").text.strip() == "ready"


def test_resources_of_the_pyroscope_plugin(grafana: Grafana) -> None:
    base = "/datasources/uid/profiles/resources"
    types = grafana.raw("GET", f"{base}/profileTypes").json()
    assert types == [{"id": TYPE, "label": "process_cpu - malloc"}]
    assert "k8s_podName" in grafana.raw("GET", f"{base}/labelNames?query={{}}").json()
    query = '{k8s_podName="vllm-0"}'
    assert "k8s_podName" not in grafana.raw("GET", f"{base}/labelNames?query={query}").json()
    values = grafana.raw("GET", f"{base}/labelValues?label=k8s_podName&query={{}}").json()
    assert values == ["notebook-0", "vllm-0", "vllm-1"]
    assert grafana.raw("GET", f"{base}/nonsense").status_code == 404


def test_an_instant_query_of_a_count(grafana: Grafana) -> None:
    status, result = _query(grafana, "metrics", expr="count(mem_alloc_bytes_total)", instant=True)
    (frame,) = as_objects(result["frames"])
    assert status == 200
    assert _columns(frame)["Value"] == [8.0], "four processes, each as driver and runtime see it"
    assert dig(frame, "schema", "meta", "custom", "resultType") == "vector"


def test_a_range_query_answers_a_frame_a_series(tmp_path: Path) -> None:
    with deployed(tmp_path) as azure:
        _add_sources(azure.grafana, azure.private_ip, azure.query_endpoint)
    age(tmp_path, 600)
    expression = 'sum by (k8s_podname) (mem_alloc_bytes_total{otel_scope_name="libcuda_mem_stats"})'
    with azure_client(tmp_path) as azure:
        api = Grafana(azure, "grafana-dev")
        _, result = _query(api, "metrics", expr=expression, range=True, intervalMs=1000)
    labels = [
        dig(as_objects(dig(frame, "schema", "fields"))[1], "labels", "k8s_podname")
        for frame in as_objects(result["frames"])
    ]
    assert labels == ["notebook-0", "sweep-0", "vllm-0", "vllm-1"]
    times = _columns(as_objects(result["frames"])[0])["Time"]
    assert 35 <= len(times) <= 45, "ten minutes in steps of fifteen seconds"


def test_a_query_beyond_the_understood_part_fails_and_says_so(grafana: Grafana) -> None:
    status, result = _query(grafana, "metrics", expr="rate(x[5m])", instant=True)
    assert (status, result["status"]) == (400, 400)
    assert "does not understand" in as_text(result["error"])


def test_variables_are_read_from_prometheus_through_resources(grafana: Grafana) -> None:
    base = "/datasources/uid/metrics/resources/api/v1"
    answer = grafana.call("GET", f"{base}/label/k8s_podname/values")[1]
    assert answer["data"] == ["notebook-0", "sweep-0", "vllm-0", "vllm-1"]


def test_the_proxy_of_a_managed_identity_source_answers_401(grafana: Grafana) -> None:
    path = "/datasources/proxy/uid/metrics/api/v1/query?query=1"
    assert grafana.raw("GET", path).status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        {"queries": []},
        {"queries": [{"refId": "A"}], "from": "now-1h", "to": "now"},
        {"queries": [{"refId": "A", "datasource": {"uid": "x"}}], "from": "soon", "to": "now"},
    ],
)
def test_a_query_request_that_does_not_fit_answers_400(grafana: Grafana, body: JsonObject) -> None:
    assert grafana.call("POST", "/ds/query", body)[0] == 400


def test_a_query_of_an_unknown_source_answers_404(grafana: Grafana) -> None:
    assert _query(grafana, "nowhere")[0] == 404


def test_without_the_reader_role_results_carry_401_and_health_an_error(tmp_path: Path) -> None:
    with serving(tmp_path, plant(reader=False)) as api:
        _add_sources(api, "10.1.2.3", api.query_endpoint)
        status, result = _query(api, "metrics", expr="1+1", instant=True)
        assert (status, result["status"]) == (400, 401)
        assert "unauthorized" in as_text(result["error"])
        status, answer = api.call("GET", "/datasources/uid/metrics/health")
        assert (status, answer["status"]) == (400, "ERROR")


def test_without_azure_credentials_prometheus_answers_401(azure: Deployed) -> None:
    body: JsonObject = {
        "name": "plain",
        "uid": "plain",
        "type": "prometheus",
        "access": "proxy",
        "url": azure.query_endpoint,
        # The flat form that is often written; only the nested one is read.
        "jsonData": {"azureAuthType": "msi"},
    }
    azure.grafana.call("POST", "/datasources", body)
    assert _query(azure.grafana, "plain", expr="1+1", instant=True)[1]["status"] == 401


def _assert_unreachable(api: Grafana, host: str) -> None:
    status, answer = api.call("GET", "/datasources/uid/profiles/health")
    assert (status, answer["status"]) == (400, "ERROR")
    assert f"{host}:4040" in as_text(answer["message"])
    status, result = _profile(api)
    assert status == 400
    assert "dial tcp" in as_text(result["error"])
    assert api.raw("GET", "/datasources/proxy/uid/profiles/ready").status_code == 502


@pytest.mark.parametrize("link", [PENDING, REJECTED, NOT_REFRESHED])
def test_without_an_approved_and_refreshed_link_there_is_no_address_to_reach(
    tmp_path: Path, link: str
) -> None:
    with deployed(tmp_path, link=link) as azure:
        assert azure.private_ip == ""
        _add_sources(azure.grafana, azure.private_ip, azure.query_endpoint)
        _assert_unreachable(azure.grafana, "")


def test_a_wrong_address_leads_nowhere(tmp_path: Path) -> None:
    with deployed(tmp_path) as azure:
        _add_sources(azure.grafana, "10.99.99.99", azure.query_endpoint)
        _assert_unreachable(azure.grafana, "10.99.99.99")


def test_a_link_that_is_rejected_later_no_longer_leads_to_pyroscope(tmp_path: Path) -> None:
    with deployed(tmp_path) as azure:
        _add_sources(azure.grafana, azure.private_ip, azure.query_endpoint)
        assert azure.grafana.call("GET", "/datasources/uid/profiles/health")[0] == 200
        Procedure(azure.azure).decide("Rejected")
        _assert_unreachable(azure.grafana, azure.private_ip)
