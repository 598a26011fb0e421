"""The signal check: each link of the chain broken once, in the world itself, and named."""

from dataclasses import dataclass

import pytest

from contract.messages.base import Verb
from contract.messages.signal import Link, LinkReport, Signal, SignalRequest
from operations.errors import ExitCode
from simulator.arm.roles import ROLE_ASSIGNMENTS
from simulator.values import JsonObject, as_objects, as_text, dig
from tests.operations.conftest import (
    CLUSTER_ID,
    GRAFANA_ID,
    WORKSPACE_ID,
    Azure,
    Operations,
    assert_says,
)
from tests.simulator.procedure import EXTENSION, Procedure

OWNER: JsonObject = {"cluster": CLUSTER_ID.lower(), "project": "gpuobs", "stack": "dev"}
PYROSCOPE, PROMETHEUS = "local-pyroscope", "amw-dev"


@dataclass
class Deployment:
    """The procedure's steps on the simulated Azure, and the sources that the stack would make."""

    azure: Azure
    operations: Operations
    steps: Procedure

    def deploy(
        self, *, agent: str = "0.54.1", server: str = "1.15.0", metrics: bool = True
    ) -> "Deployment":
        """Everything, up to the data sources."""
        self.steps.add_gpu_pool()
        if agent:
            self.steps.install_agent(agent)
        self.steps.install_pyroscope(server)
        self.steps.connect()
        self.steps.decide("Approved")
        address = self.steps.refresh()
        if metrics:
            self.steps.collect_metrics()
        self.add_pyroscope_source(f"http://{address}:4040")
        self.add_prometheus_source()
        return self

    def add_pyroscope_source(self, url: str, kind: str = "grafana-pyroscope-datasource") -> None:
        self._apply(PYROSCOPE, kind, url, {})

    def add_prometheus_source(self) -> None:
        workspace = self.azure.arm("GET", WORKSPACE_ID, "2023-04-03")
        url = as_text(dig(workspace, "properties", "metrics", "prometheusQueryEndpoint"))
        credentials: JsonObject = {"httpMethod": "POST", "azureCredentials": {"authType": "msi"}}
        self._apply(PROMETHEUS, "prometheus", url, credentials)

    def _apply(self, uid: str, kind: str, url: str, data: JsonObject) -> None:
        request: JsonObject = {
            "endpoint": self.azure.endpoint,
            "workspaceId": GRAFANA_ID,
            "owner": OWNER,
            "name": uid,
            "uid": uid,
            "type": kind,
            "url": url,
            "jsonData": data,
        }
        self.operations.succeed(Verb.APPLY_DATA_SOURCE, request)

    def request(self, *, prometheus: bool = True) -> SignalRequest:
        return SignalRequest(
            endpoint=self.azure.endpoint,
            pyroscope_uid=PYROSCOPE,
            prometheus_uid=PROMETHEUS if prometheus else None,
            cluster_id=CLUSTER_ID,
            extension_id=EXTENSION,
        )

    def check(self, *options: str, prometheus: bool = True) -> tuple[int, Signal, str]:
        result = self.operations(Verb.CHECK_SIGNAL, self.request(prometheus=prometheus), *options)
        assert result.stdout, result.stderr
        return result.exit_code, Signal.model_validate_json(result.stdout), result.stderr

    def broken(self, expected: Link, *, prometheus: bool = True) -> LinkReport:
        """The report of the first broken link, which must be ``expected``."""
        exit_code, signal, stderr = self.check(prometheus=prometheus)
        assert exit_code == ExitCode.NO_SIGNAL
        assert signal.ok is False
        first = next(report for report in signal.links if not report.ok)
        assert first.link is expected, stderr
        assert first.saw
        assert first.fix
        assert_says(stderr, [f"[BROKEN] {expected}", f"First broken link: {expected}", first.fix])
        assert list(signal.links) == sorted(
            signal.links, key=lambda one: list(Link).index(one.link)
        )
        return first


