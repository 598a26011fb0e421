"""Pyroscope in the cluster, behind a Private Link Service.

A chain in which each link is a property of the next, because only properties carry a replacement
along and order its deletions: the guard (made: nothing; deleted: waits until the Private Link
Service is gone), the Helm release, and the wait until the cloud controller has made the service.
Who connects to it is :mod:`components.grafana_private_endpoint`'s. Without one, the release alone.

One server, or micro-services (:mod:`components.pyroscope_microservices`): then the Service behind
the private link has another name, which makes the guard, and with it the chain, anew.
"""

import pulumi

from components import private_link_operations
from components.agent_service import service_of_pods
from components.inputs import component_inputs
from components.options import deleted_with
from components.private_link_operations import known_with
from components.pyroscope_disk import grow_claims
from components.pyroscope_microservices import selector
from components.pyroscope_release import RELEASE_NAME, PyroscopeArgs, release
from components.pyroscope_storage import await_end, watch_start
from components.release_repair import repair
from contract.agent import PYROSCOPE_PORT
from contract.microservices import ServerComponent, first_pod, service_name

__all__ = ["Pyroscope", "PyroscopeArgs"]


class Pyroscope(pulumi.ComponentResource):
    """The profile store. Needs the cluster's kubernetes provider."""

    TYPE = "gpuobs:index:Pyroscope"

    url: pulumi.Output[str]
    """Where the cluster's own pods ask it."""
    private_link_id: pulumi.Output[str] | None
    """ARM id of the Private Link Service, once it is ready; None: there is none."""
    private_link_name: pulumi.Output[str] | None

    def __init__(
        self, name: str, args: PyroscopeArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        inputs = component_inputs(args, leave_out={"recovery", "repair", "stack_mark"})
        super().__init__(self.TYPE, name, inputs, opts)
        cluster, service = deleted_with(opts), service_name(RELEASE_NAME, args.mode)
        guard = None
        if args.private_link is not None:
            # The cluster's deletion takes the nodes' group along, and the service in it.
            guard = private_link_operations.guard(
                f"{name}-private-link-guard",
                args.private_link,
                args.namespace,
                service,
                pulumi.ResourceOptions(parent=self, deleted_with=cluster),
            )
        ended = _end(self, name, args, guard)
        installed = release(self, name, args, guard, ended, cluster)
        repaired = repair(self, name, args.repair, installed, cluster)
        if (blob := args.keeping.blob) is not None and blob.watch is not None:
            # Beside the release, not after it: Helm's wait ends without a reason.
            beside = pulumi.ResourceOptions(parent=self, depends_on=[guard] if guard else None)
            pod = first_pod(RELEASE_NAME, args.mode)
            watch_start(f"{name}-start", blob, blob.watch, args.namespace, pod, beside)
        _beside(self, name, args, [*([guard] if guard else []), installed], cluster)
        self.private_link_id = self.private_link_name = None
        if args.private_link is not None and guard is not None:
            ready = private_link_operations.ready(
                f"{name}-private-link-ready",
                args.private_link,
                args.namespace,
                service,
                [installed.id, guard.id],
                # A Service deleted by hand is there again before its link is looked for.
                pulumi.ResourceOptions(parent=self, depends_on=repaired),
            )
            # As it was asked for: the service may spell it in another case.
            self.private_link_id = known_with(ready, args.private_link.id)
            self.private_link_name = pulumi.Output.from_input(args.private_link.name)
        # The service's name, not the address it has today.
        self.url = installed.namespace.apply(
            lambda namespace: f"http://{service}.{namespace}.svc:{PYROSCOPE_PORT}"
        )
        self.register_outputs(
            {
                "url": self.url,
                "privateLinkId": self.private_link_id,
                "privateLinkName": self.private_link_name,
            }
        )


def _end(
    parent: Pyroscope, name: str, args: PyroscopeArgs, guard: pulumi.Resource | None
) -> list[pulumi.Resource]:
    """What waits for the server's end, where there is something to write to until then."""
    blob = args.keeping.blob
    if blob is None or blob.watch is None:
        return []
    chain = [guard] if guard is not None else []
    opts = pulumi.ResourceOptions(parent=parent)
    return [await_end(f"{name}-stopped", blob.watch, args.namespace, chain, opts)]


def _beside(
    parent: Pyroscope,
    name: str,
    args: PyroscopeArgs,
    chain: list[pulumi.Resource],
    cluster: pulumi.Resource | None,
) -> None:
    """What there is beside the release, which is the last of the ``chain``."""
    opts = pulumi.ResourceOptions(parent=parent, depends_on=chain[-1:], deleted_with=cluster)
    grow_claims(f"{name}-disk", args.namespace, args.disk, args.ingesters, opts)
    if args.components is None:
        return
    # Gone before the next release is made, which may be of one server and has then a Service of
    # this name: also where it is not in the program any more.
    replaced = pulumi.ResourceOptions(replace_with=chain)
    service_of_pods(
        f"{name}-agent-service",
        args.namespace,
        selector(ServerComponent.DISTRIBUTOR),
        args.stack_mark,
        pulumi.ResourceOptions.merge(opts, replaced),
    )
