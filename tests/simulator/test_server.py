"""The simulator's process: faults, time, restarts, identity, and what it reports of itself."""

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from simulator import requests
from simulator.__main__ import main as simulate
from simulator.clock import Clock
from simulator.faults import FaultPlan, FaultPlanError
from simulator.values import JsonObject, as_integer, as_list, as_object, as_objects, as_text, dig
from simulator.world import World
from tests.simulator.azure import CLUSTER, ENDPOINT, GRAFANA, POOL, Azure, Kubernetes, azure_on

READ_CLUSTER: JsonObject = {"service": "arm", "method": "GET", "path": ".*/managedClusters/aks-dev"}


def plan(azure: Azure, *rules: JsonObject) -> None:
    azure.settings(faults=list(rules))


# --- faults ---------------------------------------------------------------------------------------


def test_a_fault_strikes_the_nth_call_for_as_often_as_it_says(azure: Azure) -> None:
    plan(azure, {**READ_CLUSTER, "from": 2, "count": 2, "then": {"status": 503}})
    statuses = [azure.call("GET", CLUSTER).status_code for _ in range(5)]
    assert statuses == [200, 503, 503, 200, 200]


def test_a_fault_without_count_strikes_once_and_with_null_for_ever(azure: Azure) -> None:
    plan(azure, {**READ_CLUSTER, "then": {"status": 429, "headers": {"Retry-After": "7"}}})
    first = azure.call("GET", CLUSTER)
    assert (first.status_code, first.headers["Retry-After"]) == (429, "7")
    assert azure.call("GET", CLUSTER).status_code == 200
    plan(azure, {**READ_CLUSTER, "count": None, "then": {"status": 500, "body": {"a": 1}}})
    assert {azure.call("GET", CLUSTER).text for _ in range(3)} == {'{"a":1}'}


def test_the_first_rule_that_matches_wins(azure: Azure) -> None:
    plan(
        azure,
        {**READ_CLUSTER, "then": {"status": 500}},
        {"service": "arm", "count": None, "then": {"status": 502}},
    )
    assert azure.call("GET", CLUSTER).status_code == 500
    assert azure.call("GET", CLUSTER).status_code == 502


def test_a_path_is_matched_whole_without_case_and_query(azure: Azure) -> None:
    plan(azure, {"path": ".*/MANAGEDCLUSTERS/AKS-DEV", "then": {"status": 500}})
    assert azure.call("GET", f"{CLUSTER}/agentPools").status_code == 200
    assert azure.call("GET", CLUSTER).status_code == 500


def test_a_call_is_dropped_before_or_after_the_service_acted(azure: Azure) -> None:
    body = {"properties": {"count": 1, "vmSize": "Standard_NC24ads_A100_v4"}}
    for when, expected in (("before", 404), ("after", 200)):
        plan(azure, {"method": "PUT", "then": {"drop": when}})
        with pytest.raises(httpx.RemoteProtocolError):
            azure.call("PUT", POOL, body)
        assert azure.call("GET", POOL).status_code == expected


def test_an_operation_ends_as_the_rule_says(azure: Azure) -> None:
    error = {"code": "Boom", "message": "made to fail"}
    plan(azure, {"method": "PUT", "then": {"operation": {"status": "Failed", "error": error}}})
    body = {"properties": {"count": 1, "vmSize": "Standard_NC24ads_A100_v4"}}
    answer = azure.call("PUT", POOL, body)
    document = azure.follow(answer.headers["Azure-AsyncOperation"])
    assert (document["status"], document["error"]) == ("Failed", error)
    assert dig(azure.get(POOL), "properties", "provisioningState") == "Failed"


def test_a_helm_release_fails_as_the_rule_says(azure: Azure) -> None:
    rule: JsonObject = {"service": "kubernetes", "method": "PUT", "path": ".*/releases/.*"}
    error = {"code": "Boom", "message": "made to fail"}
    plan(azure, {**rule, "then": {"operation": {"status": "Failed", "error": error}}})
    kubernetes = Kubernetes(azure)
    kubernetes.make_namespace()
    failed = kubernetes.release()
    assert (failed["status"], failed["message"]) == ("failed", "made to fail")
    assert kubernetes.release(upgrade=True)["status"] == "deployed"


