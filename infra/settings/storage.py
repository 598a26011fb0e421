"""Part ``storage`` of section ``pyroscope``: in the pod, on a disk, or on a disk and in Blob.

Blob never comes without a disk. The server asks a bucket for labels and series only of what is
older than 4 hours (``querier.query_store_after``), and reads no block there that is younger than 3
(``store_gateway.bucket_store.ignore_blocks_within``): after a restart without a disk, hours that
are in Blob would be gone from Grafana and come back later.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

from contract.choices import OnDestroy, Redundancy
from contract.quantity import gibibytes
from infra.settings import loss
from infra.settings.section import RuleViolation, Section, Text, as_mapping, refuse
from infra.settings.server_configuration import lowers_free_disk, sets_block_duration
from infra.settings.types import ContainerName, Quantity, ResourceGroupName, StorageAccountName

FREE_DISK_RULE_GIB = 10
"""Pyroscope deletes blocks while less than this is free, in GiB."""
SMALLEST_DISK_GIB = 50
BESIDE_BLOB = "20Gi"
"""The 10 that stay free, and 10 for blocks: what is in Blob and older than 4 hours is deleted from
the disk (``pkg/ingester/retention.go``, ``DefaultRetentionExpiry``), so only hours are on it."""
SMALLEST_BESIDE_BLOB_GIB = 20
DEFAULT_RETENTION = "30d"
FOREVER = "forever"

RetentionPeriod = Annotated[
    str,
    Text(
        pattern=r"[1-9][0-9]{0,3}[dwy]|forever",
        rule="days, weeks or years such as 30d, 8w or 1y, or `forever`",
        why="the server stops at a period that it does not understand, and one of hours would "
        "delete profiles that were just written.",
        fix="write e.g. retention: 30d",
    ),
]


class _Window(Text):
    """A number of minutes that is long enough."""

    def check(self, value: str) -> str:
        """``value``, or the broken rule as an error."""
        super().check(value)
        if minutes_of(value) < loss.LEAST:
            raise refuse(self.rule, self.why, self.fix)
        return value


LossWindow = Annotated[
    str,
    _Window(
        pattern=r"[1-9][0-9]{0,3}m",
        rule=f"minutes, at least {loss.LEAST}m",
        why=f"a block is {loss.SHORTEST_BLOCK} minutes or longer, and it takes up to "
        f"{loss.LEAST - loss.SHORTEST_BLOCK} more until it is written and in the bucket.",
        fix=f"write e.g. lossWindow: 40m, or leave it out for {loss.MOST}m",
    ),
]


def minutes_of(window: str) -> int:
    """What a :data:`LossWindow` comes to."""
    return int(window.removesuffix("m"))


class Disk(Section):
    """A disk for profiles."""

    size: Quantity = "50Gi"
    """Size of the disk. A larger one grows it in place, where its storage class permits that; a
    smaller one is refused."""
    storage_class_name: str | None = None
    """Kubernetes storage class of a new disk; default: the cluster's own. A disk that is there
    stays in its class."""


class ExistingContainer(Section):
    """A container that this stack uses and never changes or deletes."""

    account: StorageAccountName
    """Name of its storage account."""
    resource_group: ResourceGroupName
    """The account's resource group."""
    container: ContainerName
    """Name of the container."""


