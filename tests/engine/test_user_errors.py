"""What cannot work is reported in one message, before the first resource, with the fix."""

from dataclasses import dataclass

import pytest

from simulator.demo import differences, stable
from simulator.seed import CALLER_ID, SUBSCRIPTION_ID
from simulator.values import JsonObject, as_object, as_text, dig
from tests.engine.portal import Portal, resource_group
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import CLUSTER, GRAFANA, WORKSPACE

pytestmark = pytest.mark.engine

OTHER_CALLER = "99999999-9999-4999-8999-999999999999"
ODD = f"{resource_group('rg-dev')}/providers/Microsoft.ContainerService/managedClusters/aks-odd"


def refused(sim: Simulation) -> Outcome:
    """`up` of a stack that must not begin: one message, nothing made."""
    before = stable(sim.inspect())
    outcome = sim.up(check=False)
    assert outcome.status != 0
    assert outcome.changes == []
    assert "Traceback" not in outcome.output
    assert differences(before, stable(sim.inspect())) == []
    return outcome


def assert_says(outcome: Outcome, *words: str) -> None:
    """All of it, in the message that the user reads first."""
    message, rest = outcome.diagnostics  # the second is the engine's own word for the failure
    assert "non-zero exit code" in rest
    assert [word for word in words if word not in message] == [], message


# --- the stack file ------------------------------------------------------------------------------


def test_every_fault_of_the_settings_is_in_one_message(sim: Simulation) -> None:
    sim.stack_file(
        "dev",
        {
            "gpuPool.name": "gpu-enabled",
            "pyroscope.imageTag": "1.20.0",
            "pyroscope.privateLink.name": "x" * 81,
            "grafana.dashboard.uid": "with a space",
            "cluster.existing.colour": "blue",
            "unknown.setting": 1,
        },
        like="dev",
    )
    outcome = refused(sim)
    sim.stack_file("dev", like="dev")
    assert_says(
        outcome,
        "gpuobs:gpuPool.name",
        "gpu-enabled",
        "1.20.0",
        "gpuobs:pyroscope.privateLink.name",
        "gpuobs:grafana.dashboard.uid",
        "gpuobs:cluster.existing.colour",
        "gpuobs:unknown",
    )


# --- what exists ---------------------------------------------------------------------------------


def test_what_is_not_there_is_named_with_the_command_that_lists_it(sim: Simulation) -> None:
    sim.stack_file(
        "dev",
        {
            "cluster.existing.name": "aks-none",
            "grafana.existing.name": "grafana-none",
            "prometheus.azureMonitorWorkspace.existing.name": "amw-none",
        },
        like="dev",
    )
    outcome = refused(sim)
    sim.stack_file("dev", like="dev")
    for name in ("aks-none", "grafana-none", "amw-none"):
        assert_says(outcome, f"az resource list --name {name} --subscription {SUBSCRIPTION_ID}")


@dataclass(frozen=True)
class Unfit:
    """Everything that exists is unfit, each thing in its way."""

    outcome: Outcome
    grafana_identity: str


@pytest.fixture(scope="module")
def unfit(sim: Simulation, person: Portal) -> Unfit:
    roles = [
        key
        for key in sim.resources()
        if "roleassignments" in key.lower() and ("/grafana-dev/" in key or "/amw-dev/" in key)
    ]
    kept = {role: person.get(role) for role in roles}
    grafana = person.get(GRAFANA)
    basic = {key: grafana[key] for key in ("location", "identity")}
    properties = {"grafanaMajorVersion": "12"}
    for role in roles:
        person.call("DELETE", role)
    closed = {**properties, "publicNetworkAccess": "Disabled"}
    person.put(GRAFANA, {**basic, "sku": {"name": "Essential"}, "properties": closed})
    assert person.call("POST", f"{CLUSTER}/stop").status_code == 202
    states = {"Microsoft.KubernetesConfiguration": "NotRegistered"}
    sim.control("POST", "settings", {"registrations": states})
    outcome = refused(sim)
    sim.control("POST", "settings", {"registrations": dict.fromkeys(states, "Registered")})
    assert person.call("POST", f"{CLUSTER}/start").status_code == 202
    person.put(GRAFANA, {**basic, "sku": {"name": "Standard"}, "properties": properties})
    for role, body in kept.items():
        given = as_object(body["properties"])
        wanted = {key: given[key] for key in ("roleDefinitionId", "principalId", "principalType")}
        assert person.call("PUT", role, {"properties": wanted}).status_code == 201
    return Unfit(outcome, as_text(dig(grafana, "identity", "principalId")))


