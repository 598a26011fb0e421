"""What fails, is interrupted or killed: what the person at the terminal reads, and the fix."""

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from simulator.home import CHECKOUT, Home
from simulator.session import Options
from simulator.values import JsonObject, as_text
from tests.engine.portal import Portal, deploy_and_delete_the_cluster
from tests.engine.simulation import Outcome, Simulation

pytestmark = pytest.mark.engine

POLICY = (
    "The extension operation failed with the following error: Error: [ InnerError: [Helm "
    "installation failed : Resource already existing or invalid : InnerError [create: failed to "
    "create: admission webhook denied the request: policies blocking privileged pods]]] occurred "
    "while doing the operation : [Create] on the config, For general troubleshooting visit: "
    "https://aka.ms/k8s-extensions-TSG"
)
PLS = ".*/privateLinkServices/[^/]+"
RELEASE = ".*/releases/.*"
RECOVERY = "pyroscope-release-recovery"


def fails(service: str, method: str, path: str, message: str) -> JsonObject:
    """The operation that such a call starts ends Failed, once."""
    error = {"code": "ExtensionOperationFailed", "message": message}
    then = {"operation": {"status": "Failed", "error": error}}
    return {"service": service, "method": method, "path": path, "then": then}


def answers(
    service: str,
    method: str,
    path: str,
    status: int,
    code: str,
    count: int | None = None,
) -> JsonObject:
    """Such calls are answered with an error."""
    body = {"error": {"code": code, "message": f"{code}."}}
    then = {"status": status, "body": body}
    return {"service": service, "method": method, "path": path, "count": count, "then": then}


# --- a deployment that fails on the way, and goes on ---------------------------------------------


@dataclass(frozen=True)
class Stumbling:
    """One deployment, whose `up` fails time and again, each time further on."""

    extension: Outcome
    cut_off: Outcome
    """Helm's process ends while it installs."""
    release: Outcome
    absent: Outcome
    forbidden: Outcome
    stormy: Outcome
    upgrade_cut_off: Outcome
    """Helm's process ends while it upgrades."""
    planned: Outcome
    healed: Outcome
    after: Outcome


@pytest.fixture(scope="module")
def stumbling(sim: Simulation) -> Stumbling:
    sim.faults(fails("arm", "PUT", ".*/extensions/[^/]+", POLICY))
    extension = sim.up(check=False)
    ends = {"service": "kubernetes", "path": RELEASE, "then": {"operation": {"status": "Canceled"}}}
    sim.faults({**ends, "method": "PUT"})
    cut_off = sim.up(check=False)
    sim.faults(fails("kubernetes", "PUT", RELEASE, "pod pyroscope-0 is not ready"))
    release = sim.up(check=False)
    sim.faults(answers("arm", "GET", PLS, 404, "ResourceNotFound"))
    absent = sim.up(check=False)
    sim.faults(answers("arm", "GET", PLS, 403, "AuthorizationFailed"))
    forbidden = sim.up(check=False)
    sim.faults(
        answers("arm", "GET", PLS, 429, "SubscriptionRequestsThrottled", count=3),
        answers("arm", "POST", ".*/refreshManagedPrivateEndpoints", 409, "ConflictInProcessing", 2),
        {
            "service": "grafana",
            "method": "POST",
            "path": ".*/api/datasources",
            "then": {"drop": "after"},
        },
        answers("grafana", "POST", ".*/api/dashboards/db", 403, "access.denied", count=5),
    )
    stormy = sim.up(check=False)
    sim.faults({**ends, "method": "PUT"})
    sim.stack_file("dev", {"pyroscope.resources": {"limits": {"memory": "4Gi"}}})
    upgrade_cut_off = sim.up(check=False)
    sim.faults()
    return Stumbling(
        extension,
        cut_off,
        release,
        absent,
        forbidden,
        stormy,
        upgrade_cut_off,
        planned=sim.preview(),
        healed=sim.up(),
        after=sim.preview(),
    )


