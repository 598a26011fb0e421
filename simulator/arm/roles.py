"""Azure role-based access control: the built-in roles in use, and who may do what where.

A role takes effect on the data plane only when its assignment has propagated; ARM's own actions
follow an assignment at once. Locked node resource groups deny every write to everybody.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from simulator.values import JsonObject, as_object, as_objects, as_text, dig, texts
from simulator.world import Resource, World

OWNER = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
CONTRIBUTOR = "b24988ac-6180-42a0-ab88-20f7382dd24c"
READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
USER_ACCESS_ADMINISTRATOR = "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9"
NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"
GRAFANA_ADMIN = "22926164-76b3-42b3-bc55-97df8dab3e41"
GRAFANA_EDITOR = "a79a5197-3a5c-4973-a920-486035ffd60f"
GRAFANA_VIEWER = "60921a7e-fef1-4a43-9b16-a26c52ad4769"
MONITORING_DATA_READER = "b0d8363b-8ddd-447d-831f-62ca05bff136"
MONITORING_READER = "43d0d8ad-25c7-4714-9337-8ba259a9fe05"
STORAGE_BLOB_DATA_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
AKS_CLUSTER_ADMIN = "0ab0b1a8-8aac-4efd-b8c2-3ee1fb270be8"
AKS_CLUSTER_USER = "4abbcc35-e782-43d8-92c5-2d3f1bd2253f"
AKS_RBAC_CLUSTER_ADMIN = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"

ROLE_ASSIGNMENTS = "Microsoft.Authorization/roleAssignments"
ROLE_DEFINITIONS = "Microsoft.Authorization/roleDefinitions"


@dataclass(frozen=True)
class Role:
    """A role definition."""

    name: str
    actions: tuple[str, ...] = ()
    not_actions: tuple[str, ...] = ()
    data_actions: tuple[str, ...] = ()


ROLES: dict[str, Role] = {
    OWNER: Role("Owner", ("*",)),
    CONTRIBUTOR: Role(
        "Contributor",
        ("*",),
        (
            "Microsoft.Authorization/*/Delete",
            "Microsoft.Authorization/*/Write",
            "Microsoft.Authorization/elevateAccess/Action",
        ),
    ),
    READER: Role("Reader", ("*/read",)),
    USER_ACCESS_ADMINISTRATOR: Role(
        "User Access Administrator", ("*/read", "Microsoft.Authorization/*")
    ),
    NETWORK_CONTRIBUTOR: Role(
        "Network Contributor",
        (
            "Microsoft.Authorization/*/read",
            "Microsoft.Network/*",
            "Microsoft.Resources/subscriptions/resourceGroups/read",
        ),
    ),
    GRAFANA_ADMIN: Role(
        "Grafana Admin", (), (), ("Microsoft.Dashboard/grafana/ActAsGrafanaAdmin/action",)
    ),
    GRAFANA_EDITOR: Role(
        "Grafana Editor", (), (), ("Microsoft.Dashboard/grafana/ActAsGrafanaEditor/action",)
    ),
    GRAFANA_VIEWER: Role(
        "Grafana Viewer", (), (), ("Microsoft.Dashboard/grafana/ActAsGrafanaViewer/action",)
    ),
    MONITORING_DATA_READER: Role(
        "Monitoring Data Reader", (), (), ("Microsoft.Monitor/accounts/data/*/read",)
    ),
    MONITORING_READER: Role("Monitoring Reader", ("*/read",)),
    STORAGE_BLOB_DATA_CONTRIBUTOR: Role(
        "Storage Blob Data Contributor",
        ("Microsoft.Storage/storageAccounts/blobServices/containers/*",),
        (),
        ("Microsoft.Storage/storageAccounts/blobServices/containers/blobs/*",),
    ),
    AKS_CLUSTER_ADMIN: Role(
        "Azure Kubernetes Service Cluster Admin Role",
        (
            "Microsoft.ContainerService/managedClusters/listClusterAdminCredential/action",
            "Microsoft.ContainerService/managedClusters/read",
        ),
    ),
    AKS_CLUSTER_USER: Role(
        "Azure Kubernetes Service Cluster User Role",
        (
            "Microsoft.ContainerService/managedClusters/listClusterUserCredential/action",
            "Microsoft.ContainerService/managedClusters/read",
        ),
    ),
    AKS_RBAC_CLUSTER_ADMIN: Role(
        "Azure Kubernetes Service RBAC Cluster Admin",
        ("Microsoft.ContainerService/managedClusters/listClusterUserCredential/action",),
        (),
        ("Microsoft.ContainerService/managedClusters/*",),
    ),
}


def definition(world: World, role: str) -> Role | None:
    """A built-in role, or one of somebody's own, by its GUID."""
    if role.lower() in ROLES:
        return ROLES[role.lower()]
    for item in world.of_type(ROLE_DEFINITIONS):
        if item.name.lower() == role.lower():
            permissions = next(iter(as_objects(item.properties.get("permissions"))), JsonObject())
            return Role(
                as_text(item.properties.get("roleName")),
                tuple(texts(permissions.get("actions"))),
                tuple(texts(permissions.get("notActions"))),
                tuple(texts(permissions.get("dataActions"))),
            )
    return None


