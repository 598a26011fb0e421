"""Both shipped stacks on real API servers; and the quick, simulated clusters leave the same."""

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest
import yaml

from simulator import home as homes
from simulator.demo import differences, stable
from simulator.session import CHART, Options
from simulator.values import (
    JsonObject,
    as_list,
    as_object,
    as_objects,
    as_text,
    dig,
    is_object,
    text_map,
)
from tests.engine.simulation import Simulation
from tests.kubernetes.cluster import GADGET, Cluster, name_of, until
from tests.kubernetes.conftest import stack_files

pytestmark = [pytest.mark.engine, pytest.mark.kubernetes]

RANDOM = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>"),
    (r"\b[0-9a-f]{12}-[0-9a-f]{8}\b", "<token>"),
    (r"\b[0-9a-f]{24,32}\b", "<number>"),
    (r"(?<=-)[0-9a-f]{4}(?=\.westeurope-1\.)", "<end>"),
    (r"(?<=-)[0-9a-f]{8}(?=\.hcp\.)", "<end>"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>"),
    (r"127\.0\.0\.1:\d+", "<host>"),
)
"""What differs between any two deployments of one stack."""
DRAWN = frozenset({"linkIdentifier", "nodePort"})
"""Numbers that a service draws; as is a data source's ``id``, since two are made at once."""


@pytest.fixture(scope="module")
def simulated(
    tmp_path_factory: pytest.TempPathFactory, python: Path | None
) -> Generator[Simulation]:
    """A simulated Azure with simulated clusters and the stacks of the other."""
    folder = tmp_path_factory.mktemp("simulated")
    files = stack_files(folder)
    options = Options(latency=0.0, installed_plugins=False, python=python, stack_files=files)
    simulation = Simulation(homes.Home(folder / "home"), options)
    # The same chart, so that only the clusters differ.
    simulation.stack_file("dev", {"pyroscope.chart": {"path": CHART}})
    try:
        yield simulation
    finally:
        homes.stop(simulation.home)


def comparable(azure: JsonObject) -> object:
    """All that there is, without what differs between any two deployments."""
    found = as_object(stable(azure))
    for cluster in as_object(found["kubernetes"]).values():
        # A real API server fills in what a simulated one does not.
        as_object(cluster).pop("objects")
    text = json.dumps(found)
    for pattern, word in RANDOM:
        text = re.sub(pattern, word, text)
    return without_drawn(json.loads(text))


def objects(azure: JsonObject) -> set[tuple[str, ...]]:
    """Kind, namespace and name of everything in the clusters that an API server did not make."""
    return {
        (
            as_text(found["kind"]),
            as_text(dig(found, "metadata", "namespace")),
            as_text(dig(found, "metadata", "name")),
        )
        for cluster in as_object(azure["kubernetes"]).values()
        for found in as_objects(as_object(cluster)["objects"])
        if not as_text(dig(found, "metadata", "name")).startswith("kube-apiserver-")
    }


def without_drawn(value: object) -> object:
    if is_object(value):
        return {
            key: without_drawn(item)
            for key, item in value.items()
            if key not in DRAWN and not (key == "id" and isinstance(item, int))
        }
    if isinstance(value, list):
        return [without_drawn(item) for item in as_list(value)]  # pyright: ignore[reportUnknownArgumentType]
    return value


def ready_pods(cluster: Cluster) -> dict[str, dict[str, str]]:
    """The labels of the pods in namespace gadget by name; empty unless all of them are ready."""
    pods = as_objects(cluster.get(f"{GADGET}/pods")["items"])
    ready = [
        pod
        for pod in pods
        for condition in as_objects(dig(pod, "status", "conditions"))
        if (condition["type"], condition["status"]) == ("Ready", "True")
        and dig(pod, "status", "phase") == "Running"
    ]
    if len(ready) < len(pods):
        return {}
    return {name_of(pod): text_map(dig(pod, "metadata", "labels")) for pod in pods}


