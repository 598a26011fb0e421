"""Without ``ARM_*`` variables everybody is whoever is signed in to the Azure CLI, and nobody else.

The machine has an identity of its own here, without any rights: a VM, a Dev Box, a build agent. The
CLI knows two accounts, of which the default one belongs to another tenant.
"""

import json
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from simulator.seed import CALLER_ID, SUBSCRIPTION_ID
from tests.engine.changes import STACK, touched
from tests.engine.portal import Portal
from tests.engine.simulation import Simulation

pytestmark = pytest.mark.engine

MACHINE = "55555555-5555-4555-8555-555555555555"
STRANGER = "66666666-6666-4666-8666-666666666666"
ARM = "https://management.azure.com"
AUDIENCES = (ARM, "ce34e7e5-485f-4d76-964f-b3d2b16d1e4f")
OTHER_SUBSCRIPTION = "77777777-7777-4777-8777-777777777777"

AZ = """\
    #!{python}
    # Stands in for the Azure CLI: two accounts, of which the default one is another tenant's.
    import json, sys
    arguments = dict(zip(sys.argv[3::2], sys.argv[4::2]))
    accounts = json.load(open({accounts!r}))
    with open({log!r}, "a") as log:
        log.write(" ".join(sys.argv[1:]) + chr(10))
    account = accounts[arguments.get("--subscription", {default!r})]
    if sys.argv[2] == "show":
        print(json.dumps({{"id": account["id"], "environmentName": "AzureCloud"}}))
    else:
        token = account["tokens"][arguments["--resource"]]
        print(json.dumps({{"accessToken": token, "expires_on": 4102444800, "tenant": "t"}}))
"""


class Cli:
    """An ``az`` on PATH, signed in."""

    def __init__(self, folder: Path, person: Portal) -> None:
        self._log = folder / "az.log"
        accounts = {
            SUBSCRIPTION_ID: {"id": SUBSCRIPTION_ID, "tokens": self._tokens(person, CALLER_ID)},
            OTHER_SUBSCRIPTION: {
                "id": OTHER_SUBSCRIPTION,
                "tokens": self._tokens(person, STRANGER),
            },
        }
        file = folder / "accounts.json"
        file.write_text(json.dumps(accounts))
        script = folder / "az"
        script.write_text(
            textwrap.dedent(AZ).format(
                python=sys.executable,
                accounts=str(file),
                log=str(self._log),
                default=OTHER_SUBSCRIPTION,
            )
        )
        script.chmod(0o755)

    @staticmethod
    def _tokens(person: Portal, principal: str) -> dict[str, str]:
        person.settings(caller=principal)
        return {audience: person.token(audience) for audience in AUDIENCES}

    @property
    def asked(self) -> list[str]:
        """What it was asked since the beginning."""
        return self._log.read_text().splitlines()


@pytest.fixture(scope="module")
def cli(sim: Simulation, person: Portal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    folder = tmp_path_factory.mktemp("cli")
    person.settings(
        principals=[
            {"id": MACHINE, "kind": "ServicePrincipal", "name": "vm"},
            {"id": STRANGER, "kind": "User", "name": "somebody@example.invalid"},
        ]
    )
    found = Cli(folder, person)
    person.settings(caller=MACHINE)
    sim.set_variables(
        PATH=os.pathsep.join([str(folder), sim.environment["PATH"]]),
        ARM_USE_MSI="",
        AZURE_TOKEN_CREDENTIALS="",
    )
    yield found
    person.settings(caller=CALLER_ID)


@pytest.mark.handles("two-identities")
def test_a_machine_with_an_identity_of_its_own_deploys_as_the_cli(
    sim: Simulation, cli: Cli
) -> None:
    up = sim.up(STACK)
    assert set(touched(up).values()) == {"create"}
    assert not [line for line in up.diagnostics if "both need the rights" in line]
    assert touched(sim.preview(STACK)) == {}
    assert all("get-access-token" in line for line in cli.asked)


@pytest.mark.handles("two-identities")
def test_tokens_are_asked_for_the_subscription_in_use(sim: Simulation, cli: Cli) -> None:
    """Its tenant is not that of the CLI's default account."""
    sim.set_variables(ARM_SUBSCRIPTION_ID="")
    sim.stack_file(STACK, {"azure.subscriptionId": SUBSCRIPTION_ID})
    before = len(cli.asked)
    sim.stack_file(STACK, {"grafana.dashboard.uid": "another"})
    up = sim.up(STACK)
    assert up.ok
    named = [line for line in cli.asked[before:] if f"--subscription {SUBSCRIPTION_ID}" in line]
    assert named
    assert sim.destroy(STACK).ok
    sim.set_variables(ARM_SUBSCRIPTION_ID=SUBSCRIPTION_ID)


@pytest.mark.handles("two-identities")
def test_an_identity_in_the_stacks_configuration_is_refused_by_name(sim: Simulation) -> None:
    file = sim.stack_file(STACK)
    document = yaml.safe_load(file.read_text())
    document["config"]["azure-native:clientId"] = MACHINE
    file.write_text(yaml.safe_dump(document))
    refused = sim.preview(STACK, check=False)
    assert not refused.ok
    assert "azure-native:clientId" in refused.output
    assert "set ARM_CLIENT_ID" in refused.output
