"""The public Pyroscope chart: what Helm would render.

From its templates (``operations/pyroscope/helm/pyroscope`` in the server's repository). Like the
chart, it has no values schema: a value that the chosen release does not read changes nothing,
silently. One server, or what ``pyroscope.components`` names. Not here: its subcharts, its
``architecture.microservices``, ingress and ServiceMonitor. What the server does with its
configuration is in :mod:`simulator.kubernetes.pyroscope_server`.
"""

import json
from dataclasses import dataclass
from typing import Final

from simulator.kubernetes.chart_component import (
    ALL,
    NAME,
    ChartError,
    Component,
    Labelled,
    annotations_of,
)
from simulator.kubernetes.published_values import chart_tree, only_read
from simulator.values import (
    JsonObject,
    as_integer,
    as_object,
    as_text,
    clone_object,
    dig,
    merge_patch,
)

OCI: Final = "oci://ghcr.io/grafana/helm-charts/pyroscope"
MIRROR: Final = "oci://registry.example.com/mirror/grafana/helm-charts/pyroscope"
"""The same in a registry of a team's own."""
REPOSITORY: Final = "https://grafana.github.io/helm-charts"
VERSIONS: Final = {
    "1.13.0": "1.13.0",
    "1.14.0": "1.14.0",
    "1.15.0": "1.14.1",
    "1.15.1": "1.15.0",
    "1.16.0": "1.16.0",
    "1.17.0": "1.17.0",
    "1.18.0": "1.18.0",
    "1.19.0": "1.19.0",
    "1.19.2": "1.19.1",
    "1.20.0": "1.20.0",
    "2.0.0": "2.0.0",
    "2.0.2": "2.0.1",
    "2.1.0": "2.1.0",
}
"""The published chart versions that the simulator knows, with their appVersion."""

DEFAULTS: Final[JsonObject] = {
    "pyroscope": {
        "replicaCount": 1,
        "image": {"repository": "grafana/pyroscope", "tag": "", "pullPolicy": "IfNotPresent"},
        "service": {"type": "ClusterIP", "port": 4040, "port_name": "http2", "scheme": "HTTP"},
        "extraArgs": {"log.level": "debug"},
        "cluster_domain": ".cluster.local.",
        "dnsPolicy": "ClusterFirst",
        "disableSelfProfile": True,
        "memberlist": {"port": 7946, "port_name": "memberlist"},
        "podAnnotations": {
            f"profiles.grafana.com/{kind}.{key}": value
            for kind in ("memory", "cpu", "goroutine")
            for key, value in (("scrape", "true"), ("port_name", "http2"))
        },
        "podDisruptionBudget": {"enabled": True, "maxUnavailable": 1},
        "podSecurityContext": {"fsGroup": 10001, "runAsUser": 10001, "runAsNonRoot": True},
        "persistence": {"enabled": False, "accessModes": ["ReadWriteOnce"], "size": "10Gi"},
        "serviceAccount": {"create": True, "name": "", "annotations": {}},
    },
    "alloy": {"enabled": True},
    "minio": {"enabled": False},
}


@dataclass(frozen=True)
class Chart:
    """A chart that was found."""

    name: str
    version: str
    app_version: str


def find(chart: str, repository: str, version: str, local: JsonObject) -> Chart:
    """The chart that a release asks for; ``local`` describes one of the file system.

    Raises:
        ChartError: no such chart or version.
    """
    if local:
        return Chart(
            as_text(local.get("name")),
            as_text(local.get("version")),
            as_text(local.get("appVersion")),
        )
    registries = chart.rstrip("/") in (OCI, MIRROR)
    if not registries and not (chart == NAME and repository.rstrip("/") == REPOSITORY):
        raise ChartError(
            f"failed to download {chart!r}: not found (simulated registries have {OCI} "
            f"and {MIRROR})"
        )
    wanted = version or list(VERSIONS)[-1]
    if wanted not in VERSIONS:
        raise ChartError(f"{chart}:{wanted}: not found")
    return Chart(NAME, wanted, VERSIONS[wanted])


def render(chart: Chart, release: str, namespace: str, given: JsonObject) -> list[JsonObject]:
    """The objects of a release.

    Raises:
        ChartError: a value has a type that Kubernetes refuses.
    """
    read = only_read(given, chart_tree(chart.version))
    values = as_object(merge_patch(clone_object(DEFAULTS), read))
    return _Rendering(chart, release, namespace, values).objects()


class _Rendering:
    """What there is once; each component is rendered for itself."""

    def __init__(self, chart: Chart, release: str, namespace: str, values: JsonObject) -> None:
        self._release = release
        self._values = values
        self._pyroscope = as_object(values.get("pyroscope"))
        self._of = Labelled(
            chart.name, chart.version, chart.app_version, release, namespace, values
        )

    def objects(self) -> list[JsonObject]:
        of, config = self._of, self._config()
        name = of.name
        rendered = [
            of.object("v1", "ConfigMap", f"{name}-config", data={"config.yaml": config}),
            of.object(
                "v1",
                "ConfigMap",
                f"{name}-overrides-config",
                data={"overrides.yaml": json.dumps({"overrides": self._overrides()})},
            ),
            self._memberlist(),
        ]
        components = as_object(self._pyroscope.get("components"))
        for component, own in components.items() or {ALL: {"kind": "StatefulSet"}}.items():
            rendered += Component(of, component, as_object(own), config).objects()
        account = as_object(self._pyroscope.get("serviceAccount"))
        if account.get("create") is not False:
            annotations = annotations_of(account, "serviceAccount")
            rendered.append(
                of.object("v1", "ServiceAccount", of.account, annotations=annotations or None)
            )
        if dig(self._values, "alloy", "enabled") is True:
            rendered.append(self._alloy())
        return rendered

    def _memberlist(self) -> JsonObject:
        port: JsonObject = {
            "name": "memberlist",
            "port": as_integer(dig(self._pyroscope, "memberlist", "port"), 7946),
            "targetPort": "memberlist",
            "protocol": "TCP",
        }
        spec: JsonObject = {
            "type": "ClusterIP",
            "clusterIP": "None",
            "ports": [port],
            "selector": self._of.selector,
        }
        return self._of.object("v1", "Service", f"{self._of.name}-memberlist", spec=spec)

    def _config(self) -> str:
        """``config`` with ``structuredConfig`` merged over it; no template is rendered."""
        text = as_text(self._pyroscope.get("config"))
        merged = merge_patch(_yaml(text), as_object(self._pyroscope.get("structuredConfig")))
        return json.dumps(as_object(merged), sort_keys=True)

    def _overrides(self) -> JsonObject:
        return as_object(self._pyroscope.get("tenantOverrides"))

    def _alloy(self) -> JsonObject:
        """The collector that the chart brings unless it is switched off."""
        labels: JsonObject = {
            "app.kubernetes.io/name": "alloy",
            "app.kubernetes.io/instance": self._release,
        }
        return self._of.object(
            "apps/v1",
            "StatefulSet",
            f"{self._release}-alloy",
            spec={
                "replicas": 1,
                "serviceName": f"{self._release}-alloy",
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "alloy", "image": "grafana/alloy:v1.8.1"}]},
                },
            },
        )


def _yaml(text: str) -> JsonObject:
    if not text:
        return {}
    import yaml

    return as_object(yaml.safe_load(text))