@pytest.fixture
def deployment(azure: Azure, operations: Operations) -> Deployment:
    return Deployment(azure, operations, Procedure(azure))


@pytest.mark.parametrize(
    ("agent", "profile_type"),
    [
        ("0.53.0", "process_cpu:malloc:bytes::"),
        ("0.54.1", "process_cpu:malloc:bytes:process_cuda:bytes"),
    ],
)
def test_a_whole_chain_is_ok_with_the_profile_type_of_either_agent(
    deployment: Deployment, agent: str, profile_type: str
) -> None:
    exit_code, signal, stderr = deployment.deploy(agent=agent).check()
    assert exit_code == 0, stderr
    assert signal.ok is True
    assert [report.link for report in signal.links] == list(Link)
    assert all(report.ok for report in signal.links)
    assert signal.profile_type == profile_type
    assert signal.bytes_in_window > 1e9
    assert_says(stderr, [*(f"[ok] {link}: " for link in Link), "The signal arrives."])


def test_checking_twice_changes_nothing(deployment: Deployment) -> None:
    deployment.deploy()

    def everything() -> JsonObject:
        return {key: value for key, value in deployment.azure.inspect().items() if key != "calls"}

    before = everything()
    for _ in range(2):
        assert deployment.check()[0] == 0
    assert everything() == before


def test_a_stack_without_prometheus_has_no_such_links(deployment: Deployment) -> None:
    exit_code, signal, _ = deployment.deploy(metrics=False).check(prometheus=False)
    assert exit_code == 0
    assert not {Link.PROMETHEUS_SOURCE, Link.METRICS} & {one.link for one in signal.links}


def test_a_grafana_that_does_not_answer_is_the_first_broken_link(deployment: Deployment) -> None:
    deployment.deploy()
    deployment.azure.fault(
        "GET", ".*/api/health", {"drop": "before"}, service="grafana", count=None
    )
    assert_says(deployment.broken(Link.GRAFANA).saw, ["did not respond"])


def test_a_grafana_that_does_not_admit_us_is_distinguished_from_one_that_is_down(
    deployment: Deployment,
) -> None:
    deployment.deploy()
    deployment.azure.fault(
        "GET", ".*/api/datasources/.*", {"status": 403}, service="grafana", count=None
    )
    report = deployment.broken(Link.GRAFANA)
    assert_says(report.saw + report.fix, ["403", "Grafana Admin"])


def test_a_missing_prometheus_source_is_named(deployment: Deployment) -> None:
    deployment.deploy()
    deployment.azure.in_grafana("DELETE", f"/api/datasources/uid/{PROMETHEUS}")
    assert_says(deployment.broken(Link.PROMETHEUS_SOURCE).saw, [PROMETHEUS])


@pytest.mark.handles("prometheus-401")
def test_a_missing_reader_role_is_reported_in_the_sources_own_words_not_as_no_data(
    deployment: Deployment,
) -> None:
    deployment.deploy()
    azure = deployment.azure
    listed = azure.arm("GET", f"{WORKSPACE_ID}/providers/{ROLE_ASSIGNMENTS}", "2022-04-01")
    for assignment in as_objects(listed["value"]):
        if as_text(dig(assignment, "properties", "scope")).lower() == WORKSPACE_ID.lower():
            azure.arm("DELETE", as_text(assignment["id"]), "2022-04-01")
    report = deployment.broken(Link.PROMETHEUS_ANSWER)
    assert_says(report.saw, ["401", "Monitoring Data Reader"])
    assert_says(report.fix, ["az role assignment create", "Monitoring Data Reader"])


@pytest.mark.handles("prometheus-401")
def test_a_401_of_the_source_is_distinguished_from_no_data(deployment: Deployment) -> None:
    deployment.deploy()
    body = {"results": {"A": {"error": "401 Unauthorized: wrong audience", "status": 401}}}
    deployment.azure.fault(
        "POST", ".*/api/ds/query", {"status": 400, "body": body}, service="grafana", count=None
    )
    report = deployment.broken(Link.PROMETHEUS_ANSWER)
    assert_says(report.saw, ["401", "wrong audience"])
    assert "no series" not in report.saw


