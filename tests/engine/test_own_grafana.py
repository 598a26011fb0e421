"""A Grafana that is not Azure's: one life of a stack on it, and to Azure's and back."""

import ssl

import httpx
import pytest

from simulator.seed import SUBSCRIPTION_ID
from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine import initial_stacks
from tests.engine.changes import STACK, apply, order, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Outcome, Simulation
from tests.simulator.azure import GROUP

pytestmark = pytest.mark.engine

ADMIN, VIEWER = "glsa_AdminsOwnToken_00000001", "glsa_ViewersOwnToken_00000002"
VARIABLE = "GPUOBS_GRAFANA_TOKEN"
GRAFANA: JsonObject = {
    "cluster": "aks-dev",
    "version": "12.4.1",
    "tokens": {ADMIN: "Admin", VIEWER: "Viewer"},
}
READER = "b0d8363b-8ddd-447d-831f-62ca05bff136"
IDENTITY = "55555555-5555-4555-8555-555555555555"


def there(sim: Simulation, **changes: object) -> str:
    """Run that Grafana in the cluster; its URL."""
    own = {**GRAFANA, "principalId": IDENTITY, **changes}
    sim.control("POST", "settings", {"ownGrafanas": {"ops": own}})
    return f"{sim.environment['SIM_ARM_URL']}/grafana/ops"


def content(sim: Simulation) -> JsonObject:
    """What is on it."""
    return as_object(dig(sim.inspect(), "grafana", "ops"))


@pytest.fixture(scope="module")
def first(sim: Simulation, person: Portal) -> Outcome:
    """The first `up`."""
    url = there(sim)
    principal = {"id": IDENTITY, "kind": "ServicePrincipal", "name": "grafana-ops"}
    sim.control("POST", "settings", {"principals": [principal]})
    roles = f"/subscriptions/{SUBSCRIPTION_ID}/providers/Microsoft.Authorization/roleDefinitions"
    workspace = f"{GROUP}/providers/Microsoft.Monitor/accounts/amw-dev"
    person.arm(
        "PUT",
        f"{workspace}/providers/Microsoft.Authorization/roleAssignments/{IDENTITY}",
        "2022-04-01",
        {
            "properties": {
                "roleDefinitionId": f"{roles}/{READER}",
                "principalId": IDENTITY,
                "principalType": "ServicePrincipal",
            }
        },
    )
    person.advance(600)
    sim.set_variables(**{VARIABLE: ADMIN})
    own = {"url": url, "azureSignIn": "workloadIdentity"}
    sim.stack_file(STACK, {"grafana.existing": None, "grafana.selfHosted": own})
    return sim.up(STACK)


def test_no_endpoint_link_or_role_is_made_for_it(first: Outcome, person: Portal) -> None:
    assert person.kind("managedPrivateEndpoints") == []
    assert person.kind("privateLinkServices") == []
    made = {step.type for step in first.changes}
    assert not any("Assignment" in one or "dashboard:" in one for one in made), made


def test_the_sources_lead_to_the_address_inside_the_cluster(
    first: Outcome, sim: Simulation
) -> None:
    sources = {one["type"]: one for one in as_objects(content(sim)["dataSources"])}
    profiles = sources["grafana-pyroscope-datasource"]
    assert profiles["url"] == "http://pyroscope.gadget.svc:4040"
    metrics = sources["prometheus"]
    assert dig(metrics, "jsonData", "azureCredentials", "authType") == "workloadidentity"
    outputs = sim.outputs(STACK)
    assert as_text(outputs["dashboardUrl"]).endswith("/grafana/ops/d/AdvancedGPUObservability")
    assert "privateEndpoint" not in outputs


def test_a_second_up_changes_nothing(first: Outcome, sim: Simulation) -> None:
    assert touched(sim.up(STACK)) == {}


def test_the_signal_check_and_the_hotspots_read_through_it(first: Outcome, sim: Simulation) -> None:
    signal = sim.run("python", "-m", "gpuobs", "check", "--stack", STACK, "--wait", "300")
    assert "The signal arrives." in signal.stdout, signal.stdout + signal.stderr
    hotspots = sim.run("python", "-m", "gpuobs", "hotspots", "--stack", STACK)
    assert hotspots.returncode == 0, hotspots.stderr
    assert "%" in hotspots.stdout
    ledger = sim.run("python", "-m", "gpuobs", "ledger", "--stack", STACK)
    assert ledger.returncode == 0, ledger.stderr


def test_the_token_is_nowhere(first: Outcome, sim: Simulation) -> None:
    state = initial_stacks.state_file(sim.home, "gpuobs", STACK).read_text()
    for text in (first.output, state, sim.preview(STACK).output, str(sim.control("GET", "faults"))):
        assert ADMIN not in text
    assert VARIABLE in state, "only its name"


def test_what_was_changed_by_hand_is_put_back(first: Outcome, sim: Simulation) -> None:
    source = next(
        one
        for one in as_objects(content(sim)["dataSources"])
        if one["type"] == "grafana-pyroscope-datasource"
    )
    edited = {**source, "url": "http://elsewhere:4040"}
    edited.pop("version", None)
    answer = httpx.put(
        f"{sim.environment['SIM_ARM_URL']}/grafana/ops/api/datasources/uid/{source['uid']}",
        json=edited,
        headers={"Authorization": f"Bearer {ADMIN}"},
        verify=ssl.create_default_context(cafile=sim.environment["SIM_CA_FILE"]),
    )
    assert answer.status_code == 200, answer.text
    assert touched(sim.up(STACK)) == {"data-sources-pyroscope": "update"}
    assert touched(sim.up(STACK)) == {}


