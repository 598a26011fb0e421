"""A Pyroscope that is there already, under the name to which the agents push.

The agent's exporter finds its server by that Service alone; a name that stands for another host is
all it takes where that is spoken to alike: gRPC without TLS and credentials, on the same port.
"""

from dataclasses import dataclass

import pulumi

from components.agent_service import service_of_host
from components.further_args import FurtherArgs, adding
from components.inputs import component_inputs
from components.options import deleted_with
from contract.agent import PYROSCOPE_PORT


@dataclass(frozen=True, kw_only=True)
class PyroscopeElsewhereArgs:
    """Where it is."""

    namespace: pulumi.Input[str]
    """The agent's namespace; must exist."""
    host: str
    """Its name, with a domain; it listens on the agent's port."""
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
        service_of_host(
            f"{name}-service",
            args.namespace,
            args.host,
            args.stack_mark,
            pulumi.ResourceOptions(
                parent=self,
                transformations=adding("service_args", args.service_args),
                deleted_with=deleted_with(opts),
            ),
        )
        self.url = pulumi.Output.from_input(f"http://{args.host}:{PYROSCOPE_PORT}")
        self.register_outputs({"url": self.url})
