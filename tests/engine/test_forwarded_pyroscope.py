"""A Pyroscope that is there already and wants TLS and credentials, through a forwarder."""

import base64

import pytest

from simulator.values import JsonObject, as_object, as_objects, as_text
from tests.engine.changes import STACK, apply, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.engine.test_existing_pyroscope import HOST, LABELS, TOKEN, server
from tests.simulator.azure import Kubernetes

pytestmark = pytest.mark.engine

HEADER = "Basic cHVzaDpvbmx5"
FORWARDER = "pyroscope-elsewhere-forwarder"
EXISTING: JsonObject = {
    "url": f"https://{HOST}",
    "dataSource": "central",
    "credentials": {"secret": "pyroscope-push", "key": "authorization"},
}
SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "pyroscope",
        "namespace": "monitoring",
        "annotations": {"simulator/authorization": HEADER},
    },
    "spec": {
        "selector": LABELS,
        "ports": [{"name": "http2", "port": 4040}, {"name": "https", "port": 443}],
    },
}


def secret(header: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "pyroscope-push", "namespace": "gadget"},
        "data": {"authorization": base64.b64encode(header.encode()).decode()},
    }


def services(sim: Simulation) -> dict[str, JsonObject]:
    clusters = as_object(sim.inspect()["kubernetes"])
    (dev,) = [as_object(one) for key, one in clusters.items() if key.endswith("/aks-dev")]
    found = [one for one in as_objects(dev["services"]) if one["namespace"] == "gadget"]
    return {as_text(one["name"]): one for one in found}


def signal(sim: Simulation) -> str:
    said = sim.run("python", "-m", "gpuobs", "check", "--stack", STACK, "--wait", "60")
    return said.stdout + said.stderr


@pytest.fixture(scope="module")
def first(sim: Simulation, person: Portal) -> Outcome:
    """The first `up`: the server, the source that shows it, and the Secret are there."""
    cluster = Kubernetes(person)
    for name in ("monitoring", "gadget"):
        cluster.make_namespace(name)
    base = "/apis/apps/v1/namespaces/monitoring/statefulsets"
    assert cluster.call("POST", base, server("1.15.0")).is_success
    assert cluster.call("POST", "/api/v1/namespaces/monitoring/services", SERVICE).is_success
    assert cluster.call("POST", "/api/v1/namespaces/gadget/secrets", secret(HEADER)).is_success
    own = {"cluster": "aks-dev", "version": "12.4.1", "tokens": {TOKEN: "Admin"}}
    sim.control("POST", "settings", {"ownGrafanas": {"ops": own}})
    sim.set_variables(GPUOBS_GRAFANA_TOKEN=TOKEN)
    source = {
        "name": "central",
        "uid": "central",
        "type": "grafana-pyroscope-datasource",
        "access": "proxy",
        "url": f"http://{HOST}:4040",
    }
    url = f"{sim.environment['SIM_ARM_URL']}/grafana/ops"
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    made = person.http.post("/grafana/ops/api/datasources", json=source, headers=bearer)
    assert made.is_success, made.text
    changes = {
        "cluster.createNamespace": False,
        "grafana.existing": None,
        "grafana.selfHosted": {"url": url},
        "prometheus.azureMonitorWorkspace": None,
        "pyroscope.existing": EXISTING,
    }
    sim.stack_file(STACK, changes)
    return sim.up(STACK)


def test_the_agents_service_leads_to_the_forwarder_and_the_signal_arrives(
    first: Outcome, sim: Simulation
) -> None:
    assert first.ops()[FORWARDER] == "create"
    assert services(sim)["pyroscope"]["type"] == "ClusterIP"
    assert sim.outputs(STACK)["pyroscopeUrl"] == f"https://{HOST}:443"
    assert "The signal arrives." in signal(sim)


def test_a_second_up_changes_nothing_and_no_credential_is_in_the_state(
    first: Outcome, sim: Simulation
) -> None:
    assert touched(sim.up(STACK)) == {}
    assert touched(sim.up(STACK, "--refresh")) == {}
    state = str(sim.state(STACK))
    assert HEADER not in state
    assert base64.b64encode(HEADER.encode()).decode() not in state


def test_without_tls_on_its_own_port_the_name_alone_leads_there_again(
    first: Outcome, sim: Simulation
) -> None:
    plain = {"url": f"http://{HOST}:4040", "dataSource": "central"}
    outcome = apply(sim, {"pyroscope.existing": plain})
    assert touched(outcome)[FORWARDER] == "delete"
    found = services(sim)["pyroscope"]
    assert found["type"] == "ExternalName"
    assert touched(sim.up(STACK)) == {}
    assert touched(apply(sim, {"pyroscope.existing": EXISTING}))[FORWARDER] == "create"
    assert services(sim)["pyroscope"]["type"] == "ClusterIP"
    assert touched(sim.up(STACK)) == {}


def test_destroy_takes_the_forwarder_and_leaves_the_secret(
    first: Outcome, sim: Simulation, person: Portal
) -> None:
    sim.destroy(STACK)
    cluster = Kubernetes(person)
    assert not cluster.call(
        "GET", "/apis/apps/v1/namespaces/gadget/deployments/pyroscope-forwarder"
    ).is_success
    assert cluster.call("GET", "/api/v1/namespaces/gadget/secrets/pyroscope-push").is_success
    assert services(sim) == {}