@pytest.mark.handles("extension-inner-error")
def test_a_failed_extension_tells_the_inner_reason_on_one_line_with_its_link(
    stumbling: Stumbling,
) -> None:
    assert stumbling.extension.status != 0
    (line,) = {
        line.strip()
        for line in stumbling.extension.diagnostics[0].splitlines()
        if "policies blocking privileged pods" in line
    }
    assert "https://aka.ms/k8s-extensions-TSG" in line
    assert "Traceback" not in stumbling.extension.output


@pytest.mark.handles("extension-inner-error")
def test_the_next_up_deletes_a_failed_extension_and_makes_it_again(stumbling: Stumbling) -> None:
    done = stumbling.cut_off.order("delete-replaced", "create-replacement")
    assert done == ["inspektor-gadget-extension", "inspektor-gadget-extension"]


def test_an_install_that_was_cut_off_is_gone_on_with(stumbling: Stumbling) -> None:
    assert stumbling.cut_off.status != 0
    # Not refused ("cannot re-use a name that is still in use"): it installs, and fails by itself.
    assert stumbling.release.ops()[RECOVERY] == "create"
    assert "pod pyroscope-0 is not ready" in stumbling.release.output
    assert "sh.helm.release.v1.pyroscope.v1 (pending-install)" in stumbling.release.output


def test_an_upgrade_that_was_cut_off_is_gone_on_with_and_a_preview_says_how(
    stumbling: Stumbling,
) -> None:
    assert stumbling.upgrade_cut_off.status != 0
    wanted = {RECOVERY: "update", "pyroscope-release": "update"}
    assert stumbling.planned.ops() == stumbling.healed.ops() == wanted
    for outcome in (stumbling.planned, stumbling.healed):
        assert "(pending-upgrade)" in outcome.output
    assert stumbling.after.ops() == {}


def test_the_next_up_deletes_a_failed_release_and_installs_it_again(stumbling: Stumbling) -> None:
    assert stumbling.release.status != 0
    assert "pod pyroscope-0 is not ready" in stumbling.release.output
    done = stumbling.absent.order("delete-replaced", "create-replacement")
    assert done == ["pyroscope-release", "pyroscope-release"]


@pytest.mark.handles("unbounded-wait-for-private-link")
@pytest.mark.handles("service-has-ip-link-absent")
def test_a_private_link_that_never_appears_ends_at_the_deadline_and_says_where_to_look(
    stumbling: Stumbling,
) -> None:
    outcome = stumbling.absent
    assert outcome.status != 0
    assert "after 900 s" in outcome.output
    assert "kubectl describe service --namespace gadget pyroscope" in outcome.output
    assert "role" not in outcome.diagnostics[0].lower()


@pytest.mark.handles("service-has-ip-link-absent")
def test_a_private_link_that_may_not_be_read_is_distinguished_from_one_that_is_absent(
    stumbling: Stumbling,
) -> None:
    outcome = stumbling.forbidden
    assert outcome.status != 0
    assert "AuthorizationFailed" in outcome.output
    assert "Reader" in outcome.output
    assert "kubectl" not in outcome.diagnostics[0]


def test_throttling_a_busy_grafana_a_dropped_connection_and_a_late_role_do_not_fail_up(
    stumbling: Stumbling,
) -> None:
    assert stumbling.stormy.ok, stumbling.stormy.output


# --- destroying ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Destroying:
    """`destroy` without packages, with somebody else on the private link, without, and again."""

    bare: Outcome
    held: Outcome
    last: Outcome
    twice: Outcome
    left: list[JsonObject]


@pytest.fixture(scope="module")
def destroying(
    sim: Simulation, person: Portal, stumbling: Stumbling, tmp_path_factory: pytest.TempPathFactory
) -> Destroying:
    del stumbling
    bare = from_a_bare_clone(sim, tmp_path_factory.mktemp("clone"))
    grafana = person.find("/grafana/grafana-dev")
    other = f"{grafana}/managedPrivateEndpoints/other"
    properties = {"privateLinkResourceId": person.private_link(), "requestMessage": "me too"}
    person.put(other, {"location": "westeurope", "properties": properties})
    held = sim.destroy(check=False)
    person.delete(other)
    last, twice = sim.destroy(check=False), sim.destroy(check=False)
    return Destroying(bare, held, last, twice, left=sim.state())


