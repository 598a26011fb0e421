"""The Service to which the agents push, where Pyroscope's chart makes none of that name.

An agent pushes to ``pyroscope`` on its port in its own namespace, and to nothing else. Of
micro-services the chart names each Service after its component, and those that take profiles are
the distributors; a server that is there already has a name of its own.
"""

from collections.abc import Mapping

import pulumi

from components.cluster_leftovers import marked
from contract.agent import PYROSCOPE_PORT, PYROSCOPE_SERVICE

SERVICE_TYPE = "kubernetes:core/v1:Service"
PORT_NAME = "http2"
"""The chart's name of the server's port."""


def service_of_pods(
    name: str,
    namespace: pulumi.Input[str],
    selector: Mapping[str, str],
    stack_mark: str | None,
    opts: pulumi.ResourceOptions,
) -> None:
    """A Service for the pods with these labels."""
    annotations = {
        **marked(stack_mark).get("annotations", {}),
        # Helm has waited for the pods; the provider would wait for them once more.
        "pulumi.com/skipAwait": "true",
    }
    port = {
        "name": PORT_NAME,
        "port": PYROSCOPE_PORT,
        "targetPort": PORT_NAME,
        "protocol": "TCP",
    }
    spec = {"type": "ClusterIP", "selector": selector, "ports": [port]}
    _service(name, namespace, {"annotations": annotations}, spec, opts)


def service_of_host(
    name: str,
    namespace: pulumi.Input[str],
    host: str,
    stack_mark: str | None,
    opts: pulumi.ResourceOptions,
) -> None:
    """A Service that stands for another host, on the same port."""
    # Said for who reads it: a name has no ports, what it stands for has.
    ports = [{"name": PORT_NAME, "port": PYROSCOPE_PORT}]
    spec = {"type": "ExternalName", "externalName": host, "ports": ports}
    _service(name, namespace, marked(stack_mark), spec, opts)


def _service(
    name: str,
    namespace: pulumi.Input[str],
    metadata: Mapping[str, object],
    spec: Mapping[str, object],
    opts: pulumi.ResourceOptions,
) -> None:
    # By its type's name: see the namespace of the agent.
    pulumi.CustomResource(
        SERVICE_TYPE,
        name,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": PYROSCOPE_SERVICE, "namespace": namespace, **metadata},
            "spec": spec,
        },
        # Its name is fixed: a second one beside it is not possible.
        pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)),
    )
