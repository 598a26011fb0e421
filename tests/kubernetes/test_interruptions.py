"""A release that failed, was interrupted, or was taken away by hand; a namespace that is stuck."""

import base64
import contextlib
import gzip
import json
import os
import signal
import subprocess
from collections.abc import Callable, Generator

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.simulation import Simulation
from tests.kubernetes.cluster import GADGET, SERVICE, STATEFUL_SET, Cluster, name_of, until

pytestmark = [
    pytest.mark.engine,
    pytest.mark.kubernetes,
]

AGENT = "/apis/apps/v1/namespaces/gadget/daemonsets/gadget"
RECOVERY = "pyroscope-release-recovery"
SLOW = 0.1
"""Wall seconds for a simulated one: the load balancer then takes seconds, in which to interrupt."""


@pytest.fixture
def empty(real: Simulation) -> Generator[Simulation]:
    """A stack of which nothing is there, before and after."""
    real.stack_file("dev", like="dev")
    yield real
    real.destroy()


def states(cluster: Cluster) -> list[str]:
    """The status of every revision of the release, in Helm's words."""
    records = as_objects(cluster.get(f"{GADGET}/secrets")["items"])
    return [as_text(dig(record, "metadata", "labels", "status")) for record in records]


def while_helm_waits(
    real: Simulation, cluster: Cluster, interrupt: Callable[[int], None]
) -> tuple[int, str]:
    """Call ``interrupt`` with pulumi's process id while Helm waits for the load balancer."""
    real.pulumi("stack", "ls")  # prepares the project
    up = real.start(
        "pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--stack", "dev"
    )
    # The last of what comes before the release.
    until(lambda: is_there(cluster, AGENT), 120)
    speed(real, SLOW)
    # Helm makes it last, and then waits.
    until(lambda: is_there(cluster, STATEFUL_SET), 120)
    interrupt(up.pid)
    output, _ = up.communicate()
    speed(real, 0.0)
    return up.returncode, output


def speed(real: Simulation, factor: float) -> None:
    """Let Azure, and nothing else, run with this factor."""
    real.control("POST", "settings", {"latency": factor})


def is_there(cluster: Cluster, path: str) -> bool:
    with contextlib.suppress(OSError):  # it may not even have been started
        return cluster.find(path) is not None
    return False


