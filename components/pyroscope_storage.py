"""Where the server keeps profiles: in its pod, on a disk, or on a disk and in Blob.

The paths are those of chart 1.15 to 1.19. With Blob the server signs in by workload identity: the
service account names the identity, a label on the pod asks for its token, and the configuration
holds neither key nor client id (an id there, ``user_assigned_id``, would mean the nodes' metadata
service).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from components.operation import operation
from components.pyroscope_disk import DiskArgs
from contract.messages.base import Verb
from contract.messages.server import ServerRequest
from contract.messages.storage import StorageStartRequest

DATA_DIRECTORY = "/data"
"""The chart's volume, writable for the server's user."""
CLIENT_ID_ANNOTATION = "azure.workload.identity/client-id"
USE_LABEL = "azure.workload.identity/use"
RELEASE_TIMEOUT_SECONDS = 900
"""Image, disk, load balancer, Private Link Service: Helm's 300 s are too short for a new node."""
BLOB_TIMEOUT_SECONDS = 1800
"""With Blob: a new role takes up to 10 minutes to reach Storage (Azure RBAC's documentation); until
then the server stops at its start, and Kubernetes waits up to 5 before it starts it again."""


@dataclass(frozen=True, kw_only=True)
class WatchArgs:
    """Where to watch the server sign in, and end."""

    cluster_id: pulumi.Input[str]
    admin: bool
    """Whether to use the administrator's kubeconfig."""


@dataclass(frozen=True, kw_only=True)
class BlobArgs:
    """A blob container, and the identity that may write to it."""

    account_name: pulumi.Input[str]
    container_name: pulumi.Input[str]
    client_id: pulumi.Input[str]
    """Of an identity that trusts the release's service account."""
    watch: WatchArgs | None = None
    """None: nobody explains why the server does not get in, nor waits until it has ended."""


@dataclass(frozen=True, kw_only=True)
class KeepingArgs:
    """How profiles are kept on a disk."""

    blob: BlobArgs | None = None
    """None: on the disk alone."""
    retention: str | None = None
    """How old they get, e.g. ``30d``; None: the server deletes none for its age."""
    lookback: str | None = None
    """How old a profile may be to be found, ``0s``: any; None: the server's own week."""
    block_minutes: int | None = None
    """Length of a block; must divide an hour. None: the server's own hour."""


def watch_start(
    name: str,
    blob: BlobArgs,
    watch: WatchArgs,
    namespace: pulumi.Input[str],
    pod: str,
    opts: pulumi.ResourceOptions,
) -> None:
    """What says why the server does not get at the container, while Helm waits for it."""

    def request(parts: list[str]) -> str:
        cluster_id, namespace, account, container, client_id = parts
        return StorageStartRequest(
            cluster_id=cluster_id,
            admin=watch.admin,
            namespace=namespace,
            pod=pod,
            account=account,
            container=container,
            client_id=client_id,
        ).to_json()

    known = pulumi.Output.all(
        watch.cluster_id, namespace, blob.account_name, blob.container_name, blob.client_id
    )
    operation(name, Verb.AWAIT_PROFILE_STORAGE, known.apply(request), opts=opts)


def await_end(
    name: str,
    watch: WatchArgs,
    namespace: pulumi.Input[str],
    chain: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> pulumi.Resource:
    """What holds up, once the release is deleted, whatever its pods need to write what they hold.

    The release depends on it, so that it is deleted after that and, as it depends on the ``chain``
    by a property, before anything is made anew.
    """

    def request(parts: list[str]) -> str:
        cluster_id, namespace = parts
        return ServerRequest(
            cluster_id=cluster_id, admin=watch.admin, namespace=namespace
        ).to_json()

    return operation(
        name,
        Verb.HOLD_SERVER,
        pulumi.Output.all(watch.cluster_id, namespace).apply(request),
        delete=Verb.AWAIT_SERVER_STOPPED,
        triggers=[one.id for one in chain if isinstance(one, pulumi.CustomResource)],
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)),
    )


def storage_values(disk: DiskArgs | None, keeping: KeepingArgs) -> dict[str, object]:
    """What the product decides of it, below ``pyroscope``."""
    if disk is None:
        return {}
    persistence: dict[str, object] = {
        "enabled": True,
        "size": disk.size,
        "accessModes": ["ReadWriteOnce"],
    }
    if disk.storage_class_name is not None:
        persistence["storageClassName"] = disk.storage_class_name
    configuration: dict[str, object] = {"storage": _bucket(keeping.blob)}
    if keeping.retention is not None:
        configuration["limits"] = {"compactor_blocks_retention_period": keeping.retention}
    if keeping.block_minutes is not None:
        configuration["pyroscopedb"] = {"max_block_duration": f"{keeping.block_minutes}m"}
    values: dict[str, object] = {"persistence": persistence, "structuredConfig": configuration}
    if keeping.blob is not None:
        annotations = {CLIENT_ID_ANNOTATION: keeping.blob.client_id}
        values["serviceAccount"] = {"annotations": annotations}
        values["extraLabels"] = {USE_LABEL: "true"}
    return values


def _bucket(blob: BlobArgs | None) -> dict[str, object]:
    if blob is None:
        # The backend's default directory lies beside the volume and cannot be made by the server.
        return {"backend": "filesystem", "filesystem": {"dir": f"{DATA_DIRECTORY}/shared"}}
    return {
        "backend": "azure",
        "azure": {"account_name": blob.account_name, "container_name": blob.container_name},
    }


def release_timeout(keeping: KeepingArgs) -> int:
    """Seconds for which Helm waits for the server to be ready."""
    return BLOB_TIMEOUT_SECONDS if keeping.blob else RELEASE_TIMEOUT_SECONDS
