"""Profiles asked for over HTTP, from servers that answer as Pyroscope and Grafana do."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.http import Request, Response
from simulator.pyroscope.limits import Limits, ServerLimits
from tests.flamegraphs.command import Done, called
from tests.flamegraphs.server import (
    NEW_TYPE,
    OLD_TYPE,
    Answer,
    always,
    grafana,
    identity,
    pyroscope,
    serving,
    without_merged_profiles,
)

KV_CACHE = "GPUModelRunner._allocate_kv_cache_tensors"
RUNNING = (NEW_TYPE, -1_800.0, None)


def ask(answer: Answer, *arguments: str) -> Done:
    with serving(answer) as (url, _):
        return called("hotspots", "--pyroscope", url, *arguments)


def first_row(done: Done) -> list[str]:
    lines = done.out.splitlines()
    return lines[next(n for n, line in enumerate(lines) if line.endswith("function")) + 1].split()


@pytest.mark.parametrize("kind", [OLD_TYPE, NEW_TYPE])
def test_the_type_of_either_agent_is_found_and_its_largest_allocation_comes_first(
    kind: str,
) -> None:
    done = ask(pyroscope((kind, -1_800.0, None)))
    assert done.status == 0, done.error
    assert first_row(done)[:2] == ["55.1", "GB"]
    assert first_row(done)[-1] == KV_CACHE
    assert f"profile type  {kind}" in done.out
    assert "truncated     no" in done.out


def test_profiles_of_an_agent_before_and_after_its_update_are_added_up() -> None:
    both = ask(pyroscope((OLD_TYPE, -3_000.0, -2_000.0), RUNNING), "--json")
    answer = json.loads(both.out)
    assert answer["functions"][0]["attributedSelf"] == 2 * 55_100_000_000
    assert answer["facts"]["profile type"] == f"{OLD_TYPE} + {NEW_TYPE}"


def test_one_type_can_be_asked_for_by_its_id() -> None:
    server = pyroscope((OLD_TYPE, -3_000.0, -2_000.0), RUNNING)
    answer = json.loads(ask(server, "--json", "--profile-type", OLD_TYPE).out)
    assert answer["functions"][0]["attributedSelf"] == 55_100_000_000


@pytest.mark.parametrize(
    ("filters", "name", "selector"),
    [
        (["--pod", "vllm-1"], "QKVParallelLinear.create_weights", '{k8s_podName="vllm-1"}'),
        (["--namespace", "research"], "Tensor.to", '{k8s_namespace="research"}'),
        (["--process", "python3"], "Tensor.to", '{proc_comm="python3"}'),
        (
            ["--selector", 'k8s_namespace="inference"', "--pod", "vllm-1"],
            "QKVParallelLinear.create_weights",
            '{k8s_namespace="inference",k8s_podName="vllm-1"}',
        ),
    ],
)
def test_filters_narrow_the_query(filters: list[str], name: str, selector: str) -> None:
    done = ask(pyroscope(RUNNING), *filters)
    assert first_row(done)[-1] == name
    assert selector in done.out


def test_a_filter_value_cannot_leave_its_quotes() -> None:
    done = ask(pyroscope(RUNNING), "--pod", 'x",proc_comm=~".*')
    assert done.status == 6


def test_a_window_longer_than_a_day_is_asked_for_in_pieces() -> None:
    with serving(pyroscope((NEW_TYPE, -50 * 3_600.0, None))) as (url, asked):
        done = called(
            "hotspots", "--pyroscope", url, "--from", "now-3d", "--pod", "vllm-0", "--json"
        )
    assert json.loads(done.out)["functions"][0]["attributedSelf"] == 55_100_000_000
    merged = [r for r in asked.requests if r.path.endswith("SelectMergeProfile")]
    assert len(merged) == 3
    progress = done.error.splitlines()
    assert [line.partition(":")[0] for line in progress] == [
        f"reading part {number} of 3" for number in (1, 2, 3)
    ]


def test_no_more_is_asked_for_than_the_server_looks_back_to() -> None:
    with serving(pyroscope(RUNNING)) as (url, asked):
        done = called("hotspots", "--pyroscope", url, "--from", "now-29d", "--json")
    answer = json.loads(done.out)
    (note,) = [one for one in answer["warnings"] if "Asked for" in one]
    assert re.search(
        r"Asked for .* \(29 d\); .* looks back 7 d \(limits.max_query_lookback\)", note
    )
    assert "This is " in note
    merged = [r for r in asked.requests if r.path.endswith("SelectMergeProfile")]
    assert len(merged) == 7


@pytest.mark.parametrize(
    "limits",
    [
        ServerLimits(Limits(query_lookback=0)),
        ServerLimits(Limits(), Limits(query_lookback=32 * 86400)),
    ],
)
def test_a_server_that_looks_back_as_far_is_asked_for_all_of_it(limits: ServerLimits) -> None:
    begun = -20 * 86400.0
    with serving(pyroscope((NEW_TYPE, begun, begun + 60), limits=limits)) as (url, _):
        done = called("hotspots", "--pyroscope", url, "--from", "now-29d")
    assert done.status == 0
    assert "GPUModelRunner._allocate_kv_cache_tensors" in done.out
    assert "looks back" not in done.out


def test_a_window_that_is_wholly_out_of_reach_says_so() -> None:
    done = ask(pyroscope(RUNNING), "--from", "now-29d", "--until", "now-20d")
    assert done.status == 6
    assert "looks back 7 d" in done.error
    assert "nothing of it is in reach" in done.error


def test_a_server_that_does_not_show_its_limits_is_asked_and_what_may_be_missing_is_said() -> None:
    answer = pyroscope(RUNNING)

    def silent(request: Request) -> Response:
        hidden = request.path in ("/api/v1/status/config", "/runtime_config")
        return Response(404, b"") if hidden else answer(request)

    assert "Note: A Pyroscope answers from the last 7 d " in ask(silent, "--from", "now-29d").out
    assert "may be missing" not in ask(silent, "--from", "now-6d").out


def test_a_server_without_merged_profiles_is_asked_for_its_flame_graph() -> None:
    server = pyroscope(RUNNING)
    whole = json.loads(ask(server, "--json").out)
    graph = json.loads(ask(without_merged_profiles(server), "--json").out)
    assert graph["functions"] == whole["functions"]
    assert "SelectMergeProfile" in " ".join(graph["warnings"])


def test_windows_are_compared() -> None:
    with serving(pyroscope(RUNNING)) as (url, _):
        source = ["--pyroscope", url]
        done = called("diff", *source, "@now-20m..now-10m", "@now-40m..now-20m", "--json")
        gate = called(
            *("diff", *source, "@now-20m..now-10m", "@now-40m..now-20m"),
            *("--fail-on-growth", "10GB"),
        )
    assert json.loads(done.out)["changes"][0]["name"] == KV_CACHE
    assert gate.status == 8
    assert f"Most of it: {KV_CACHE}, +55.1 GB" in gate.error


def test_selectors_are_compared() -> None:
    with serving(pyroscope(RUNNING)) as (url, _):
        done = called(
            *("diff", "--pyroscope", url, "--json"),
            '{k8s_podName="vllm-1"}',
            '{k8s_podName="vllm-0"}@now-40m..now',
        )
    answer = json.loads(done.out)
    assert answer["before"]["facts"]["selector"] == '{k8s_podName="vllm-1"}'
    assert "(40 min)" in answer["after"]["facts"]["window"]
    assert answer["changes"][0]["name"] == KV_CACHE


# ---- failures that look alike from afar, each with its own message and status ----


def test_a_server_that_nobody_runs_is_unreachable() -> None:
    done = called("hotspots", "--pyroscope", "http://127.0.0.1:1")
    assert done.status == 3
    assert "cannot be reached" in done.error


@pytest.mark.parametrize(
    "answer",
    [
        always(404, b"404 page not found"),
        always(200, b"<html>hello</html>"),
        always(502, b"Bad Gateway"),
    ],
)
def test_a_server_that_is_no_pyroscope_is_unreachable(answer: Answer) -> None:
    done = ask(answer)
    assert done.status == 3
    assert "not a Pyroscope" in done.error or "not answer like Pyroscope" in done.error


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_not_authorised(status: int) -> None:
    done = ask(always(status, {"code": "unauthenticated", "message": "no org id"}))
    assert done.status == 4
    assert "no org id" in done.error


def test_a_server_that_never_got_a_profile_has_no_such_type() -> None:
    done = ask(pyroscope())
    assert done.status == 5
    assert "it has none at all" in done.error
    assert "agent" in done.error


def test_another_type_is_not_taken_for_the_wanted_one() -> None:
    done = ask(pyroscope(RUNNING), "--profile-type", "process_cpu:cpu:nanoseconds:cpu:nanoseconds")
    assert done.status == 5
    assert NEW_TYPE in done.error


def test_a_window_before_the_first_profile_has_no_samples() -> None:
    done = ask(pyroscope(RUNNING), "--from", "now-3h", "--until", "now-2h")
    assert done.status == 6
    assert "none from" in done.error


def test_a_selector_that_selects_nothing_has_no_samples() -> None:
    done = ask(pyroscope(RUNNING), "--pod", "gone-0")
    assert done.status == 6
    assert '{k8s_podName="gone-0"}' in done.error


def test_a_query_the_server_does_not_understand_is_the_users_to_change() -> None:
    done = ask(pyroscope(RUNNING), "--selector", "{a=}")
    assert done.status == 2
    assert "does not accept the query" in done.error


def test_an_error_of_the_server_is_said_in_its_own_words() -> None:
    done = ask(always(500, {"code": "internal", "message": "head\x1b[2J block is gone"}))
    assert done.status == 1
    assert "head [2J block is gone" in done.error


def test_an_answer_that_is_no_profile_is_not_the_users_fault() -> None:
    server = pyroscope(RUNNING)

    def broken(request: Request) -> Response:
        nonsense = request.path.endswith("SelectMergeProfile")
        return always(200, b"nonsense")(request) if nonsense else server(request)

    done = ask(broken)
    assert done.status == 3
    assert "not a profile" in done.error


# ---- through Grafana, with the user's Azure credentials ----


@pytest.fixture
def azure(tmp_path: Path) -> Iterator[dict[str, str]]:
    with serving(identity) as (url, _):
        yield {
            "IDENTITY_ENDPOINT": url + "/token",
            "IDENTITY_HEADER": "any",
            "AZURE_TOKEN_CREDENTIALS": "ManagedIdentityCredential",
            "ARM_USE_MSI": "true",
            "SSL_CERT_FILE": str(tmp_path / "ca.pem"),
        }


def test_the_table_through_grafana_is_that_of_pyroscope(
    azure: dict[str, str], tmp_path: Path
) -> None:
    with serving(grafana("pyro", pyroscope(RUNNING)), tmp_path / "ca.pem") as (url, _):
        done = called("hotspots", "--grafana", url, "--data-source", "pyro", env=azure)
    assert done.status == 0, done.error
    assert first_row(done)[-1] == KV_CACHE
    assert "data source pyro of https://" in done.out


def test_the_identity_that_deployed_is_the_one_that_reads(
    azure: dict[str, str], tmp_path: Path
) -> None:
    """``ARM_*`` variables choose it, as for Pulumi's Azure provider, whatever the chain would."""
    with (
        serving(identity) as (identity_url, identity_asked),
        serving(grafana("pyro", pyroscope(RUNNING)), tmp_path / "ca.pem") as (url, _),
    ):
        env = azure | {
            "IDENTITY_ENDPOINT": identity_url + "/token",
            "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
            "ARM_USE_MSI": "true",
            "ARM_CLIENT_ID": "the-deployer",
        }
        done = called("hotspots", "--grafana", url, "--data-source", "pyro", env=env)
    assert done.status == 0, done.error
    assert identity_asked.requests[0].query["client_id"] == "the-deployer"


