"""Pyroscope in the cluster, behind a Private Link Service.

A chain in which each link is a property of the next, because only properties carry a replacement
along and order its deletions: the guard (made: nothing; deleted: waits until the Private Link
Service is gone), the Helm release, and the wait until the cloud controller has made the service.
Who connects to it is :mod:`components.grafana_private_endpoint`'s. Without one, the release alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi_command.local import Command
from pulumi_kubernetes.helm.v3 import Release

from components import private_link_operations, pyroscope_values
from components.chart import ChartArgs
from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.options import FAILED_BEFORE, deleted_with
from components.private_link import PrivateLinkArgs
from components.private_link_operations import known_with
from components.pyroscope_disk import DiskArgs, grow_claim
from components.pyroscope_storage import KeepingArgs, release_timeout, watch_start
from components.release_recovery import RecoveryArgs, recovery
from components.release_repair import RepairArgs, repair
from contract.agent import PYROSCOPE_PORT, PYROSCOPE_SERVICE
from contract.images import SERVER

RELEASE_NAME = PYROSCOPE_SERVICE
"""The chart gives its Service the name of the release."""


@dataclass(frozen=True, kw_only=True)
class PyroscopeArgs:
    """The server, its storage, and its private link."""

    namespace: pulumi.Input[str]  # the agent's; must exist
    chart: ChartArgs
    image_repository: str | None = None  # of the server; None: the public one
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
    labels: Mapping[str, str] | None = None  # further ones, of its pod
    values: Mapping[str, Any] | None = None
    """Further chart values, under those that the product owns (``pyroscope_values``)."""
    recovery: RecoveryArgs | None = None
    """What a Helm that was cut off has left; None: it never was."""
    repair: RepairArgs | None = None
    """What was changed by hand of the release's objects; None: nothing ever was."""
    release_args: FurtherArgs | None = None
    """Further arguments of the ``helm.v3.Release``."""


class Pyroscope(pulumi.ComponentResource):
    """The profile store. Needs the cluster's kubernetes provider."""

    TYPE = "gpuobs:index:Pyroscope"

    url: pulumi.Output[str]
    """Where the cluster's own pods reach it."""
    private_link_id: pulumi.Output[str] | None
    """ARM id of the Private Link Service, once it is ready; None: there is none."""
    private_link_name: pulumi.Output[str] | None

    def __init__(
        self, name: str, args: PyroscopeArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        inputs = component_inputs(args, leave_out={"recovery", "repair"})
        super().__init__(self.TYPE, name, inputs, opts)
        cluster = deleted_with(opts)
        guard = None
        if args.private_link is not None:
            # The cluster's deletion takes the nodes' group along, and the service in it.
            guard = private_link_operations.guard(
                f"{name}-private-link-guard",
                args.private_link,
                args.namespace,
                RELEASE_NAME,
                pulumi.ResourceOptions(parent=self, deleted_with=cluster),
            )
        release = _release(self, name, args, guard, cluster)
        repaired = repair(self, name, args.repair, release, cluster)
        if (blob := args.keeping.blob) is not None and blob.watch is not None:
            # Beside the release, not after it: Helm's wait ends without a reason.
            beside = pulumi.ResourceOptions(parent=self, depends_on=[guard] if guard else None)
            watch_start(
                f"{name}-start", blob, blob.watch, args.namespace, f"{RELEASE_NAME}-0", beside
            )
        grow_claim(self, f"{name}-disk", args.namespace, args.disk, release, cluster)
        self.private_link_id = self.private_link_name = None
        if args.private_link is not None and guard is not None:
            ready = private_link_operations.ready(
                f"{name}-private-link-ready",
                args.private_link,
                args.namespace,
                RELEASE_NAME,
                [release.id, guard.id],
                # A Service deleted by hand is there again before its link is looked for.
                pulumi.ResourceOptions(parent=self, depends_on=repaired),
            )
            # As it was asked for: the service may spell it in another case.
            self.private_link_id = known_with(ready, args.private_link.id)
            self.private_link_name = pulumi.Output.from_input(args.private_link.name)
        # The service's name, not the address it has today.
        self.url = release.namespace.apply(
            lambda namespace: f"http://{RELEASE_NAME}.{namespace}.svc:{PYROSCOPE_PORT}"
        )
        self.register_outputs(
            {
                "url": self.url,
                "privateLinkId": self.private_link_id,
                "privateLinkName": self.private_link_name,
            }
        )


def _release(
    parent: Pyroscope,
    name: str,
    args: PyroscopeArgs,
    guard: Command | None,
    cluster: pulumi.Resource | None,
) -> Release:
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
        allow_null_values=pyroscope_values.holds_null(values) or None,
        timeout=release_timeout(args.keeping),
        # Helm waits for pod and address; else nobody would say what is wrong with them. Not atomic:
        # a failed release stays to be looked at until the next `up`.
        skip_await=False,
        atomic=False,
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=recovery(parent, name, args.recovery, args.namespace, cluster),
            transformations=adding("release_args", args.release_args),
            # Name and namespace are taken until the old one is gone.
            delete_before_replace=True,
            # What failed half-way is removed and installed again. An upgrade on top would not do: a
            # StatefulSet keeps a pod that never became ready, also when its template has been
            # fixed (kubernetes 67250).
            replace_on_changes=[FAILED_BEFORE],
            replacement_trigger=_identity(args),
            # The cluster's deletion takes it along, and works when the API server no longer
            # answers.
            deleted_with=cluster,
        ),
    )


def _identity(args: PyroscopeArgs) -> str:
    """What a release keeps as long as it lives.

    A StatefulSet refuses another claim for its volume; the disk itself outlives the release. A
    private link goes with its Service: in place, whoever is connected would be cut off unasked.
    """
    storage = args.disk.claim_template if args.disk else "ephemeral"
    return storage if args.private_link is not None else f"{storage} without a private link"


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
    )
    return pyroscope_values.merged(
        args.values or {},
        owned,
        image_repository=args.image_repository or SERVER,
        lookback=args.keeping.lookback,
        labels=args.labels,
    )
