"""Who the caller is, and what it may: before anything is made."""

import json
import uuid
from fnmatch import fnmatchcase

from simulator.values import as_object, as_text, dig, texts
from tests.live.azure import AKS_AUDIENCE, poll
from tests.live.check import Phase, Section, Verdict, check, fails, unknown, verdict
from tests.live.world import CLUSTER, NAMESPACE, World

_TWO_IDENTITIES = "both need the rights"
"""Of the program's warning."""


@check(
    "one-identity",
    Section.BEFORE,
    Phase.READ,
    assumption="Provider and operations sign in as one identity: both read `ARM_*`, else both use "
    "`az login`",
    otherwise="a warning names both object ids; set the `ARM_*` variables, or "
    "`az account set --subscription ID`",
    by_hand="`pulumi preview` prints no such warning",
)
def one_identity(world: World) -> Verdict:
    """The program compares the two itself, and warns."""
    preview = world.once("preview", world.stack.preview)
    warnings = [line for line in preview.diagnostics if _TWO_IDENTITIES in line]
    if warnings:
        return fails(warnings[0])
    if not preview.ok:
        return unknown(preview.output.strip()[-300:])
    return verdict(True, "pulumi preview warns of no second identity")


@check(
    "role-assignments-by-filter",
    Section.BEFORE,
    Phase.READ,
    assumption="Role assignments are found by `atScope() and assignedTo('<object id>')`, groups "
    "included, for users, service principals and managed identities alike",
    otherwise="an error or no right to read them: nothing is concluded. A right that comes from a "
    "*custom* role only is not recognised: give the built-in role that the message names",
    by_hand="compare with `az role assignment list --assignee ID --include-inherited "
    "--include-groups --scope SCOPE`",
)
def role_assignments(world: World) -> Verdict:
    """What is assigned to the caller directly is among what the filter finds."""
    caller = world.tokens.caller()
    scope = f"/subscriptions/{world.options.subscription}"
    path = f"{scope}/providers/Microsoft.Authorization/roleAssignments"
    filter_ = f"atScope() and assignedTo('{caller}')"
    answer = world.arm.call("GET", path, query={"$filter": filter_})
    if not answer.ok:
        return fails(f"the filter is refused: {answer.error}")
    found = {as_text(one.get("id")).lower() for one in answer.items()}
    every = world.arm.list(path, query={"$filter": "atScope()"})
    direct = [one for one in every if dig(one, "properties", "principalId") == caller]
    missing = [one for one in direct if as_text(one.get("id")).lower() not in found]
    seen = f"the filter finds {len(found)} assignments, {len(direct)} of them direct ones"
    if not found:
        return fails(f"the filter finds nothing, and {len(direct)} are assigned directly")
    return verdict(not missing, f"{seen}; {len(missing)} direct ones are missing")


@check(
    "permissions-of-the-caller",
    Section.BEFORE,
    Phase.READ,
    assumption="`Microsoft.Authorization/permissions` of a resource lists what the caller may do "
    "on it, through every role, group and level, with actions and data actions of each, and the "
    "condition of an assignment that has one",
    otherwise="where it lists too little, a right that is there is reported as missing: give the "
    "role that the message names on the very thing",
    by_hand="`az rest --url '/ID-OF-THE-CLUSTER/providers/Microsoft.Authorization/permissions"
    "?api-version=2022-04-01'` has what you may do",
)
def permissions(world: World) -> Verdict:
    """Who can list the groups of the subscription may read them, says the list."""
    scope = f"/subscriptions/{world.options.subscription}"
    world.arm.list(f"{scope}/resourceGroups")
    found = world.arm.list(f"{scope}/providers/Microsoft.Authorization/permissions")
    allowed = [pattern for one in found for pattern in texts(one.get("actions"))]
    action = "microsoft.resources/subscriptions/resourcegroups/read"
    listed = any(fnmatchcase(action, pattern.lower()) for pattern in allowed)
    return verdict(listed, f"{len(found)} permissions are listed for the subscription")


@check(
    "user-credentials-with-entra-id",
    Section.BEFORE,
    Phase.REMOVED,
    assumption="The role `Azure Kubernetes Service Cluster User Role` gives a kubeconfig whose "
    f"exec section can be replaced by `sh operations/run kube-token` (server application "
    f"`{AKS_AUDIENCE}`, in every tenant)",
    otherwise="the API server answers 401: write `cluster.credentials: admin` where local "
    "accounts are on",
    by_hand="on a cluster with Entra ID, `pulumi preview` with `cluster.credentials: user` reads "
    "the namespace",
)
def user_credentials(world: World) -> Verdict:
    """Turns Entra ID with Azure RBAC on for the throw-away cluster, and signs in with a token.

    The last check of all: what comes after it could not sign in any more if it fails.
    """
    cluster = world.id_of(CLUSTER)
    role = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"  # Azure Kubernetes Service RBAC Cluster Admin
    scope = f"/subscriptions/{world.options.subscription}"
    definition = f"{scope}/providers/Microsoft.Authorization/roleDefinitions/{role}"
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{cluster}|{role}")
    caller = world.tokens.caller()
    world.arm.put(
        f"{cluster}/providers/Microsoft.Authorization/roleAssignments/{name}",
        {"properties": {"roleDefinitionId": definition, "principalId": caller}},
    )
    document = world.arm.get(cluster)
    entra = {"managed": True, "enableAzureRBAC": True}
    properties = {**as_object(document["properties"]), "aadProfile": entra}
    world.arm.put(cluster, {**document, "properties": properties})
    if not world.kubernetes().asks_a_program:
        return fails("the user's kubeconfig of a cluster with Entra ID has no exec section")
    done = world.stack.run("sh", "operations/run", "kube-token")
    lines = done.stdout.strip().splitlines()
    token = as_text(dig(as_object(json.loads(lines[-1])), "status", "token")) if lines else ""
    if not token:
        return fails(f"kube-token gives no token: {done.stderr.strip()[-200:]}")
    answer = world.kubernetes().call("GET", NAMESPACE, token=token)

    def admitted() -> bool:
        nonlocal answer
        answer = world.kubernetes().call("GET", NAMESPACE, token=token)
        # A role assigned a moment ago takes minutes to count; a 401 does not go away.
        return answer.status != 403

    poll(admitted, what="the role assignment's taking effect", seconds=900)
    return verdict(answer.ok, f"the API server answers {answer.status} to a token of kube-token")


CHECKS = (one_identity, role_assignments, permissions)