def test_a_delay_lets_simulated_time_pass(azure: Azure) -> None:
    before = as_integer(azure.advance()["now"])
    plan(azure, {**READ_CLUSTER, "then": {"delay": 45}})
    assert azure.call("GET", CLUSTER).status_code == 200
    after = as_integer(azure.advance()["now"])
    assert after - before == 45


def test_a_patch_changes_the_answer_and_not_the_world(azure: Azure) -> None:
    changes = {"properties": {"powerState": {"code": "Stopped"}}}
    plan(azure, {**READ_CLUSTER, "then": {"patch": changes}})
    assert dig(azure.get(CLUSTER), "properties", "powerState", "code") == "Stopped"
    assert dig(azure.get(CLUSTER), "properties", "powerState", "code") == "Running"


def test_a_rule_can_ask_for_the_query_the_caller_and_the_phase(azure: Azure) -> None:
    def status(**headers: str) -> int:
        return azure.http.get(
            CLUSTER, params={"api-version": "2025-09-01"}, headers=headers
        ).status_code

    plan(azure, {**READ_CLUSTER, "query": "api-version=2025-09", "then": {"status": 500}})
    assert azure.call("GET", CLUSTER, **{"api-version": "2025-08-01"}).status_code != 500
    assert status() == 500
    plan(azure, {**READ_CLUSTER, "caller": "GPUOBS", "then": {"status": 500}})
    assert status() == 200
    assert status(**{"User-Agent": "gpuobs (observe)"}) == 500
    plan(azure, {**READ_CLUSTER, "phase": "destroy", "then": {"status": 500}})
    assert status() == 200
    azure.settings(phase="destroy")
    assert status() == 500


def test_an_error_can_follow_the_act(azure: Azure) -> None:
    body = {"properties": {"count": 1, "vmSize": "Standard_NC24ads_A100_v4"}}
    plan(azure, {"method": "PUT", "then": {"status": 500, "acted": True}})
    assert azure.call("PUT", POOL, body).status_code == 500
    assert azure.call("GET", POOL).status_code == 200


def test_any_bytes_can_be_answered(azure: Azure) -> None:
    plan(azure, {**READ_CLUSTER, "then": {"status": 200, "base64": "//4A"}})
    assert azure.call("GET", CLUSTER).content == b"\xff\xfe\x00"


def test_an_answer_can_be_cut_in_its_middle(azure: Azure) -> None:
    plan(azure, {**READ_CLUSTER, "then": {"cut": 0.5}})
    with pytest.raises(httpx.TransportError):
        azure.call("GET", CLUSTER)
    assert azure.call("GET", CLUSTER).status_code == 200


def test_an_answer_can_be_compressed_badly(azure: Azure) -> None:
    plan(azure, {**READ_CLUSTER, "then": {"encoding": "gzip"}})
    with pytest.raises(httpx.DecodingError):
        azure.call("GET", CLUSTER)


def test_a_call_can_be_kept_waiting_before_and_after_the_act(azure: Azure) -> None:
    for kind in ("wait", "hold"):
        plan(azure, {**READ_CLUSTER, "then": {kind: 0.05}})
        began = time.monotonic()
        assert azure.call("GET", CLUSTER).status_code == 200
        assert time.monotonic() - began >= 0.05


def test_an_answer_is_held_until_there_is_another_plan(azure: Azure) -> None:
    plan(azure, {**READ_CLUSTER, "then": {"hold": 60}})
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(azure.call, "GET", CLUSTER)
        while not as_list(as_object(azure.control("GET", "faults"))["used"]):
            time.sleep(0.01)
        plan(azure)
        assert held.result().status_code == 200


def test_an_operation_may_never_end(azure: Azure) -> None:
    body = {"properties": {"count": 1, "vmSize": "Standard_NC24ads_A100_v4"}}
    plan(azure, {"method": "PUT", "then": {"operation": {"status": "InProgress"}}})
    polled = azure.call("PUT", POOL, body).headers["Azure-AsyncOperation"]
    azure.advance(100_000)
    assert azure.http.get(polled).json()["status"] == "InProgress"
    # Nobody else has to wait for it.
    assert azure.call("GET", CLUSTER).status_code == 200


