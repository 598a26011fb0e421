"""The Helm release of Pyroscope: what it is given, and when it is made again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi_command.local import Command
from pulumi_kubernetes.helm.v3 import Release

from components import pyroscope_values
from components.chart import ChartArgs
from components.further_args import FurtherArgs, adding
from components.options import FAILED_BEFORE
from components.private_link import PrivateLinkArgs
from components.private_link_operations import known_with
from components.pyroscope_disk import DiskArgs
from components.pyroscope_microservices import ServerComponentArgs
from components.pyroscope_storage import KeepingArgs, release_timeout
from components.release_recovery import RecoveryArgs, recovery
from components.release_repair import RepairArgs
from components.values import holds_null
from contract.agent import PYROSCOPE_SERVICE
from contract.images import SERVER
from contract.microservices import ServerComponent, ServerMode

RELEASE_NAME = PYROSCOPE_SERVICE
"""The chart gives its Service the name of the release."""


@dataclass(frozen=True, kw_only=True)
class PyroscopeArgs:
    """The server, its storage, and its private link."""

    namespace: pulumi.Input[str]
    """The agent's namespace; must exist."""
    chart: ChartArgs
    image_repository: str | None = None
    """Of the server, unless ``values`` say otherwise; None: the public one."""
    image_tag: str
    """Of the server; must speak the agent's version of OTLP profiles."""
    private_link: PrivateLinkArgs | None = None
    """None: only the cluster's own pods reach it."""
    disk: DiskArgs | None = None
    """None: profiles are kept in the pod, and gone when it restarts."""
    keeping: KeepingArgs = field(default_factory=KeepingArgs)
    """How they are kept on the disk, and whether in Blob as well."""
    resources: Mapping[str, Any] | None = None
    node_selector: Mapping[str, str] | None = None
    tolerations: Sequence[Mapping[str, Any]] | None = None
    affinity: Mapping[str, Any] | None = None
    labels: Mapping[str, str] | None = None
    """Further ones, of its pods."""
    components: Mapping[str, ServerComponentArgs] | None = None
    """Its micro-services, by their names in the chart; None: one server."""
    values: Mapping[str, Any] | None = None
    """Further chart values, under those that the product owns (``pyroscope_values``)."""
    recovery: RecoveryArgs | None = None
    """What a Helm that was cut off has left; None: it never was."""
    repair: RepairArgs | None = None
    """What was changed by hand of the release's objects; None: nothing ever was."""
    stack_mark: str | None = None
    """Of the stack, on what is made beside the release; None: it is not marked."""
    release_args: FurtherArgs | None = None
    """Further arguments of the ``helm.v3.Release``."""

    @property
    def mode(self) -> ServerMode:
        """How the server runs."""
        return ServerMode.SINGLE if self.components is None else ServerMode.DISTRIBUTED

    @property
    def ingesters(self) -> int | None:
        """How many ingesters keep profiles; None: one server does."""
        if self.components is None:
            return None
        return self.components[ServerComponent.INGESTER].replicas


def release(
    parent: pulumi.Resource,
    name: str,
    args: PyroscopeArgs,
    guard: Command | None,
    before: Sequence[pulumi.Resource],
    cluster: pulumi.Resource | None,
) -> Release:
    """The release, made once ``guard`` is, and made again when that is; deleted ``before`` is."""
    values = _values(args)
    return Release(
        f"{name}-release",
        # Else the engine makes one up, and the agent finds nobody ("produced zero addresses").
        name=RELEASE_NAME,
        # So that a replaced guard replaces the release, in the right order.
        namespace=known_with(guard, args.namespace) if guard else args.namespace,
        chart=args.chart.chart,
        version=args.chart.version,
        # What the provider compares is the chart's version alone.
        description=f"chart {args.chart.digest}" if args.chart.digest else None,
        repository_opts={"repo": args.chart.repository} if args.chart.repository else None,
        values=values,
        # Before 4.30 the provider leaves nulls out unless it is told not to.
        allow_null_values=holds_null(values) or None,
        timeout=release_timeout(args.keeping),
        # Helm waits for pod and address; else nobody would say what is wrong with them. Not atomic:
        # a failed release stays to be looked at until the next `up`.
        skip_await=False,
        atomic=False,
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=[
                *recovery(parent, name, args.recovery, args.namespace, cluster),
                *before,
            ],
            transformations=adding("release_args", args.release_args),
            # Name and namespace are taken until the old one is gone.
            delete_before_replace=True,
            # What failed half-way is removed and installed again. An upgrade on top would not do: a
            # StatefulSet keeps a pod that never became ready, also when its template has been
            # fixed (kubernetes 67250).
            replace_on_changes=[FAILED_BEFORE],
            replacement_trigger=_identity(args),
            # The cluster's deletion takes it along, and works when the API server no longer
            # answers. But it kills the pods: with Blob they write what they hold first.
            deleted_with=cluster if args.keeping.blob is None else None,
        ),
    )


def _identity(args: PyroscopeArgs) -> str:
    """What a release keeps as long as it lives.

    A StatefulSet refuses another claim for its volume; the disk itself outlives the release. A
    private link goes with its Service: in place, whoever is connected would be cut off unasked.
    """
    identity = args.disk.claim_template if args.disk else "ephemeral"
    if args.private_link is None:
        identity += " without a private link"
    # The agent's Service is the release's own for one server, and beside it for several.
    return identity if args.components is None else f"{identity} as micro-services"


def _values(args: PyroscopeArgs) -> dict[str, object]:
    owned = pyroscope_values.owned_values(
        image_tag=args.image_tag,
        annotations=args.private_link.annotations if args.private_link else None,
        resources=args.resources,
        node_selector=args.node_selector,
        tolerations=args.tolerations,
        affinity=args.affinity,
        disk=args.disk,
        keeping=args.keeping,
        components=args.components,
    )
    return pyroscope_values.merged(
        args.values or {},
        owned,
        image_repository=args.image_repository or SERVER,
        lookback=args.keeping.lookback,
        labels=args.labels,
        components=args.components,
    )