def test_metrics_that_are_not_collected_are_named(deployment: Deployment) -> None:
    report = deployment.deploy(metrics=False).broken(Link.METRICS)
    assert_says(report.saw, ["no series of mem_alloc_bytes_total", "aks-dev"])
    assert_says(report.fix, ["data collection rule"])


def test_a_prometheus_of_ones_own_is_told_what_to_scrape(deployment: Deployment) -> None:
    deployment.deploy(metrics=False)
    request = deployment.request().model_copy(update={"own_prometheus": True})
    result = deployment.operations(Verb.CHECK_SIGNAL, request)
    assert_says(result.stderr, ["port 2224", "k8s-app=gadget", "label `cluster`"])
    assert "data collection rule" not in result.stderr


def test_a_missing_pyroscope_source_is_named(deployment: Deployment) -> None:
    deployment.deploy()
    deployment.azure.in_grafana("DELETE", f"/api/datasources/uid/{PYROSCOPE}")
    assert_says(deployment.broken(Link.PYROSCOPE_SOURCE).saw, [PYROSCOPE])


def test_a_pyroscope_source_of_another_type_is_named(deployment: Deployment) -> None:
    deployment.deploy().add_pyroscope_source("http://10.0.0.1:4040", kind="prometheus")
    assert_says(deployment.broken(Link.PYROSCOPE_SOURCE).saw, ["type prometheus"])


@pytest.mark.handles("fixed-sleeps-empty-address")
def test_a_pyroscope_source_without_a_host_is_named(deployment: Deployment) -> None:
    deployment.deploy().add_pyroscope_source("http://:4040")
    report = deployment.broken(Link.PYROSCOPE_SOURCE)
    assert_says(report.saw, ["'http://:4040'", "without a host"])
    assert_says(report.fix, ["pulumi up --refresh"])


def test_a_private_link_that_is_not_approved_any_more_is_named(deployment: Deployment) -> None:
    deployment.deploy().steps.decide("Rejected")
    report = deployment.broken(Link.PYROSCOPE_ANSWER)
    assert_says(report.saw + report.fix, ["502", "private endpoint"])


def test_a_source_at_the_wrong_address_is_named(deployment: Deployment) -> None:
    deployment.deploy().add_pyroscope_source("http://10.255.255.1:4040")
    deployment.broken(Link.PYROSCOPE_ANSWER)


@pytest.mark.handles("only-later-allocations-are-seen")
def test_an_agent_that_does_not_run_leaves_no_profile_type(deployment: Deployment) -> None:
    report = deployment.deploy(agent="").broken(Link.PROFILE_TYPE, prometheus=False)
    assert_says(report.saw, ["no profile type malloc:bytes"])
    assert_says(report.fix, ["only allocations made while the agent runs", "k8s-app=gadget"])


@pytest.mark.parametrize(
    ("agent", "server", "reason"),
    [
        ("0.54.1", "1.14.1", "reads 1.7"),
        ("0.54.1", "1.20.0", "reads 1.10"),
        ("0.53.0", "1.16.0", "invalid metric name"),
        ("0.53.0", "1.19.2", "invalid metric name"),
    ],
)
def test_versions_that_keep_profiles_from_arriving_are_the_first_broken_link(
    deployment: Deployment, agent: str, server: str, reason: str
) -> None:
    report = deployment.deploy(agent=agent, server=server).broken(Link.VERSIONS)
    assert_says(report.saw, [agent, server, reason])
    assert_says(report.fix, ['imageTag: "1.15.0"'])