def test_every_request_is_logged_with_its_sender_phase_and_fault_and_no_token(
    azure: Azure,
) -> None:
    azure.reset()
    azure.settings(phase="first")
    azure.call("GET", CLUSTER)
    plan(azure, {**READ_CLUSTER, "then": {"drop": "before"}})
    with pytest.raises(httpx.RemoteProtocolError):
        azure.call("GET", CLUSTER)
    log = [one for one in requests.read(azure.server.home) if one.service == "arm"]
    assert [(one.method, one.path, one.phase, one.status, one.fault) for one in log] == [
        ("GET", CLUSTER, "first", 200, ""),
        ("GET", CLUSTER, "first", 0, "drop"),
    ]
    assert log[0].caller.startswith("python-httpx/")
    assert "api-version=" in log[0].query
    assert azure.token() not in (azure.server.home / requests.FILE).read_text()
    shown = requests.table(log)
    assert "200" in shown[0]
    assert shown[1].endswith("[drop]")


def test_the_log_is_printed_for_a_person_also_when_the_simulator_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIM_HOME", str(tmp_path))
    assert simulate(["--requests"]) == 0
    assert capsys.readouterr().out == ""
    (tmp_path / "azure").mkdir()
    log = requests.RequestLog(tmp_path / "azure")
    call = {"service": "arm", "method": "GET", "path": "/x", "query": "a=b", "caller": "gpuobs (y)"}
    log.add(requests.Entry(at=12.0, phase="up", status=0, fault="drop", **call))
    log.close()
    assert simulate(["--requests"]) == 0
    assert capsys.readouterr().out.split() == [
        "12",
        "s",
        "---",
        "gpuobs",
        "GET",
        "/x?a=b",
        "[drop]",
    ]


def test_a_state_can_be_gone_back_to(azure: Azure) -> None:
    before, kept = azure.inspect(), azure.control("GET", "world")
    azure.arm("DELETE", GRAFANA, "2024-10-01")
    assert GRAFANA not in as_object(azure.inspect()["resources"])
    azure.control("POST", "world", kept)
    assert as_object(azure.inspect()["resources"]) == as_object(before["resources"])
    assert azure.http.post("/simulator/world", json={}).status_code == 400


def test_used_and_unused_rules_are_reported(azure: Azure) -> None:
    unused: JsonObject = {"service": "grafana", "then": {"status": 500}}
    plan(azure, {**READ_CLUSTER, "then": {"status": 500}}, unused)
    azure.call("GET", CLUSTER)
    report = as_object(azure.control("GET", "faults"))
    assert [item["struck"] for item in as_objects(report["used"])] == [1]
    assert report["unused"] == [unused]


@pytest.mark.parametrize(
    "wrong",
    [
        {"then": {"status": 500}, "when": 1},
        {"then": {"status": 500, "delay": 1}},
        {"then": {"status": 9}},
        {"then": {}},
        {"then": {"drop": "later"}},
        {"then": {"operation": {"state": "Failed"}}},
        {"path": "(", "then": {"status": 500}},
        {"service": "dns", "then": {"status": 500}},
        {"from": 0, "then": {"status": 500}},
        {"count": True, "then": {"status": 500}},
        {"query": "(", "then": {"status": 500}},
        {"phase": 1, "then": {"status": 500}},
        {"then": {"status": 500, "body": {}, "text": ""}},
        {"then": {"status": 500, "base64": "%"}},
        {"then": {"status": 500, "acted": "yes"}},
        {"then": {"cut": 1}},
        {"then": {"encoding": "br"}},
        {"then": {"hold": -1}},
        {},
        [],
    ],
)
def test_a_plan_that_means_nothing_is_an_error(wrong: object) -> None:
    with pytest.raises(FaultPlanError):
        FaultPlan.parse([wrong])


def test_a_wrong_plan_ends_the_simulator_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text('[{"then": {"status": 500}, "whne": 1}]')
    command = [sys.executable, "-m", "simulator.server", "--home", str(tmp_path / "home")]
    ended = subprocess.run(
        [*command, "--faults", str(file)], capture_output=True, text=True, check=False
    )
    assert ended.returncode != 0
    assert "unknown key whne" in ended.stderr
    assert "Traceback" not in ended.stderr


