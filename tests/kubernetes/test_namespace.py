"""The namespace of agent and Pyroscope on a real API server, with the real Helm as the extension's.

What no source says of the extension is played here both ways: a chart that carries the namespace is
installed into the one that the stack made and marked, and removed again.
"""

import base64
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from simulator.values import JsonObject, as_object, dig
from tests.engine.changes import touched
from tests.engine.portal import portal_of
from tests.engine.simulation import Outcome, Simulation
from tests.kubernetes.cluster import GADGET, SERVICE, Cluster
from tests.simulator.azure import EXTENSION

pytestmark = [pytest.mark.engine, pytest.mark.kubernetes]

PROGRAM = """\
import pulumi
import pulumi_kubernetes as kubernetes

config = pulumi.Config("example")
cluster = kubernetes.Provider("cluster", kubeconfig=config.require("kubeconfig"))
kubernetes.helm.v3.Release(
    "extension",
    name=config.require("release"),
    namespace="gadget",
    chart="./chart",
    skip_await=True,
    opts=pulumi.ResourceOptions(provider=cluster),
)
"""
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: extension\nversion: 1.0.0\n",
    "templates/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: { name: gadget }\n",
    "templates/settings.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: extension, namespace: gadget }\n"
    ),
}
MARKED, OTHER = "inspektor-gadget", "another"
AGAIN = "again"
"""A stack that installs the release anew, as Azure does with an extension that is new to it."""
NOT_REMOVED: JsonObject = {
    "service": "arm",
    "method": "DELETE",
    "path": ".*/extensions/inspektor-gadget",
    "then": {
        "operation": {
            "status": "Failed",
            "error": {
                "code": "ExtensionOperationFailed",
                "message": f"Helm uninstallation failed : failed to delete release: {MARKED}",
            },
        }
    },
}
"""Azure's extension, after Helm was not let delete the namespace of its release."""


@dataclass(frozen=True)
class Life:
    metadata: JsonObject
    """Of the namespace, after the stack's ``up``."""
    quiet: Outcome
    """``up --refresh`` after it."""
    other: Outcome
    """The install of a release that the namespace is not marked for."""
    installed: Outcome
    removed: Outcome
    deleted: tuple[int, JsonObject]
    """What the API server says to deleting the namespace by hand."""
    kept: bool
    """Whether namespace and Service are there after all that."""
    blocked: Outcome
    """The install of the release once more, with what Helm has kept of it."""
    recovered: Outcome
    """``up`` of the stack, to which Azure says what Helm said of the extension."""
    again: Outcome
    """The install of the release after that."""
    served: bool
    """Whether namespace and Service are the ones that were there at the beginning."""
    destroyed: Outcome
    left: object


@pytest.fixture(scope="module")
def life(real: Simulation, cluster: Cluster, program_folder: Path) -> Life:
    real.up()
    metadata = as_object(cluster.get(GADGET)["metadata"])
    served = uids(cluster)
    quiet = real.up("dev", "--refresh")
    helm = extension(real, cluster, program_folder)
    other = helm.up(OTHER, check=False)
    installed = helm.up(MARKED, check=False)
    removed = helm.destroy(MARKED, check=False)
    deleted = cluster.call("DELETE", GADGET)
    kept = all(
        "deletionTimestamp" not in as_object(cluster.get(path)["metadata"])
        for path in (GADGET, SERVICE)
    )
    blocked = helm.up(AGAIN, check=False)
    with portal_of(real) as azure:
        real.faults(NOT_REMOVED)
        azure.call("DELETE", EXTENSION)
        azure.settled(EXTENSION)
        real.faults()
    recovered = real.up(check=False)
    again = helm.up(AGAIN, check=False)
    same = uids(cluster) == served
    destroyed = real.destroy("dev", check=False)
    return Life(
        metadata=metadata,
        quiet=quiet,
        other=other,
        installed=installed,
        removed=removed,
        deleted=deleted,
        kept=kept,
        blocked=blocked,
        recovered=recovered,
        again=again,
        served=same,
        destroyed=destroyed,
        left=cluster.find(GADGET),
    )


def uids(cluster: Cluster) -> list[object]:
    """Of the namespace and of Pyroscope's Service."""
    return [as_object(cluster.get(path)["metadata"])["uid"] for path in (GADGET, SERVICE)]


def extension(real: Simulation, cluster: Cluster, folder: Path) -> Simulation:
    """Stacks of a program that installs a chart with the namespace in it."""
    for name, text in CHART.items():
        file = folder / "chart" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    authority = base64.b64encode((real.home.azure / "ca.pem").read_bytes()).decode()
    port = json.loads((cluster.folder / "ports.json").read_text())[2]
    named = {"name": "aks-dev"}
    server = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": authority}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{**named, "cluster": server}],
        "users": [{**named, "user": {"token": cluster.token}}],
        "contexts": [{**named, "context": {"cluster": "aks-dev", "user": "aks-dev"}}],
        "current-context": "aks-dev",
    }
    stacks = {
        name: {"example:kubeconfig": json.dumps(kubeconfig), "example:release": release}
        for name, release in ((MARKED, MARKED), (OTHER, OTHER), (AGAIN, MARKED))
    }
    return real.of_program(folder, PROGRAM, stacks=stacks)


def test_the_namespace_is_marked_for_the_extensions_release_over_pulumis_own_label(
    life: Life,
) -> None:
    assert dig(life.metadata, "labels", "app.kubernetes.io/managed-by") == "Helm"
    annotations = as_object(life.metadata["annotations"])
    assert annotations["meta.helm.sh/release-name"] == MARKED
    assert annotations["meta.helm.sh/release-namespace"] == "gadget"


def test_the_mark_is_no_drift(life: Life) -> None:
    assert touched(life.quiet) == {}


def test_helm_takes_the_namespace_over_for_that_release_only(life: Life) -> None:
    assert life.installed.ok, life.installed.output
    assert not life.other.ok
    assert "invalid ownership metadata" in life.other.output
    assert f'must equal "{OTHER}"' in life.other.output


def test_removing_the_release_keeps_the_namespace_and_pyroscope(life: Life) -> None:
    assert not life.removed.ok
    status, body = life.deleted
    assert status == 403, body
    assert "gadget holds pyroscope" in str(body["message"])
    assert "ValidatingAdmissionPolicy 'gpuobs-keep-gadget'" in str(body["message"])
    assert life.kept


def test_up_lets_helm_forget_what_it_could_not_remove_and_the_extension_is_installed_again(
    life: Life,
) -> None:
    assert not life.blocked.ok
    assert "cannot re-use a name that is still in use" in life.blocked.output
    assert life.recovered.ok, life.recovered.output
    assert touched(life.recovered) == {
        "inspektor-gadget-extension": "replace",
        "inspektor-gadget-extension-recovery": "create",
    }
    assert life.again.ok, life.again.output
    assert life.served


def test_destroy_takes_everything_away(life: Life) -> None:
    assert life.destroyed.ok, life.destroyed.output
    assert life.left is None
