"""``rights``: a deployment by somebody with exactly the rights of README.md, and with each removed.

What is removed is reported by a clear error that names the role: by ``up`` before the first
resource is made, by ``destroy`` where it is needed, as the engine destroys without the program.
With every right the same command then ends well.
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import Final

from simulator.arm import roles
from tests.engine.portal import Portal, portal_of, resource_group
from tests.faults import worlds
from tests.faults.matrix import Result, judged
from tests.faults.stage import PHASES, Phase, Run, Stage

VERB = "rights"
SOMEBODY: Final = "33333333-3333-4333-8333-333333333333"
OWNER: Final = "22222222-2222-4222-8222-222222222222"
GROUP: Final = resource_group("rg-dev")
SUBSCRIPTION: Final = GROUP.rpartition("/resourceGroups/")[0]
CLUSTER: Final = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-dev"
GRAFANA: Final = f"{GROUP}/providers/Microsoft.Dashboard/grafana/grafana-dev"
WORKSPACE: Final = f"{GROUP}/providers/Microsoft.Monitor/accounts/amw-dev"
TABLE: Final[Mapping[str, tuple[str, str]]] = {
    "Contributor on the cluster": (roles.CONTRIBUTOR, CLUSTER),
    "Contributor on the resource group": (roles.CONTRIBUTOR, GROUP),
    "Contributor on Grafana": (roles.CONTRIBUTOR, GRAFANA),
    "Grafana Admin on Grafana": (roles.GRAFANA_ADMIN, GRAFANA),
    "Network Contributor on the node group": (
        roles.NETWORK_CONTRIBUTOR,
        resource_group("MC_rg-dev_aks-dev_westeurope"),
    ),
    "Reader on the workspace": (roles.READER, WORKSPACE),
    "Reader on the subscription": (roles.READER, SUBSCRIPTION),
}
"""The rows of README.md that a stack on existing things needs, each as it is assigned."""
INCLUDED: Final[Mapping[str, tuple[str, ...]]] = {
    # Contributor on a group is one on what is in it, and Reader on the subscription is one on all.
    "Contributor on the cluster": ("Contributor on the resource group",),
    "Contributor on Grafana": ("Contributor on the resource group",),
    "Reader on the workspace": ("Contributor on the resource group", "Reader on the subscription"),
    "Contributor on the resource group": (),
}
"""The rows that give what another gives, too: they are removed with it."""
OPTIONAL: Final = ("Reader on the subscription",)
"""Without it a deployment goes on."""
ALL: Final = "exactly the rights"


def cases() -> Iterator[str]:
    """``command / what is removed``."""
    for command in ("up", "destroy"):
        yield f"{command} / {ALL}"
        for row in TABLE:
            yield f"{command} / without {row}"


def run(stage: Stage, case: str) -> Result:
    """Run one case."""
    command, what = case.split(" / ")
    removed = what.removeprefix("without ") if what != ALL else ""
    phase = PHASES[command]
    golden = stage.good_end(phase)
    stage.begin(phase)
    without = {removed, *INCLUDED.get(removed, ())}
    with portal_of(stage.sim) as portal:
        for name, (role, scope) in TABLE.items():
            if name not in without:
                _assign(portal, role, scope)
    before = worlds.normal(stage.sim.inspect())
    done = _as_somebody(stage, command)
    why: list[str] = []
    if done.is_a_defect:
        why.append("it showed a defect")
    elif not removed or (removed in OPTIONAL and command == "up"):
        why += [] if done.ok else [done.error]
    elif command == "up":
        why += _refused_before(before, stage, done)
    if removed and not done.ok and not why:
        words = [removed.partition(" on ")[0]]
        # Of a provider's own request Azure says which action on what is not allowed.
        words += ["does not have authorization to perform action"] if command == "destroy" else []
        why += [] if any(one in done.output for one in words) else [f"{words[0]} is not named"]
    return judged(VERB, case, why or _whole(stage, phase, golden, done), [done.error])


def _refused_before(before: object, stage: Stage, done: Run) -> list[str]:
    """What was made before a missing right was reported."""
    if done.ok:
        return ["it ended well without the right"]
    after = worlds.normal(stage.sim.inspect())
    return [f"something was made: {one}" for one in worlds.differences(before, after, 3)]


def _whole(stage: Stage, phase: Phase, golden: object, done: Run) -> list[str]:
    """What differs from a good end, once the owner has run what did not end well."""
    if not done.ok:
        done = stage.run(phase.command, phase.stack)
    if not done.ok:
        return [f"with every right: {done.error}"]
    with portal_of(stage.sim) as portal:
        for role, scope in TABLE.values():
            portal.call("DELETE", _assignment(role, scope))
    return worlds.differences(golden, stage.world())


def _as_somebody(stage: Stage, command: str) -> Run:
    settings = {"principals": [{"id": SOMEBODY, "kind": "ServicePrincipal", "name": "somebody"}]}
    stage.sim.control("POST", "settings", settings)
    stage.sim.control("POST", "advance", {"seconds": 3600})  # roles have propagated
    stage.sim.control("POST", "settings", {"caller": SOMEBODY})
    try:
        return stage.run(command)
    finally:
        stage.sim.control("POST", "settings", {"caller": OWNER})


def _assignment(role: str, scope: str) -> str:
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{scope}|{role}|{SOMEBODY}")
    return f"{scope}/providers/Microsoft.Authorization/roleAssignments/{name}"


def _assign(portal: Portal, role: str, scope: str) -> None:
    properties = {
        "roleDefinitionId": f"{SUBSCRIPTION}/providers/{roles.ROLE_DEFINITIONS}/{role}",
        "principalId": SOMEBODY,
        "principalType": "ServicePrincipal",
    }
    answer = portal.call("PUT", _assignment(role, scope), {"properties": properties})
    assert answer.status_code in (200, 201), answer.text
