"""A forwarder between the agents and a Pyroscope that they cannot push to themselves.

An OpenTelemetry Collector that takes OTLP profiles by plain gRPC on the agents' port, and sends
them on: with TLS, to another port, with an ``Authorization`` header from a Secret. It decodes what
it forwards, so it is of the agent's version of profiles (:data:`contract.images.FORWARDER_TAG`),
where the signal has to be switched on (feature gate ``service.profilesSupport``). What cannot be
sent waits in memory and is sent again, for five minutes (the exporter's own defaults).
"""

import json
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from components.cluster_leftovers import marked
from components.pyroscope_values import SECURITY_CONTEXT
from contract.agent import PYROSCOPE_PORT
from contract.images import FORWARDER, FORWARDER_TAG

NAME = "pyroscope-forwarder"
LABELS = {"app.kubernetes.io/name": NAME}
PORT_NAME = "http2"
REPLICAS = 2
"""So that one may be drained: the agents do not keep what they cannot push."""
RESOURCES = {
    "requests": {"cpu": "50m", "memory": "128Mi"},
    "limits": {"cpu": "500m", "memory": "512Mi"},
}
USER = 10001
"""Of the image."""
_CONFIGURATION, _AUTHORIZATION = "CONFIGURATION", "AUTHORIZATION"
_LARGEST_MIB = 16
"""Of one push; gRPC's own is 4, which is Pyroscope's limit of one profile already."""


@dataclass(frozen=True, kw_only=True)
class ForwarderArgs:
    """Where it sends what it takes."""

    host: str
    port: int
    tls: bool
    secret: str | None = None
    """Name of a Secret in the same namespace; None: the server wants no credentials."""
    secret_key: str | None = None
    """Whose value is the whole header ``Authorization``; needed with ``secret``."""
    image: str | None = None
    """Without its tag; None: the public one."""


def configuration(args: ForwarderArgs) -> dict[str, object]:
    """What the Collector reads."""
    exporter: dict[str, object] = {
        "endpoint": f"{args.host}:{args.port}",
        "tls": {"insecure": not args.tls},
    }
    if args.secret is not None:
        exporter["headers"] = {"authorization": f"${{env:{_AUTHORIZATION}}}"}
    grpc = {"endpoint": f"0.0.0.0:{PYROSCOPE_PORT}", "max_recv_msg_size_mib": _LARGEST_MIB}
    return {
        "receivers": {"otlp": {"protocols": {"grpc": grpc}}},
        "exporters": {"otlp_grpc": exporter},
        "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["otlp_grpc"]}}},
    }


def deployment_spec(args: ForwarderArgs) -> dict[str, object]:
    """The ``spec`` of its Deployment; :data:`LABELS` are those of its pods."""
    environment: list[dict[str, object]] = [
        # In the environment and not in a ConfigMap: another one starts the pods anew.
        {"name": _CONFIGURATION, "value": json.dumps(configuration(args))}
    ]
    if args.secret is not None:
        reference = {"name": args.secret, "key": args.secret_key}
        environment.append({"name": _AUTHORIZATION, "valueFrom": {"secretKeyRef": reference}})
    container: dict[str, object] = {
        "name": "collector",
        "image": f"{args.image or FORWARDER}:{FORWARDER_TAG}",
        "args": [f"--config=env:{_CONFIGURATION}", "--feature-gates=service.profilesSupport"],
        "env": environment,
        "ports": [{"name": PORT_NAME, "containerPort": PYROSCOPE_PORT, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": PORT_NAME}},
        "resources": RESOURCES,
        "securityContext": {**SECURITY_CONTEXT, "readOnlyRootFilesystem": True},
    }
    return {
        "replicas": REPLICAS,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {
                "automountServiceAccountToken": False,
                "securityContext": {"runAsNonRoot": True, "runAsUser": USER},
                "containers": [container],
            },
        },
    }


def forwarder(
    name: str,
    namespace: pulumi.Input[str],
    args: ForwarderArgs,
    stack_mark: str | None,
    opts: pulumi.ResourceOptions,
) -> pulumi.Resource:
    """Its Deployment."""
    return CustomResource(
        name,
        api_version="apps/v1",
        kind="Deployment",
        metadata={"name": NAME, "namespace": namespace, "labels": LABELS, **marked(stack_mark)},
        spec=deployment_spec(args),
        opts=opts,
    )
