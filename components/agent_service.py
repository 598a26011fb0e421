"""The Service to which the agent pushes, where Pyroscope's chart makes none of that name.

The agent pushes to ``pyroscope`` on its port in its own namespace, and to nothing else. Of
micro-services the chart names each Service after its component, and those that take profiles are
the distributors.
"""

from collections.abc import Mapping

import pulumi

from components.cluster_leftovers import marked
from contract.agent import PYROSCOPE_PORT, PYROSCOPE_SERVICE

SERVICE_TYPE = "kubernetes:core/v1:Service"
PORT_NAME = "http2"
"""The chart's name of the server's port."""


def agent_service(
    name: str,
    namespace: pulumi.Input[str],
    selector: Mapping[str, str],
    stack_mark: str | None,
    opts: pulumi.ResourceOptions,
) -> pulumi.CustomResource:
    """A Service named ``pyroscope`` for the pods with these labels."""
    annotations = {
        **marked(stack_mark).get("annotations", {}),
        # Helm has waited for the pods; the provider would wait for them once more.
        "pulumi.com/skipAwait": "true",
    }
    # By its type's name: see the namespace of the agent.
    return pulumi.CustomResource(
        SERVICE_TYPE,
        name,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": PYROSCOPE_SERVICE,
                "namespace": namespace,
                "annotations": annotations,
            },
            "spec": {
                "type": "ClusterIP",
                "selector": selector,
                "ports": [
                    {
                        "name": PORT_NAME,
                        "port": PYROSCOPE_PORT,
                        "targetPort": PORT_NAME,
                        "protocol": "TCP",
                    }
                ],
            },
        },
        pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(delete_before_replace=True)),
    )