def test_the_token_is_for_the_audience_that_the_operations_ask_for_too(
    azure: dict[str, str], tmp_path: Path
) -> None:
    with (
        serving(identity) as (identity_url, identity_asked),
        serving(grafana("pyro", pyroscope(RUNNING)), tmp_path / "ca.pem") as (url, _),
    ):
        env = azure | {
            "IDENTITY_ENDPOINT": identity_url + "/token",
            "GPUOBS_GRAFANA_AUDIENCE": "https://grafana.sovereign.example",
        }
        done = called("hotspots", "--grafana", url, "--data-source", "pyro", env=env)
    assert done.status == 0, done.error
    assert identity_asked.requests[0].query["resource"] == "https://grafana.sovereign.example"


def test_no_credential_at_all_is_not_authorised(tmp_path: Path) -> None:
    env = {
        "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
        "SSL_CERT_FILE": str(tmp_path / "ca.pem"),
    }
    with serving(grafana("pyro", pyroscope(RUNNING)), tmp_path / "ca.pem") as (url, asked):
        done = called("hotspots", "--grafana", url, "--data-source", "pyro", env=env)
    assert done.status == 4
    assert "az login" in done.error
    assert not asked.requests


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (always(403, {"message": "no access"}), 4, "Grafana Viewer"),
        (always(302, b"", {"Location": "/login"}), 4, "Grafana Viewer"),
        (always(404, {"message": "Data source not found"}), 3, "data source's uid"),
        (always(502, b""), 3, "private endpoint"),
    ],
)
def test_what_grafana_refuses_is_distinguished(
    azure: dict[str, str], tmp_path: Path, answer: Answer, status: int, words: str
) -> None:
    with serving(answer, tmp_path / "ca.pem") as (url, _):
        done = called("hotspots", "--grafana", url, "--data-source", "pyro", env=azure)
    assert done.status == status
    assert words in done.error


