"""A Pyroscope that is there already: the agents push to it, and none of the stack's is made."""

import re
import shlex

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.changes import STACK, apply, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import Kubernetes

pytestmark = pytest.mark.engine

TOKEN = "glsa_AdminsOwnToken_00000001"  # noqa: S105
HOST = "pyroscope.monitoring.svc.cluster.local"
LABELS = {"app": "pyroscope"}


def server(image: str) -> JsonObject:
    """A platform team's Pyroscope."""
    container = {"name": "pyroscope", "image": f"grafana/pyroscope:{image}"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": "pyroscope",
            "namespace": "monitoring",
            "labels": {"app.kubernetes.io/name": "pyroscope"},
        },
        "spec": {
            "serviceName": "pyroscope",
            "replicas": 1,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}},
        },
    }


SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "pyroscope", "namespace": "monitoring"},
    "spec": {"selector": LABELS, "ports": [{"name": "http2", "port": 4040}]},
}


def sources(sim: Simulation) -> list[JsonObject]:
    return as_objects(dig(sim.inspect(), "grafana", "ops", "dataSources"))


@pytest.fixture(scope="module")
def first(sim: Simulation, person: Portal) -> Outcome:
    """The first `up`, with a Grafana of one's own beside that server."""
    cluster = Kubernetes(person)
    cluster.make_namespace("monitoring")
    base = "/apis/apps/v1/namespaces/monitoring/statefulsets"
    assert cluster.call("POST", base, server("1.15.0")).status_code == 201
    made = cluster.call("POST", "/api/v1/namespaces/monitoring/services", SERVICE)
    assert made.status_code == 201, made.text
    own = {"cluster": "aks-dev", "version": "12.4.1", "tokens": {TOKEN: "Admin"}}
    sim.control("POST", "settings", {"ownGrafanas": {"ops": own}})
    sim.set_variables(GPUOBS_GRAFANA_TOKEN=TOKEN)
    changes = {
        "grafana.existing": None,
        "grafana.selfHosted": {"url": f"{sim.environment['SIM_ARM_URL']}/grafana/ops"},
        "prometheus.azureMonitorWorkspace": None,
        "pyroscope.existing": {"url": f"http://{HOST}:4040"},
    }
    sim.stack_file(STACK, changes)
    return sim.up(STACK)


def test_the_name_to_which_the_agents_push_leads_to_it(first: Outcome, sim: Simulation) -> None:
    assert "pyroscope-release" not in first.ops()
    clusters = as_object(sim.inspect()["kubernetes"])
    (dev,) = [as_object(one) for key, one in clusters.items() if key.endswith("/aks-dev")]
    assert dev["releases"] == []
    (found,) = [one for one in as_objects(dev["services"]) if one["namespace"] == "gadget"]
    assert (found["name"], found["type"]) == ("pyroscope", "ExternalName")
    assert sim.outputs(STACK)["pyroscopeUrl"] == f"http://{HOST}:4040"


def test_the_signal_arrives_in_it_and_a_second_up_changes_nothing(
    first: Outcome, sim: Simulation
) -> None:
    assert touched(sim.up(STACK)) == {}
    assert [one["url"] for one in sources(sim)] == [f"http://{HOST}:4040"]
    signal = sim.run("python", "-m", "gpuobs", "check", "--stack", STACK, "--wait", "300")
    assert "The signal arrives." in signal.stdout, signal.stdout + signal.stderr


def test_a_source_that_is_there_takes_the_place_of_the_stacks_own(
    first: Outcome, sim: Simulation
) -> None:
    """And it is asked through that source for its version, which must fit the agent's."""
    sim.stack_file(STACK, {"pyroscope.existing.dataSource": "nobody"})
    outcome = sim.preview(STACK, check=False)
    assert "there is none" in outcome.output, outcome.output
    uid = as_text(sources(sim)[0]["uid"])
    outcome = apply(sim, {"pyroscope.existing.dataSource": uid})
    assert touched(outcome)["data-sources-pyroscope"] == "delete"
    apply(sim, {"pyroscope.existing.dataSource": None})


@pytest.mark.parametrize(
    ("wanted", "gone", "made"),
    [
        (None, "pyroscope-elsewhere-service", "pyroscope-release"),
        ({"url": f"http://{HOST}:4040"}, "pyroscope-release", "pyroscope-elsewhere-service"),
    ],
)
def test_to_a_server_of_the_stacks_own_and_back_it_takes_the_two_commands_that_a_preview_prints(
    first: Outcome, sim: Simulation, wanted: JsonObject | None, gone: str, made: str
) -> None:
    sim.stack_file(STACK, {"pyroscope.existing": wanted})
    refused = sim.preview(STACK, check=False)
    line = re.search(r"pulumi (destroy --target \S+ --target-dependents)", refused.output)
    assert not refused.ok
    assert line is not None, refused.output
    _, *arguments = shlex.split(line[1])
    away = sim.destroy(STACK, *arguments)
    assert away.ops()[gone] == "delete"
    assert "inspektor-gadget-extension" not in away.ops()
    assert sim.up(STACK).ops()[made] == "create"
    assert touched(sim.up(STACK)) == {}
    signal = sim.run("python", "-m", "gpuobs", "check", "--stack", STACK, "--wait", "300")
    assert "The signal arrives." in signal.stdout, signal.stdout + signal.stderr


def test_destroy_leaves_the_server_as_it_was(first: Outcome, sim: Simulation) -> None:
    sim.destroy(STACK)
    clusters = as_object(sim.inspect()["kubernetes"])
    (dev,) = [as_object(one) for key, one in clusters.items() if key.endswith("/aks-dev")]
    assert [(one["namespace"], one["name"]) for one in as_objects(dev["services"])] == [
        ("monitoring", "pyroscope")
    ]
    assert sources(sim) == []