def test_an_install_that_failed_is_made_anew_once_the_cause_is_gone(
    empty: Simulation, cluster: Cluster
) -> None:
    # Only the API server knows that a request must not exceed its limit.
    memory = {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
    empty.stack_file("dev", {"pyroscope.resources": memory})
    failed = empty.up(check=False)
    assert not failed.ok
    assert "must be less than or equal to memory limit of 1Gi" in failed.output
    assert states(cluster) == ["failed"]
    empty.stack_file("dev", {"pyroscope.resources": None})
    assert empty.up().ops()["pyroscope-release"] == "replace"
    assert states(cluster) == ["deployed"]
    assert empty.up().ops() == {}


def test_an_install_interrupted_at_the_terminal_is_made_anew(
    empty: Simulation, cluster: Cluster
) -> None:
    status, output = while_helm_waits(empty, cluster, lambda pid: os.kill(pid, signal.SIGINT))
    assert status != 0
    assert "Traceback" not in output
    assert states(cluster) == ["failed"]
    assert empty.up().ops()["pyroscope-release"] == "replace"
    assert states(cluster) == ["deployed"]
    assert empty.up().ops() == {}


def test_an_api_server_that_restarts_during_an_install_does_not_fail_it(
    empty: Simulation, cluster: Cluster
) -> None:
    def restart(_: int) -> None:
        cluster.kill("kube-apiserver")
        until(lambda: is_there(cluster, SERVICE))
        speed(empty, 0.0)

    status, output = while_helm_waits(empty, cluster, restart)
    assert status == 0, output
    assert states(cluster) == ["deployed"]
    assert empty.up().ops() == {}


def test_an_install_and_an_upgrade_whose_machine_died_are_gone_on_with(
    empty: Simulation, cluster: Cluster
) -> None:
    def die(pid: int) -> None:
        children = subprocess.run(
            ["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        for each in (pid, *map(int, children)):
            os.kill(each, signal.SIGKILL)

    while_helm_waits(empty, cluster, die)
    assert states(cluster) == ["pending-install"]
    assert empty.pulumi("cancel", "--yes", "--stack", "dev").ok
    before = dig(cluster.get(STATEFUL_SET), "metadata", "uid")
    resumed = empty.up().ops()
    assert (resumed[RECOVERY], resumed["pyroscope-release"]) == ("create", "create")
    assert states(cluster) == ["deployed"]
    # What the interrupted install had made is taken over, not made twice.
    assert dig(cluster.get(STATEFUL_SET), "metadata", "uid") == before
    assert empty.up().ops() == {}

    begin_upgrade(cluster)
    assert states(cluster) == ["deployed", "pending-upgrade"]
    empty.stack_file("dev", {"pyroscope.resources": {"limits": {"memory": "4Gi"}}})
    changed = dict.fromkeys(("pyroscope", "pyroscope-release", RECOVERY), "update")
    assert empty.up().ops() == changed
    assert states(cluster) == ["superseded", "deployed"]
    assert empty.up().ops() == {}


def begin_upgrade(cluster: Cluster) -> None:
    """Leave what Helm leaves whose machine dies during an upgrade: a second record, pending."""
    (first,) = as_objects(cluster.get(f"{GADGET}/secrets")["items"])
    data = as_text(dig(first, "data", "release"))
    release = as_object(json.loads(gzip.decompress(base64.b64decode(base64.b64decode(data)))))
    release["version"] = 2
    as_object(release["info"])["status"] = "pending-upgrade"
    packed = base64.b64encode(gzip.compress(json.dumps(release).encode()))
    labels = as_object(dig(first, "metadata", "labels"))
    second: JsonObject = {
        "type": first["type"],
        "metadata": {
            "name": "sh.helm.release.v1.pyroscope.v2",
            "labels": {**labels, "version": "2", "status": "pending-upgrade"},
        },
        "data": {"release": base64.b64encode(packed).decode()},
    }
    cluster.create(f"{GADGET}/secrets", second)


def test_a_release_removed_by_hand_comes_back_with_all_that_depends_on_it(
    empty: Simulation, cluster: Cluster
) -> None:
    empty.up()
    uninstall(cluster)
    # The cloud controller deletes the private link and Grafana's connection to it; then it goes.
    until(lambda: cluster.find(SERVICE) is None)
    # Without a refresh nobody has looked in the cluster; what Grafana lost is seen.
    preview = empty.preview().ops()
    assert preview["private-endpoint-approval"] == "update"
    assert "pyroscope-release" not in preview
    outcome = empty.up("dev", "--refresh")
    assert outcome.ops()["pyroscope-release"] == "create"
    assert outcome.ops()["private-endpoint-approval"] == "update"
    assert "deletionTimestamp" not in as_object(cluster.get(SERVICE)["metadata"])
    assert states(cluster) == ["deployed"]
    assert empty.up("dev", "--refresh").ops() == {}


def uninstall(cluster: Cluster) -> None:
    """``helm uninstall pyroscope --namespace gadget``."""
    named = "?labelSelector=app.kubernetes.io/instance%3Dpyroscope"
    for service in ("pyroscope", "pyroscope-headless", "pyroscope-memberlist"):
        cluster.delete(f"{GADGET}/services/{service}")
    for collection in (
        f"{GADGET}/configmaps",
        f"{GADGET}/serviceaccounts",
        "/apis/apps/v1/namespaces/gadget/statefulsets",
        "/apis/policy/v1/namespaces/gadget/poddisruptionbudgets",
    ):
        cluster.delete(f"{collection}{named}")
    cluster.delete(f"{GADGET}/secrets?labelSelector=owner%3Dhelm,name%3Dpyroscope")


def test_destroy_waits_for_a_namespace_that_is_stuck_and_then_ends(
    empty: Simulation, cluster: Cluster
) -> None:
    empty.up()
    held: JsonObject = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    cluster.create(f"{GADGET}/configmaps", held)
    destroy = empty.start(
        "pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive", "--stack", "dev"
    )
    until(lambda: dig(cluster.find(GADGET), "status", "phase") == "Terminating", 120)

    def left() -> list[str]:
        return [name_of(item) for item in as_objects(cluster.get(f"{GADGET}/configmaps")["items"])]

    until(lambda: left() == ["held"])
    assert destroy.poll() is None
    cluster.patch(f"{GADGET}/configmaps/held", {"metadata": {"finalizers": None}})
    output, _ = destroy.communicate()
    assert destroy.returncode == 0, output
    assert cluster.find(GADGET) is None