def scope_of(assignment: Resource) -> str:
    """The scope of a role assignment."""
    return assignment.id[: assignment.key.rindex("/providers/microsoft.authorization/")]


def role_of(assignment: Resource) -> str:
    """The GUID of the role definition that is assigned."""
    definition = as_text(assignment.properties.get("roleDefinitionId"))
    return definition.rsplit("/", 1)[-1].lower()


def covers(scope: str, resource_id: str) -> bool:
    """Whether ``resource_id`` is ``scope`` or below it."""
    scope, resource_id = scope.lower().rstrip("/"), resource_id.lower().rstrip("/")
    return resource_id == scope or resource_id.startswith(scope + "/")


def identities(world: World, principal: str) -> set[str]:
    """A principal and every group that it is in, also through other groups; in lower case."""
    found = {principal.lower()}
    while (
        more := {
            group.id.lower()
            for group in world.principals.values()
            if found & {member.lower() for member in group.members}
        }
        - found
    ):
        found |= more
    return found


def assignments(world: World, principal: str, scope: str) -> Iterator[Resource]:
    """The assignments of a principal, or of a group of its, at a scope or above it."""
    held_by = identities(world, principal)
    for item in world.of_type(ROLE_ASSIGNMENTS):
        own = as_text(item.properties.get("principalId")).lower() in held_by
        if own and covers(scope_of(item), scope):
            yield item


def holds(world: World, principal: str, scope: str, role_ids: Collection[str]) -> bool:
    """Whether one of the roles is assigned at ``scope`` or above it, and has propagated.

    A role of somebody's own that allows the same on data counts as well.
    """
    wanted = {role.lower() for role in role_ids}
    needed = [action for role in wanted for action in ROLES[role].data_actions]

    def does(role: str) -> bool:
        if role in wanted:
            return True
        own = None if role in ROLES else definition(world, role)
        return own is not None and any(_matches(own.data_actions, one) for one in needed)

    return any(
        item.hidden.get("effective") is True and does(role_of(item))
        for item in assignments(world, principal, scope)
    )


def may(world: World, principal: str, action: str, scope: str) -> bool:
    """Whether a role assignment allows ``action`` on ``scope``."""
    for item in assignments(world, principal, scope):
        role = definition(world, role_of(item))
        if role and _matches(role.actions, action) and not _matches(role.not_actions, action):
            return True
    return False


def _matches(patterns: tuple[str, ...], action: str) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)


def lock_over(world: World, scope: str) -> Resource | None:
    """The cluster whose locked node resource group contains ``scope``, if there is one."""
    for cluster in world.of_type("Microsoft.ContainerService/managedClusters"):
        level = dig(as_object(cluster.body), "properties", "nodeResourceGroupProfile")
        if as_text(as_object(level).get("restrictionLevel")) != "ReadOnly":
            continue
        subscription = cluster.id.split("/")[2]
        group = as_text(cluster.properties.get("nodeResourceGroup"))
        if covers(f"/subscriptions/{subscription}/resourceGroups/{group}", scope):
            return cluster
    return None