# ---- a stack's outputs ----


def pulumi_saying(folder: Path, script: str) -> dict[str, str]:
    """A `pulumi` of this behaviour, first on PATH."""
    folder.mkdir()
    command = folder / "pulumi"
    command.write_text("#!/bin/sh\n" + script)
    command.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_a_stack_names_its_grafana_and_data_source(azure: dict[str, str], tmp_path: Path) -> None:
    with serving(grafana("pyro", pyroscope(RUNNING)), tmp_path / "ca.pem") as (url, _):
        outputs = json.dumps({"grafanaEndpoint": url, "dataSourceUids": {"pyroscope": "pyro"}})
        script = f"""
            [ "$*" = "stack output --json --non-interactive --stack dev" ] || exit 9
            echo '{outputs}'
        """
        path = pulumi_saying(tmp_path / "bin", script)
        done = called("hotspots", "--stack", "dev", env={**azure, **path})
    assert done.status == 0, done.error
    assert first_row(done)[-1] == KV_CACHE


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo '{}'", 1, "pulumi up --stack dev"),
        ("echo nonsense", 1, "other than JSON"),
        ("echo \"error: no stack named 'dev' found\" >&2; exit 255", 2, "no stack named 'dev'"),
    ],
)
def test_a_stack_without_outputs_is_explained(
    tmp_path: Path, script: str, status: int, words: str
) -> None:
    done = called("hotspots", "--stack", "dev", env=pulumi_saying(tmp_path / "bin", script))
    assert done.status == status
    assert words in done.error


def test_a_machine_without_pulumi_sees_what_to_do(tmp_path: Path) -> None:
    done = called("hotspots", "--stack", "dev", env={"PATH": str(tmp_path)})
    assert done.status == 1
    assert re.search(r"`pulumi` command.*--grafana", done.error)