def test_dev_lives_on_a_real_cluster_as_on_a_simulated_one(
    real: Simulation, simulated: Simulation, cluster: Cluster
) -> None:
    before = stable(real.inspect())
    assert real.preview("dev").ops() == real.up("dev").ops()
    inside = comparable(real.inspect())
    pods = until(lambda: ready_pods(cluster))
    assert "pyroscope-0" in pods
    assert [name for name, labels in pods.items() if labels.get("k8s-app") == "gadget"]
    assert real.up("dev", "--refresh").ops() == {}
    signal = real.run("python", "-m", "gpuobs", "check", "--stack", "dev")
    assert "The signal arrives." in signal.stdout
    simulated.up("dev")
    assert comparable(simulated.inspect()) == inside
    real.destroy("dev")
    until(lambda: as_objects(cluster.get("/api/v1/pods")["items"]) == [])
    assert objects(as_object(stable(real.inspect()))) - objects(as_object(before)) == set()
    assert real.state("dev") == []


def test_sandbox_lives_on_a_cluster_of_its_own_which_goes_with_it(real: Simulation) -> None:
    before = stable(real.inspect())
    real.up("sandbox")
    (made,) = [
        key for key in as_object(real.inspect()["kubernetes"]) if "/rg-gpuobs-sandbox/" in key
    ]
    cluster = Cluster(real.home.path, "rg-gpuobs-sandbox", made.rsplit("/", 1)[-1])
    daemon_set = cluster.get("/apis/apps/v1/namespaces/gadget/daemonsets/gadget")
    assert dig(daemon_set, "status", "numberReady")
    assert real.up("sandbox").ops() == {}
    real.destroy("sandbox")
    assert differences(before, stable(real.inspect())) == []
    until(lambda: not cluster.folder.exists())


def test_prod_keeps_profiles_in_blob_on_a_real_cluster(real: Simulation) -> None:
    before = stable(real.inspect())
    real.up("prod")
    cluster = Cluster(real.home.path, "rg-prod", "aks-prod")
    pods = until(lambda: ready_pods(cluster))
    assert pods["pyroscope-0"]["azure.workload.identity/use"] == "true"
    account = cluster.get(f"{GADGET}/serviceaccounts/pyroscope")
    (identity,) = [
        as_object(found)
        for key, found in real.resources().items()
        if "/userassignedidentities/" in key.lower() and "federated" not in key.lower()
    ]
    assert dig(account, "metadata", "annotations", "azure.workload.identity/client-id") == dig(
        identity, "properties", "clientId"
    )
    assert real.up("prod").ops() == {}
    real.destroy("prod")
    until(lambda: as_objects(cluster.get("/api/v1/pods")["items"]) == [])
    after = as_object(stable(real.inspect()))
    assert objects(after) - objects(as_object(before)) == set()
    left = differences(as_object(before)["resources"], after["resources"])
    assert left
    others = [one for one in left if "storageAccounts" not in one]
    assert others == [], "only the account with the profiles stays"


def test_the_checkouts_stack_files_need_no_chart_to_be_named(real: Simulation) -> None:
    project = real.home.project
    for file in sorted(homes.CHECKOUT.glob("Pulumi.*.yaml")):
        copied = as_object(yaml.safe_load((project / file.name).read_text()))
        assert dig(copied, "config", "gpuobs:pyroscope", "chart", "path") == CHART
        assert CHART not in file.read_text()


def test_a_home_is_of_one_kind_for_good(real: Simulation, simulated: Simulation) -> None:
    for simulation, kind, other in ((real, "real", "simulated"), (simulated, "simulated", "real")):
        said = simulation.run(
            "env",
            f"SIM_HOME={simulation.home.path}",
            "scripts/simulate",
            "--kubernetes",
            other,
            "true",
        )
        assert said.returncode == 1
        assert f"are {kind} ones, and --kubernetes {other} was asked for" in said.stderr
        assert "--reset" in said.stderr
        assert "Traceback" not in said.stderr