@pytest.mark.parametrize(
    ("token", "says"),
    [
        ("", f"environment variable {VARIABLE} is not set"),
        ("glsa_of another Grafana", "does not hold a token"),
        ("glsa_of_another_Grafana", "or it has expired"),
        (VIEWER, "must be allowed datasources:create"),
    ],
)
def test_a_token_that_will_not_do_is_found_at_preview(
    first: Outcome, sim: Simulation, token: str, says: str
) -> None:
    sim.set_variables(**{VARIABLE: token})
    try:
        outcome = sim.preview(STACK, check=False)
    finally:
        sim.set_variables(**{VARIABLE: ADMIN})
    assert not outcome.ok
    assert says in " ".join(outcome.output.split()), outcome.output
    assert not token or token not in outcome.output
    assert "Traceback" not in outcome.output


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": "11.5.2"}, "must run Grafana 11.6 or later; it runs 11.5.2"),
        ({"plugins": ["prometheus"]}, "the data source Grafana Pyroscope must be installed there"),
    ],
)
def test_a_grafana_that_will_not_do_is_found_at_preview(
    first: Outcome, sim: Simulation, changes: JsonObject, says: str
) -> None:
    there(sim, **changes)
    outcome = sim.preview(STACK, check=False)
    there(sim)
    assert not outcome.ok
    assert says in " ".join(outcome.output.split()), outcome.output


def test_an_address_where_no_grafana_is_says_so(first: Outcome, sim: Simulation) -> None:
    url = sim.environment["SIM_ARM_URL"]
    sim.stack_file(STACK, {"grafana.selfHosted.url": url})
    outcome = sim.preview(STACK, check=False)
    sim.stack_file(STACK, {"grafana.selfHosted.url": there(sim)})
    assert "must be Grafana, and answer where you run this" in outcome.output, outcome.output


def test_to_azures_grafana_and_back_the_release_is_made_anew_before_its_way(
    first: Outcome, sim: Simulation, person: Portal
) -> None:
    managed = {"grafana.selfHosted": None, "grafana.existing": _EXISTING}
    there_now = apply(sim, managed)
    assert "gets a private link" in there_now.output
    done = order(there_now)
    assert done.index("- pyroscope-release") < done.index("+ pyroscope-release")
    assert done.index("+ pyroscope-release") < done.index("+ private-endpoint-endpoint")
    assert content(sim)["dataSources"] == []
    assert content(sim)["dashboards"] == []
    assert touched(sim.up(STACK)) == {}
    own = {"url": there(sim), "azureSignIn": "workloadIdentity"}
    back = apply(sim, {"grafana.existing": None, "grafana.selfHosted": own})
    assert "loses its private link" in back.output
    done = order(back)
    chain = [
        "- private-endpoint-endpoint",
        "- pyroscope-private-link-ready",
        "- pyroscope-release",
        "+ pyroscope-release",
    ]
    assert [done.index(one) for one in chain] == sorted(done.index(one) for one in chain), done
    assert person.kind("privateLinkServices") == []
    assert person.kind("managedPrivateEndpoints") == []
    assert touched(sim.up(STACK)) == {}
    signal = sim.run("python", "-m", "gpuobs", "check", "--stack", STACK, "--wait", "300")
    assert "The signal arrives." in signal.stdout, signal.stdout + signal.stderr


def test_another_variable_and_another_way_to_the_profiles_are_updates(
    first: Outcome, sim: Simulation
) -> None:
    # The one of the default does not sign in any more.
    sim.set_variables(**{"OTHER_TOKEN": ADMIN, VARIABLE: VIEWER})
    through = "http://pyroscope.gadget.svc.cluster.local:4040"
    changes = {
        "grafana.selfHosted.tokenVariable": "OTHER_TOKEN",
        "grafana.selfHosted.pyroscopeUrl": through,
    }
    assert touched(apply(sim, changes)) == {
        "data-sources-pyroscope": "update",
        "data-sources-prometheus": "update",
        "dashboard-dashboard": "update",
    }
    sim.set_variables(**{VARIABLE: ADMIN})
    sources = as_objects(content(sim)["dataSources"])
    assert through in [one["url"] for one in sources]


def test_a_private_link_of_ones_own_is_made_where_it_is_asked_for(
    first: Outcome, sim: Simulation, person: Portal
) -> None:
    with_link = apply(sim, {"pyroscope.privateLink": {"create": True}})
    assert "+ pyroscope-private-link-ready" in order(with_link)
    assert len(person.kind("privateLinkServices")) == 1
    assert person.kind("managedPrivateEndpoints") == []


def test_destroy_leaves_nothing_on_it(first: Outcome, sim: Simulation, person: Portal) -> None:
    sim.destroy(STACK)
    assert content(sim) == {"dataSources": [], "dashboards": [], "folders": []}
    assert person.kind("privateLinkServices") == []


_EXISTING = {"name": "grafana-dev", "resourceGroup": "rg-dev"}