@pytest.mark.handles("missing-prerequisites")
@pytest.mark.handles("cluster-stopped")
@pytest.mark.handles("provider-not-registered")
@pytest.mark.handles("grafana-not-public")
def test_all_that_is_unfit_is_reported_at_once_with_the_lines_that_fix_it(unfit: Unfit) -> None:
    assert_says(
        unfit.outcome,
        "it is stopped",
        "az aks start --name aks-dev --resource-group rg-dev",
        "must be of tier Standard; it is Essential",
        "its public network access is Disabled",
        "az provider register --namespace Microsoft.KubernetesConfiguration",
    )


@pytest.mark.handles("missing-prerequisites")
def test_a_missing_role_is_reported_with_the_line_that_assigns_it(unfit: Unfit) -> None:
    assert_says(
        unfit.outcome,
        "you need the role Grafana Admin",
        CALLER_ID,
        "Grafana's identity needs the role Monitoring Data Reader",
        unfit.grafana_identity,
        f"--scope {WORKSPACE}",
    )


@pytest.fixture(scope="module")
def odd_cluster(person: Portal) -> None:
    """A cluster of the kind AKS Automatic: locked node group, and here also a private API."""
    person.put(
        ODD,
        {
            "location": "westeurope",
            "identity": {"type": "SystemAssigned"},
            "sku": {"name": "Automatic", "tier": "Standard"},
            "properties": {
                "dnsPrefix": "odd",
                "azureMonitorProfile": {"metrics": {"enabled": True}},
                "nodeResourceGroupProfile": {"restrictionLevel": "ReadOnly"},
                "apiServerAccessProfile": {"enablePrivateCluster": True},
                "agentPoolProfiles": [
                    {"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 2}
                ],
            },
        },
    )


@pytest.mark.handles("node-group-locked")
def test_a_locked_node_resource_group_is_refused_with_the_ways_out(
    sim: Simulation, odd_cluster: None
) -> None:
    sim.stack_file("dev", {"cluster.existing.name": "aks-odd"}, like="dev")
    outcome = refused(sim)
    assert_says(
        outcome,
        "is locked (ReadOnly)",
        "gpuobs:pyroscope.privateLink: { resourceGroup: GROUP }",
        "gpuobs:pyroscope.privateLink.autoApproval",
        "aks-managed-protect-system-namespaces",
        "gpuPool: { devicePlugin: false }",
    )


@pytest.mark.handles("api-server-unreachable")
def test_a_private_api_server_and_the_safeguards_of_an_automatic_cluster_are_named_at_preview(
    sim: Simulation, odd_cluster: None
) -> None:
    sim.stack_file(
        "dev",
        {
            "cluster.existing.name": "aks-odd",
            "pyroscope.privateLink.autoApproval": [OTHER_CALLER],
            "gpuPool.devicePlugin": False,
        },
        like="dev",
    )
    preview = sim.preview(check=False)
    sim.stack_file("dev", like="dev")
    warnings = " ".join(preview.diagnostics)
    assert "The API server of cluster aks-odd is private" in warnings
    assert "is an AKS Automatic one" in warnings
    assert "az aks safeguards update --name aks-odd" in warnings
    assert "Traceback" not in preview.output


# --- the caller ----------------------------------------------------------------------------------


def test_a_caller_without_any_right_sees_what_it_may_not_read(sim: Simulation) -> None:
    caller = {"id": OTHER_CALLER, "kind": "ServicePrincipal", "name": "somebody"}
    sim.control("POST", "settings", {"principals": [caller], "caller": OTHER_CALLER})
    try:
        outcome = refused(sim)
    finally:
        sim.control("POST", "settings", {"caller": CALLER_ID})
    assert_says(outcome, "you must be allowed to read it", "AuthorizationFailed")


def test_a_machine_without_an_identity_is_asked_to_sign_in(sim: Simulation) -> None:
    sim.control("POST", "settings", {"caller": ""})
    try:
        outcome = refused(sim)
    finally:
        sim.control("POST", "settings", {"caller": CALLER_ID})
    assert "az login" in outcome.output


# --- answers that cannot be used -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "words"),
    [
        (
            {
                "status": 403,
                "body": {"error": {"code": "AuthorizationFailed", "message": "not you"}},
            },
            "Cluster User Role",
        ),
        ({"status": 200, "body": {"kubeconfigs": []}}, "no kubeconfig"),
        ({"status": 200, "body": {"kubeconfigs": [{"name": "u", "value": "%%"}]}}, "no kubeconfig"),
    ],
    ids=["forbidden", "none", "not base64"],
)
def test_a_kubeconfig_that_cannot_be_used_is_a_sentence_and_no_traceback(
    sim: Simulation, then: JsonObject, words: str
) -> None:
    sim.stack_file("dev", like="dev")
    sim.faults({"path": ".*/listClusterUserCredential", "count": None, "then": then})
    outcome = sim.preview(check=False)
    sim.faults()
    assert outcome.status != 0
    assert "Traceback" not in outcome.output
    assert "The kubeconfig of cluster aks-dev cannot be used." in outcome.output
    assert words in outcome.output