# --- time -----------------------------------------------------------------------------------------


def test_operations_end_in_simulated_order_however_late_one_looks() -> None:
    wall = [0.0]
    world = World(Clock(1.0, wall=lambda: wall[0]))
    ended: list[tuple[str, float]] = []

    def finish(kind: str) -> None:
        ended.append((kind, world.now))
        if kind == "first":
            world.start("test", "after-first", "x", 10)

    world.register("test", lambda operation: finish(operation.kind))
    world.start("test", "second", "y", 50)
    world.start("test", "first", "x", 20)
    assert not ended
    wall[0] = 100
    world.advance()
    assert ended == [("first", 20), ("after-first", 30), ("second", 50)]
    assert world.now == 100


def test_with_factor_zero_the_clock_jumps_to_what_is_due() -> None:
    world = World(Clock(0))
    world.register("test", lambda operation: None)
    world.start("test", "wait", "x", 3600)
    world.advance()
    assert world.now == 3600
    assert world.running("x") is None


def test_the_timeline_tells_every_step_with_its_own_seconds(azure: Azure) -> None:
    kubernetes = Kubernetes(azure)
    kubernetes.make_namespace()
    kubernetes.release()
    steps = as_objects(azure.control("GET", "timeline"))
    seconds = {as_text(step["handler"]): step["seconds"] for step in steps}
    assert seconds["cloud-controller:load-balancer"] == 30
    assert seconds["arm:Microsoft.Network/privateLinkServices"] == 40
    (link,) = [step for step in steps if "privatelinkservices" in as_text(step["target"])]
    assert link["started"] == 30


def test_nothing_is_done_before_its_time(azure: Azure) -> None:
    azure.settings(latency=100)
    body = {"properties": {"count": 1, "vmSize": "Standard_NC24ads_A100_v4"}}
    assert azure.call("PUT", POOL, body).status_code == 201
    assert dig(azure.get(POOL), "properties", "provisioningState") == "Creating"
    azure.advance(299)
    assert dig(azure.get(POOL), "properties", "provisioningState") == "Creating"
    azure.advance(1)
    assert dig(azure.get(POOL), "properties", "provisioningState") == "Succeeded"
    azure.settings(latency=0)


# --- the process ----------------------------------------------------------------------------------


def test_a_restart_goes_on_with_the_same_world_on_the_same_ports(tmp_path: Path) -> None:
    with azure_on(tmp_path) as azure:
        Kubernetes(azure).make_namespace()
        Kubernetes(azure).release()
        azure.make_endpoint()
        azure.decide("Approved")
        before = azure.inspect()
        token, url = azure.token(), azure.server.arm_url
    with azure_on(tmp_path) as azure:
        assert azure.server.arm_url == url
        after = azure.inspect()
        assert {**after, "calls": 0} == {**before, "calls": 0}
        azure.http.headers["Authorization"] = f"Bearer {token}"
        azure.refresh()
        assert dig(azure.get(ENDPOINT), "properties", "connectionState", "status") == "Approved"


