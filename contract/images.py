"""What comes from a public registry, and where a mirror holds the same."""

from typing import Final

SERVER: Final = "grafana/pyroscope"
"""Pyroscope's image; without a host it is one of Docker Hub's (``docker.io``)."""
DEVICE_PLUGIN: Final = "nvcr.io/nvidia/k8s-device-plugin"
"""NVIDIA's device plugin."""
FORWARDER: Final = "otel/opentelemetry-collector"
"""OpenTelemetry's Collector, its core distribution."""
FORWARDER_TAG: Final = "0.147.0"
"""Of the Collector that is built with the agent's own encoder (``pdata/pprofile`` v0.147.0, agents
0.52 to 0.55). From the next one on fields of a sample have other numbers (collector pull request
14652, opentelemetry-proto 1.10), which Pyroscope reads from 1.20 on: not to be raised by itself."""
CHART: Final = "oci://ghcr.io/grafana/helm-charts/pyroscope"
"""Pyroscope's Helm chart."""

_OCI: Final = "oci://"


def mirrored(reference: str, prefix: str) -> str:
    """``reference`` below ``prefix``, its own host left out.

    A first part with a dot, a colon or ``localhost`` is a host, by the rule of image references
    (distribution, ``reference/normalize.go``).
    """
    scheme = _OCI if reference.startswith(_OCI) else ""
    path = reference.removeprefix(scheme)
    first, _, rest = path.partition("/")
    if "." in first or ":" in first or first == "localhost":
        path = rest
    return f"{scheme}{prefix}/{path}"