def from_a_bare_clone(sim: Simulation, folder: Path) -> Outcome:
    """`destroy` of the stack from a copy of the checkout on a machine without the packages."""
    clone = folder / "clone"
    shutil.copytree(CHECKOUT / "operations", clone / "operations")
    for file in ("Pulumi.yaml", "Pulumi.dev.yaml", "__main__.py"):
        shutil.copy(CHECKOUT / file, clone)
    no_python = folder / "bin"
    no_python.mkdir()
    for name in ("python", "python3", "python3.11", "python3.12", "python3.13"):
        (no_python / name).write_text("#!/bin/sh\nexit 1\n")
        (no_python / name).chmod(0o755)
    options = Options(latency=0.0, installed_plugins=False, program=clone, stack_files=clone)
    there = Simulation(Home(sim.home.path), options)
    environment = {**sim.environment, **there.environment}  # the first has the stack's key
    path = os.pathsep.join([str(sim.home.bin), str(no_python), environment["PATH"]])
    done = subprocess.run(
        ["pulumi", "destroy", "--yes", "--skip-preview", "--stack", "dev", "--non-interactive"],
        cwd=clone,
        env={**environment, "PATH": path, "VIRTUAL_ENV": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return Outcome(done.returncode, done.stdout + done.stderr)


def test_destroy_from_a_fresh_clone_without_packages_says_what_to_install(
    destroying: Destroying,
) -> None:
    assert destroying.bare.status != 0
    assert "no Python for this project was found" in destroying.bare.output
    assert "pip install -r requirements.txt" in destroying.bare.output
    assert "Traceback" not in destroying.bare.output


@pytest.mark.handles("cluster-before-endpoint")
def test_destroy_cuts_nobody_off_and_names_whom_it_would(destroying: Destroying) -> None:
    assert destroying.held.status != 0
    assert "/privateEndpoints/grafana-grafana-dev-other" in destroying.held.output
    assert "'me too'" in destroying.held.output
    assert "protectConnections: false" in destroying.held.output
    assert "connection delete" not in destroying.held.output


def test_destroy_goes_on_once_that_endpoint_is_gone_and_may_be_repeated(
    destroying: Destroying,
) -> None:
    assert destroying.last.ok, destroying.last.output
    assert destroying.twice.ok, destroying.twice.output
    assert destroying.left == []


# --- interrupted and killed ----------------------------------------------------------------------


@dataclass(frozen=True)
class Broken:
    """An `up` that is interrupted while the pool is made; the next one killed at the endpoint."""

    interrupted: str
    locked: Outcome
    cancel: Outcome
    foreseen: Outcome
    finished: Outcome
    cleared: Outcome
    """``refresh --clear-pending-creates``."""
    after: Outcome


@pytest.fixture(scope="module")
def broken(sim: Simulation, person: Portal, destroying: Destroying) -> Broken:
    del destroying
    sim.latency(0.03)
    interrupted = up_until(sim, "/agentPools/gpu", signal.SIGINT)
    sim.latency(0)  # Azure ends what it was asked for; until then it refuses the next request
    sim.resources()
    sim.latency(0.03)
    up_until(sim, "/managedPrivateEndpoints/", signal.SIGKILL)
    sim.latency(0)
    locked = sim.up(check=False)
    cancel = sim.pulumi("cancel", "--yes", "--stack", "dev")
    foreseen = sim.preview()
    finished = sim.up(check=False)
    cleared = sim.refresh("dev", "--clear-pending-creates", check=False)
    return Broken(
        interrupted,
        locked,
        cancel,
        foreseen,
        finished,
        cleared,
        after=sim.preview(),
    )


def up_until(sim: Simulation, being_made: str, number: signal.Signals) -> str:
    """Start `up`, send the engine a signal once Azure makes such a thing; what it printed."""
    process = sim.start(
        *("pulumi", "up", "--yes", "--skip-preview", "--stack", "dev", "--non-interactive")
    )
    while process.poll() is None and not any(being_made in key for key in sim.resources()):
        time.sleep(0.02)
    assert process.poll() is None, f"it ended before {being_made} was made"
    process.send_signal(number)
    if number is signal.SIGKILL:
        process.wait()
        if process.stdout is not None:
            process.stdout.close()  # its plugins keep the other end until they notice
        return ""
    printed, _ = process.communicate()
    return printed


def test_an_interrupted_up_ends_and_frees_the_lock(broken: Broken) -> None:
    assert "context canceled" in broken.interrupted
    assert "Traceback" not in broken.interrupted


def test_the_next_up_goes_on_with_what_was_being_made_when_it_was_interrupted(
    broken: Broken,
) -> None:
    # It got as far as the endpoint, and the pool is in the state: nobody names it any more.
    assert "gpu-pool-pool" not in broken.finished.ops()


def test_a_killed_up_leaves_a_lock_that_cancel_frees(broken: Broken) -> None:
    assert broken.locked.status != 0
    assert "pulumi cancel" in broken.locked.output
    assert broken.cancel.ok, broken.cancel.output
    assert "locked" not in broken.finished.output


def test_an_endpoint_made_by_a_killed_up_is_taken_over_and_the_rest_is_made(broken: Broken) -> None:
    assert broken.foreseen.ops()["private-endpoint-endpoint"] == "import"
    assert broken.finished.ok, broken.finished.output
    assert broken.finished.ops()["private-endpoint-endpoint"] == "import"
    assert broken.finished.ops()["private-endpoint-approval"] == "create"
    assert broken.after.ops() == {}


def test_the_warning_of_pending_operations_ends_with_the_line_of_the_page(broken: Broken) -> None:
    assert "pending operations" in broken.finished.output
    assert broken.cleared.ok, broken.cleared.output
    assert "pending operations" not in broken.after.output


# --- destroying what is gone ---------------------------------------------------------------------


@dataclass(frozen=True)
class Gone:
    """`destroy` after a person has deleted the cluster, or Grafana."""

    cluster: Outcome
    forgotten: Outcome
    without_cluster: Outcome
    without_grafana: Outcome
    left: list[JsonObject]


@pytest.fixture(scope="module")
def gone(sim: Simulation, person: Portal, broken: Broken) -> Gone:
    del broken
    deploy_and_delete_the_cluster(sim, person)
    without = sim.destroy("prod", check=False)
    provider = next(
        as_text(one["urn"])
        for one in sim.state("prod")
        if one["type"] == "pulumi:providers:kubernetes"
    )
    forgotten = sim.pulumi(
        "state", "delete", provider, "--target-dependents", "--yes", "--stack", "prod"
    )
    after = sim.destroy("prod", check=False)
    person.delete(person.find("/grafana/grafana-dev"))
    without_grafana = sim.destroy("dev", check=False)
    return Gone(
        without, forgotten, after, without_grafana, left=[*sim.state("prod"), *sim.state("dev")]
    )


def test_destroy_without_the_cluster_says_that_it_cannot_be_reached(gone: Gone) -> None:
    assert gone.cluster.status != 0
    assert "Traceback" not in gone.cluster.output


def test_what_was_in_a_cluster_that_is_gone_is_forgotten_and_the_rest_destroyed(
    gone: Gone,
) -> None:
    assert gone.forgotten.ok, gone.forgotten.output
    assert gone.without_cluster.ok, gone.without_cluster.output


def test_destroy_without_grafana_deletes_what_is_elsewhere(gone: Gone) -> None:
    assert gone.without_grafana.ok, gone.without_grafana.output
    assert gone.left == []