def test_an_operation_under_way_is_finished_after_a_restart(tmp_path: Path) -> None:
    with azure_on(tmp_path, latency=100) as azure:
        body = {"properties": {"count": 1, "vmSize": "Standard_NC24ads_A100_v4"}}
        url = azure.call("PUT", POOL, body).headers["Azure-AsyncOperation"]
    with azure_on(tmp_path) as azure:
        assert azure.follow(url)["status"] == "Succeeded"
        assert dig(azure.get(POOL), "properties", "provisioningState") == "Succeeded"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_simulator_quietly(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "simulator.server", "--home", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "server.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert not (tmp_path / "server.json").exists()
    assert (tmp_path / "world.json").exists()


def test_the_simulator_ends_with_the_process_that_wanted_it(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    command = [sys.executable, "-m", "simulator.server", "--home", str(tmp_path)]
    server = subprocess.Popen([*command, "--parent", str(parent.pid)])
    while not (tmp_path / "server.json").exists():
        assert server.poll() is None
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    assert server.wait(timeout=30) == 0


def test_two_simulators_do_not_share_a_home(tmp_path: Path) -> None:
    with azure_on(tmp_path):
        command = [sys.executable, "-m", "simulator.server", "--home", str(tmp_path)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode != 0
        assert "another simulator is running" in ended.stderr


def test_reset_forgets_everything_and_counts_calls_anew(azure: Azure) -> None:
    before = azure.inspect()
    azure.add_pool()
    azure.reset()
    after = azure.inspect()
    assert set(as_object(after["resources"])) == set(as_object(before["resources"]))
    assert as_integer(after["calls"]) <= 1


def test_inspect_has_the_shape_that_reports_compare(azure: Azure) -> None:
    Kubernetes(azure).make_namespace()
    Kubernetes(azure).release()
    shown = azure.inspect()
    assert sorted(shown) == ["calls", "grafana", "kubernetes", "resources"]
    assert list(as_object(shown["grafana"])) == ["grafana-dev"]
    assert sorted(as_object(dig(shown, "grafana", "grafana-dev"))) == [
        "dashboards",
        "dataSources",
        "folders",
    ]
    cluster = as_object(dig(shown, "kubernetes", CLUSTER.lower()))
    assert "gadget" in as_list(cluster["namespaces"])
    assert [item["name"] for item in as_objects(cluster["releases"])] == ["pyroscope"]
    services = [item["name"] for item in as_objects(cluster["services"])]
    assert services == ["pyroscope", "pyroscope-headless", "pyroscope-memberlist"]
    resources = as_object(shown["resources"])
    assert resources[GRAFANA] == azure.arm("GET", GRAFANA, "2025-08-01")
    assert list(resources) == sorted(resources, key=str.lower)


def test_inspect_shows_no_secret(azure: Azure) -> None:
    kubernetes = Kubernetes(azure)
    assert kubernetes.token
    assert kubernetes.token not in json.dumps(azure.inspect())


# --- identity -------------------------------------------------------------------------------------


def test_the_identity_wants_its_header_and_a_resource(azure: Azure) -> None:
    url = azure.server.identity_url
    query = {"api-version": "2019-08-01", "resource": "https://management.azure.com"}
    header = {"X-IDENTITY-HEADER": azure.server.environment["IDENTITY_HEADER"]}
    assert httpx.get(url, params=query, trust_env=False).status_code == 401
    answer = httpx.get(url, params=query, headers=header, trust_env=False)
    assert answer.json()["resource"] == query["resource"]
    assert float(answer.json()["expires_on"]) > time.time() + 3600
    del query["resource"]
    assert httpx.get(url, params=query, headers=header, trust_env=False).status_code == 400


def test_a_machine_without_identity_gets_that_answer(azure: Azure) -> None:
    azure.settings(caller="")
    answer = httpx.get(
        azure.server.identity_url,
        params={"api-version": "2019-08-01", "resource": "x"},
        headers={"X-IDENTITY-HEADER": azure.server.environment["IDENTITY_HEADER"]},
        trust_env=False,
    )
    assert answer.status_code == 400
    assert sorted(answer.json()) == ["message", "statusCode"]


def test_a_forged_token_is_not_good(azure: Azure) -> None:
    head, body, signature = azure.token().split(".")
    for token in (f"{head}.{body}.{signature[::-1]}", "nonsense"):
        headers = {"Authorization": f"Bearer {token}"}
        answer = azure.http.get(f"{CLUSTER}?api-version=2025-09-01", headers=headers)
        assert answer.status_code == 401


def test_an_unknown_setting_is_an_error(azure: Azure) -> None:
    with pytest.raises(AssertionError, match="unknown setting"):
        azure.settings(color="red")


@pytest.mark.parametrize("text", ["{", '{"clusters": {"a": {"moons": 1}}}'])
def test_a_state_that_cannot_be_read_is_named_with_the_way_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "world.json").write_text(text)
    command = [sys.executable, "-m", "simulator.server", "--home", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "simulate --reset" in ended.stderr
    assert "Traceback" not in ended.stderr
