"""A Grafana and a Pyroscope of one's own by the real provider and Helm: up, each switch, down."""

import re
import shlex

import pytest

from simulator.values import JsonObject, as_object, as_objects, dig
from tests.engine.changes import touched
from tests.engine.simulation import Simulation
from tests.engine.test_existing_pyroscope import HOST, SERVICE, TOKEN, server
from tests.kubernetes.cluster import GADGET, Cluster, name_of

pytestmark = [pytest.mark.engine, pytest.mark.kubernetes]

APPS = "/apis/apps/v1/namespaces"
THERE: JsonObject = {"url": f"http://{HOST}:4040"}


def services(cluster: Cluster) -> dict[str, JsonObject]:
    found = as_objects(cluster.get(f"{GADGET}/services")["items"])
    return {name_of(one): as_object(one["spec"]) for one in found}


def sets(cluster: Cluster) -> set[str]:
    found = cluster.get(f"{APPS}/gadget/statefulsets")
    return {name_of(one) for one in as_objects(found["items"])}


@pytest.fixture(scope="module", autouse=True)
def deployed(real: Simulation, cluster: Cluster) -> None:
    """A Grafana in the cluster shows a Pyroscope of the stack's own; one of others is beside it."""
    own = {"cluster": "aks-dev", "version": "12.4.1", "tokens": {TOKEN: "Admin"}}
    real.control("POST", "settings", {"ownGrafanas": {"ops": own}})
    real.set_variables(GPUOBS_GRAFANA_TOKEN=TOKEN)
    changes = {
        "grafana.existing": None,
        "grafana.selfHosted": {"url": f"{real.environment['SIM_ARM_URL']}/grafana/ops"},
        "prometheus.azureMonitorWorkspace": None,
    }
    real.stack_file("dev", changes)
    real.up()
    namespace: JsonObject = {"apiVersion": "v1", "kind": "Namespace"}
    cluster.create("/api/v1/namespaces", {**namespace, "metadata": {"name": "monitoring"}})
    cluster.create(f"{APPS}/monitoring/statefulsets", server("1.15.0"))
    cluster.create("/api/v1/namespaces/monitoring/services", SERVICE)


def switch(real: Simulation, existing: JsonObject | None) -> None:
    """The two commands that a preview prints."""
    real.stack_file("dev", {"pyroscope.existing": existing})
    refused = real.preview(check=False)
    line = re.search(r"pulumi (destroy --target \S+ --target-dependents)", refused.output)
    assert line is not None, refused.output
    real.destroy("dev", *shlex.split(line[1])[1:])
    real.up()
    assert touched(real.up()) == {}
    assert touched(real.up("dev", "--refresh")) == {}


def test_the_release_has_no_load_balancer_for_a_grafana_in_the_cluster(
    real: Simulation, cluster: Cluster
) -> None:
    assert {one["type"] for one in services(cluster).values()} == {"ClusterIP"}
    assert sets(cluster) == {"pyroscope"}
    assert touched(real.up()) == {}
    said = real.run("python", "-m", "gpuobs", "check", "--stack", "dev", "--wait", "300")
    assert "The signal arrives." in said.stdout, said.stdout + said.stderr


def test_a_server_of_ones_own_takes_its_place_by_name(real: Simulation, cluster: Cluster) -> None:
    switch(real, THERE)
    assert sets(cluster) == set()
    (found,) = services(cluster).values()
    assert (found["type"], found["externalName"]) == ("ExternalName", HOST)


def test_by_another_port_a_forwarder_stands_behind_the_agents_service(
    real: Simulation, cluster: Cluster
) -> None:
    real.stack_file("dev", {"pyroscope.existing": {"url": f"http://{HOST}:4041"}})
    real.up()
    assert touched(real.up()) == {}
    assert touched(real.up("dev", "--refresh")) == {}
    (found,) = services(cluster).values()
    deployment = cluster.get(f"{APPS}/gadget/deployments/pyroscope-forwarder")
    labels = as_object(dig(deployment, "spec", "template", "metadata", "labels"))
    assert (found["type"], found["selector"]) == ("ClusterIP", labels)
    assert "externalName" not in found
    real.stack_file("dev", {"pyroscope.existing": THERE})
    real.up()
    (found,) = services(cluster).values()
    assert (found["type"], found["externalName"]) == ("ExternalName", HOST)
    assert cluster.find(f"{APPS}/gadget/deployments/pyroscope-forwarder") is None
    assert touched(real.up()) == {}


def test_and_gives_way_to_it_again(real: Simulation, cluster: Cluster) -> None:
    switch(real, None)
    assert sets(cluster) == {"pyroscope"}
    assert "externalName" not in services(cluster)["pyroscope"]


def test_to_azures_grafana_and_back_the_link_comes_and_goes_with_the_release(
    real: Simulation, cluster: Cluster
) -> None:
    own = {"url": f"{real.environment['SIM_ARM_URL']}/grafana/ops"}
    azures = {"name": "grafana-dev", "resourceGroup": "rg-dev"}
    for grafana, kind in (
        ({"grafana.existing": azures, "grafana.selfHosted": None}, "LoadBalancer"),
        ({"grafana.existing": None, "grafana.selfHosted": own}, "ClusterIP"),
    ):
        real.stack_file("dev", grafana)
        assert touched(real.up())["pyroscope-release"] == "replace"
        assert services(cluster)["pyroscope"]["type"] == kind
        assert touched(real.up()) == {}


def test_destroy_leaves_what_was_there(real: Simulation, cluster: Cluster) -> None:
    switch(real, THERE)
    real.destroy()
    assert cluster.find(GADGET) is None
    path = f"{APPS}/monitoring/statefulsets/pyroscope"
    assert dig(cluster.get(path), "metadata", "name") == "pyroscope"
    assert cluster.find("/api/v1/namespaces/monitoring/services/pyroscope") is not None
