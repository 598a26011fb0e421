"""A Pyroscope that is there already, under the name to which the agents push.

The agent's exporter finds its server by that Service alone; a name that stands for another host is
all it takes where that is spoken to alike: gRPC without TLS and credentials, on the same port. Else
a forwarder stands behind the Service.
"""

from dataclasses import dataclass

import pulumi

from components.agent_service import service_of_host, service_of_pods
from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.options import deleted_with
from components.pyroscope_forwarder import LABELS, ForwarderArgs, forwarder
from contract.agent import PYROSCOPE_PORT


@dataclass(frozen=True, kw_only=True)
class PyroscopeElsewhereArgs:
    """Where it is."""

    namespace: pulumi.Input[str]
    """The agent's namespace; must exist."""
    host: str
    """Its name, with a domain; without a forwarder it listens on the agent's port."""
    forwarder: ForwarderArgs | None = None
    """What the agents push to in its place; None: they can push to it themselves."""
    url: str | None = None
    """Where the cluster's own pods reach it; None: on the agent's port."""
    stack_mark: str | None = None
    """Of the stack that the Service is of; None: it is not marked."""
    service_args: FurtherArgs | None = None
    """Further arguments of the Service (``metadata``, ``spec``); keys as Kubernetes has them."""


class PyroscopeElsewhere(pulumi.ComponentResource):
    """The Service that leads to it. Needs the cluster's kubernetes provider."""

    TYPE = "gpuobs:index:PyroscopeElsewhere"

    url: pulumi.Output[str]
    """Where the cluster's own pods reach it."""

    def __init__(
        self, name: str, args: PyroscopeElsewhereArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(self.TYPE, name, component_inputs(args, leave_out={"stack_mark"}), opts)
        gone_with = deleted_with(opts)
        service = pulumi.ResourceOptions(
            parent=self,
            transformations=adding("service_args", args.service_args),
            deleted_with=gone_with,
        )
        service_name = f"{name}-service"
        if args.forwarder is None:
            service_of_host(service_name, args.namespace, args.host, args.stack_mark, service)
        else:
            made = forwarder(
                f"{name}-forwarder",
                args.namespace,
                args.forwarder,
                args.stack_mark,
                pulumi.ResourceOptions(parent=self, deleted_with=gone_with),
            )
            service = pulumi.ResourceOptions.merge(
                service, pulumi.ResourceOptions(depends_on=[made])
            )
            service_of_pods(service_name, args.namespace, LABELS, args.stack_mark, service)
        self.url = pulumi.Output.from_input(args.url or f"http://{args.host}:{PYROSCOPE_PORT}")
        self.register_outputs({"url": self.url})
