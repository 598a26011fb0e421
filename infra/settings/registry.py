"""Section ``registry``: where images and the chart come from; may be left out."""

from typing import Annotated

from infra.settings.section import Section, Text

RegistryPrefix = Annotated[
    str,
    Text(
        # A host has a dot, a port, or is localhost (distribution, reference/normalize.go).
        pattern=r"([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:[0-9]+)?|[A-Za-z0-9-]+:[0-9]+|localhost)"
        r"(/[a-z0-9]+([._-]+[a-z0-9]+)*)*",
        rule="HOST or HOST/PATH: no scheme, no tag, the path in lower case",
        why="neither an image nor the chart is found there.",
        fix="write e.g. example.azurecr.io, or example.azurecr.io/mirror",
    ),
]


class RegistrySettings(Section):
    """A registry of your own, for a cluster that may not reach the public ones."""

    prefix: RegistryPrefix | None = None
    """Where Pyroscope's chart and image, the device plugin's image and a forwarder's are: each
    under its own path, without its public registry's host (`grafana/helm-charts/pyroscope`,
    `grafana/pyroscope`, `nvidia/k8s-device-plugin`, `otel/opentelemetry-collector`).
    `pyroscope.chart` and the image's repository in `pyroscope.values` win over it. The agent's
    images are Microsoft's (`mcr.microsoft.com`), which every AKS node must reach anyway. The nodes
    need the right to pull from it, and whoever runs Pulumi a login of Docker's or Helm's where the
    chart is not public."""