@pytest.mark.handles("incompatible-server")
def test_a_server_that_names_its_version_explains_itself_without_the_agents(
    deployment: Deployment,
) -> None:
    deployment.deploy(server="1.20.0")
    request = deployment.request().model_copy(update={"extension_id": ""})
    result = deployment.operations(Verb.CHECK_SIGNAL, request)
    assert result.exit_code == ExitCode.NO_SIGNAL
    assert_says(result.stderr, ["First broken link: versions", "Inspektor Gadget (not known)"])


@pytest.mark.parametrize(
    ("service", "path", "saw"),
    [
        ("grafana", ".*/buildinfo", "Inspektor Gadget 0.54.1, Pyroscope (not known)"),
        ("arm", ".*/extensions/.*", "Inspektor Gadget (not known), Pyroscope 1.15.0"),
    ],
)
def test_versions_that_cannot_be_read_are_no_broken_link(
    deployment: Deployment, service: str, path: str, saw: str
) -> None:
    deployment.deploy()
    deployment.azure.fault("GET", path, {"status": 403}, service=service, count=None)
    exit_code, signal, stderr = deployment.check()
    assert exit_code == 0, stderr
    (report,) = (one for one in signal.links if one.link is Link.VERSIONS)
    assert report.saw == saw


def test_no_samples_in_the_window_are_distinguished_from_no_profile_type(
    deployment: Deployment,
) -> None:
    deployment.deploy()
    deployment.azure.fault(
        "POST",
        ".*/SelectMergeStacktraces",
        {"patch": {"flamegraph": {"total": None, "levels": [{"values": ["0", "0", "0", "0"]}]}}},
        service="grafana",
        count=None,
    )
    report = deployment.broken(Link.SAMPLES)
    assert_says(report.saw, ["no samples", "process_cpu:malloc:bytes", "60 min"])


def test_both_chains_are_checked_though_the_first_is_broken(deployment: Deployment) -> None:
    _, signal, _ = deployment.deploy(metrics=False).check()
    assert {one.link: one.ok for one in signal.links}[Link.METRICS] is False
    assert {one.link: one.ok for one in signal.links}[Link.SAMPLES] is True


def test_one_bad_answer_does_not_break_a_link(deployment: Deployment) -> None:
    deployment.deploy()
    deployment.azure.fault("POST", ".*", {"status": 503}, service="grafana", count=2)
    assert deployment.check()[0] == 0


def test_waiting_goes_on_until_the_signal_arrives(deployment: Deployment) -> None:
    deployment.deploy()
    deployment.azure.fault(
        "POST",
        ".*/ProfileTypes",
        {"patch": {"profileTypes": None}},
        service="grafana",
        count=3,
    )
    exit_code, _, stderr = deployment.check("--wait", "600")
    assert exit_code == 0
    assert_says(stderr, ["waiting for the signal", "profile-type", "The signal arrives."])


def test_waiting_ends_at_its_deadline_with_the_last_report(deployment: Deployment) -> None:
    deployment.deploy(agent="")
    exit_code, signal, stderr = deployment.check("--wait", "30", prometheus=False)
    assert exit_code == ExitCode.NO_SIGNAL
    assert signal.ok is False
    assert_says(stderr, ["waiting for the signal", "First broken link: profile-type"])


def test_without_a_credential_it_says_how_to_sign_in(azure: Azure, operations: Operations) -> None:
    request = SignalRequest(endpoint=azure.endpoint, pyroscope_uid=PYROSCOPE)
    azure.settings(caller="")
    result = operations(Verb.CHECK_SIGNAL, request)
    assert result.exit_code == ExitCode.NOT_AUTHENTICATED
    assert_says(result.stderr, ["az login"])


def test_waiting_does_not_hide_that_there_is_no_credential(
    azure: Azure, operations: Operations
) -> None:
    request = SignalRequest(endpoint=azure.endpoint, pyroscope_uid=PYROSCOPE)
    azure.settings(caller="")
    result = operations(Verb.CHECK_SIGNAL, request, "--wait", "30")
    assert result.exit_code == ExitCode.NOT_AUTHENTICATED
    assert_says(result.stderr, ["az login"])