class Blob(Section):
    """Azure Blob Storage for profiles."""

    existing: ExistingContainer | None = None
    """A container that is there already; it stays when the stack goes."""
    account: StorageAccountName | None = None
    """Name of the storage account that the stack makes, unique in all of Azure; default: derived
    from the stack."""
    resource_group: ResourceGroupName | None = None
    """An existing group for that account; default: the stack's own."""
    redundancy: Redundancy | None = None
    """How Azure copies the profiles: `LRS` in one datacentre (default), `ZRS` in three zones, `GRS`
    and `GZRS` to a second region as well. Azure converts an account in place, not each to each."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """Either an existing container or a new account."""
        new = ("account", "resource_group", "redundancy")
        given = [name for name in new if getattr(self, name) is not None]
        if self.existing is not None and given:
            yield RuleViolation(
                fields=("existing", "account", "resourceGroup", "redundancy"),
                at="existing",
                rule="either `existing`, or what a new account shall be",
                why="an account that is there is never changed.",
                fix="leave one of them out",
            )


class StorageSettings(Section):
    """Where profiles are kept; without ``disk`` and ``blob``: in the pod."""

    disk: Disk | None = None
    """A disk, which keeps profiles over a restart; `{}` for 50Gi. Left out: they are kept in the
    pod and are gone when it restarts; with `blob` there is always one, of 20Gi by default."""
    blob: Blob | None = None
    """Azure Blob Storage, which keeps them whatever happens to the disk; `{}` for a storage account
    of the stack's own. Pyroscope signs in by workload identity, without a key. It comes with a
    disk: the server reads nothing in Blob that is younger than 3 hours."""
    retention: RetentionPeriod | None = None
    """How long profiles are kept: days, weeks or years such as `30d`, or `forever`; default: `30d`
    with `blob`, else what fits on the disk. Azure keeps what the server deletes for 7 more days
    (soft delete)."""
    on_destroy: OnDestroy = OnDestroy.KEEP
    """What `pulumi destroy` does with a storage account that the stack made. `keep`: it stays, with
    the profiles, and the next `pulumi up` of the same stack uses it again. Takes effect with
    `pulumi up`."""
    loss_window: LossWindow | None = None
    """The most that may be lost when Pyroscope is killed or evicted, in minutes: at least `30m`,
    default `85m`. A shorter one means shorter blocks, and more work for the server. A regular stop
    loses nothing."""

    @property
    def planned_disk(self) -> Disk | None:
        """The disk, also where only ``blob`` asks for one."""
        return self.disk or (Disk(size=BESIDE_BLOB) if self.blob is not None else None)

    @property
    def makes_account(self) -> bool:
        """Whether the stack makes the storage account."""
        return self.blob is not None and self.blob.existing is None

    @property
    def retention_period(self) -> str | None:
        """As the server takes it; None: forever."""
        wanted = self.retention or (DEFAULT_RETENTION if self.blob is not None else FOREVER)
        return None if wanted == FOREVER else wanted

    @property
    def lookback(self) -> str | None:
        """How old a profile may be to be found; None: as the server has it."""
        if self.blob is None and self.retention is None:
            return None
        return self.retention_period or "0s"

    @property
    def block_minutes(self) -> int | None:
        """How long a block is; None: as the server has it."""
        return loss.block_for(minutes_of(self.loss_window)) if self.loss_window else None

    @property
    def upload_minutes(self) -> int:
        """How old a profile is, at most, when it reaches the bucket."""
        return loss.lost_with_the_disk(self.block_minutes or loss.DEFAULT_BLOCK)

    def rule_violations(self) -> Iterable[RuleViolation]:
        """What has no effect without a bucket or a disk."""
        if "on_destroy" in self.model_fields_set and not self.makes_account:
            yield RuleViolation(
                fields=("onDestroy", "blob"),
                at="onDestroy",
                value=self.on_destroy.value,
                rule="only with a storage account that the stack makes",
                why="an existing container always stays, and so does a disk.",
                fix="leave it out, or write blob: {}",
            )
        for field, name in (("retention", "retention"), ("loss_window", "lossWindow")):
            if getattr(self, field) is not None and self.planned_disk is None:
                yield RuleViolation(
                    fields=(name, "disk", "blob"),
                    at=name,
                    value=getattr(self, field),
                    rule="only with `disk` or `blob`",
                    why="what is kept in the pod is gone when it restarts, whatever its age.",
                    fix="leave it out, or write blob: {}",
                )


def broken_storage(
    storage: StorageSettings, values: Mapping[str, object]
) -> Iterator[RuleViolation]:
    """The rules that the storage and the further chart values break together."""
    pyroscope = as_mapping(values.get("pyroscope")) or {}
    yield from _disk_size(storage, pyroscope)
    if storage.blob is not None:
        yield from _identity(pyroscope)
    if storage.loss_window is not None and sets_block_duration(pyroscope):
        yield RuleViolation(
            fields=("storage.lossWindow", "values.pyroscope"),
            at="storage.lossWindow",
            value=storage.loss_window,
            rule="either `lossWindow`, or `pyroscopedb.max_block_duration` among the values",
            why="the one follows from the other.",
            fix="leave one of them out",
        )


def _disk_size(
    storage: StorageSettings, pyroscope: Mapping[str, object]
) -> Iterator[RuleViolation]:
    if (disk := storage.planned_disk) is None:
        return
    size = gibibytes(disk.size)
    least = SMALLEST_DISK_GIB if storage.blob is None else SMALLEST_BESIDE_BLOB_GIB
    if lowers_free_disk(pyroscope):
        least = 1
    if size < least:
        yield RuleViolation(
            fields=("storage.disk.size",),
            value=disk.size,
            rule=f"at least {least}Gi",
            why=f"the server drops its oldest blocks while less than {FREE_DISK_RULE_GIB} "
            "GB are free, so a small disk loses profiles within hours.",
            fix=f"write size: {least}Gi, or lower the rule: values: {{ pyroscope: "
            "{ structuredConfig: { pyroscopedb: { min_free_disk_gb: 1 } } } }",
        )


_IDENTITY = (
    (("serviceAccount", "create"), "the chart's own carries the identity"),
    (
        ("serviceAccount", "annotations", "azure.workload.identity/client-id"),
        "it names the stack's",
    ),
    (("extraLabels", "azure.workload.identity/use"), "it is always set"),
)
"""Chart values by which Pyroscope signs in to Blob, below ``pyroscope``."""


def _identity(pyroscope: Mapping[str, object]) -> Iterator[RuleViolation]:
    for path, why in _IDENTITY:
        holder: Mapping[str, object] = pyroscope
        for key in path[:-1]:
            holder = as_mapping(holder.get(key)) or {}
        if path[-1] in holder:
            yield RuleViolation(
                fields=(f"values.pyroscope.{'.'.join(path)}",),
                rule="with `storage.blob` this chart value is the product's own",
                why="without its identity Pyroscope cannot sign in to Blob; it would restart "
                "endlessly.",
                fix=f"leave it out: {why}",
            )


def service_account(values: Mapping[str, object], default: str) -> str:
    """Name of the service account that the chart makes for the server."""
    pyroscope = as_mapping(values.get("pyroscope")) or {}
    named = (as_mapping(pyroscope.get("serviceAccount")) or {}).get("name")
    return named if isinstance(named, str) and named else default
