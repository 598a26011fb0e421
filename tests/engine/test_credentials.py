"""Credentials that change or are none: a rotated kubeconfig, an encrypted setting, Entra ID."""

import re
from dataclasses import dataclass

import pytest
import yaml

from simulator.values import as_object
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import CLUSTER, Kubernetes

pytestmark = pytest.mark.engine

ACCESS_TOKEN = re.compile(r"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}")
PASSWORD = "correct-horse-battery"  # noqa: S105 - nobody's


@dataclass(frozen=True)
class Life:
    """A stack on a cluster that gives static tokens."""

    rotated: Outcome
    """``up`` after the cluster's certificates were rotated."""
    encrypted: Outcome
    """A preview with an encrypted value in the stack file."""


@pytest.fixture(scope="module")
def life(sim: Simulation, person: Portal) -> Life:
    sim.up()
    token = Kubernetes(person).token
    assert person.call("POST", f"{CLUSTER}/rotateClusterCertificates").status_code == 202
    assert Kubernetes(person).token != token
    return Life(rotated=sim.up(), encrypted=with_an_encrypted_tag(sim))


def with_an_encrypted_tag(sim: Simulation) -> Outcome:
    """Preview with a value in the stack file as `pulumi config set --secret --path` writes it."""
    written = sim.pulumi(
        *("config", "set", "--secret", "--path", "gpuobs:azure.tags.password", PASSWORD),
        *("--stack", "dev"),
    )
    assert written.ok, written.output
    document = yaml.safe_load((sim.home.project / "Pulumi.dev.yaml").read_text())
    value = document["config"]["gpuobs:azure"]["tags"]["password"]
    assert list(value) == ["secure"]
    sim.stack_file("dev", {"azure.tags.password": value})
    outcome = sim.preview("dev", check=False)
    sim.stack_file("dev", {"azure": None}, like="dev")
    return outcome


@pytest.mark.handles("kubeconfig-rotates")
def test_another_kubeconfig_of_the_same_cluster_replaces_and_changes_nothing(life: Life) -> None:
    assert life.rotated.ops() == {}
    assert [str(step) for step in life.rotated.steps if "replace" in step.op] == []
    assert life.rotated.step("cluster-kubernetes").op == "update"


@pytest.mark.handles("secret-in-section")
def test_an_encrypted_value_in_a_section_is_refused_and_not_shown(life: Life) -> None:
    assert life.encrypted.status != 0
    assert "no encrypted value (`secure:`) in a section" in life.encrypted.output
    assert PASSWORD not in life.encrypted.output
    assert "Traceback" not in life.encrypted.output


# --- a cluster with Entra ID ---------------------------------------------------------------------


@dataclass(frozen=True)
class Entra:
    """A stack on a cluster that gives no static tokens."""

    up: Outcome
    again: Outcome
    decrypted: str
    """Its state, secrets shown."""
    destroy: Outcome


@pytest.fixture(scope="module")
def entra(sim: Simulation, person: Portal, life: Life) -> Entra:
    del life
    cluster = person.get(CLUSTER.replace("dev", "prod"))
    properties = {
        **as_object(cluster["properties"]),
        "aadProfile": {"managed": True},
        "disableLocalAccounts": True,
    }
    body = {key: cluster[key] for key in ("location", "identity", "sku")}
    body["properties"] = {key: value for key, value in properties.items() if key not in COMPUTED}
    person.put(CLUSTER.replace("dev", "prod"), body)
    existing = {"name": "aks-prod", "resourceGroup": "rg-prod"}
    sim.stack_file("prod", {"cluster.existing": existing}, like="dev")
    # With names of its own: the stack dev is up on the same Grafana.
    sim.stack_file("prod", {"grafana.dataSources": None, "grafana.dashboard": None})
    up = sim.up("prod")
    shown = sim.pulumi("stack", "export", "--show-secrets", "--stack", "prod").output
    return Entra(up, sim.up("prod"), shown, sim.destroy("prod"))


COMPUTED = frozenset(
    {
        "provisioningState",
        "powerState",
        "fqdn",
        "azurePortalFQDN",
        "privateFQDN",
        "currentKubernetesVersion",
        "maxAgentPools",
        "identityProfile",
        "resourceUID",
    }
)


@pytest.mark.handles("local-accounts-disabled")
def test_a_cluster_with_entra_id_works_without_kubelogin(entra: Entra) -> None:
    assert entra.up.ok
    assert entra.again.ops() == {}
    assert entra.destroy.ok


@pytest.mark.handles("local-accounts-disabled")
def test_a_cluster_with_entra_id_has_no_token_in_state_not_even_an_encrypted_one(
    entra: Entra,
) -> None:
    assert "kube-token" in entra.decrypted
    assert "kubelogin" not in entra.decrypted
    assert ACCESS_TOKEN.search(entra.decrypted) is None
    assert "token:" not in entra.decrypted
