"""The public Pyroscope chart, as far as the product's values reach: what Helm would render.

Like the chart, it has no values schema: a value it does not know changes nothing, silently. What
the server does with its configuration is in :mod:`simulator.kubernetes.pyroscope_server`.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from simulator.values import (
    JsonObject,
    as_integer,
    as_list,
    as_object,
    as_text,
    clone_object,
    dig,
    merge_patch,
    text_map,
)

NAME: Final = "pyroscope"
OCI: Final = "oci://ghcr.io/grafana/helm-charts/pyroscope"
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
        "service": {"type": "ClusterIP", "port": 4040, "port_name": "http2", "annotations": {}},
        "extraArgs": {"log.level": "debug"},
        "podSecurityContext": {"fsGroup": 10001, "runAsUser": 10001, "runAsNonRoot": True},
        "persistence": {"enabled": False, "accessModes": ["ReadWriteOnce"], "size": "10Gi"},
        "serviceAccount": {"create": True, "name": "", "annotations": {}},
    },
    "alloy": {"enabled": True},
    "minio": {"enabled": False},
}


class ChartError(Exception):
    """Helm cannot render or find the chart; the message is Helm's."""


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
    public = chart.rstrip("/") == OCI or (chart == NAME and repository.rstrip("/") == REPOSITORY)
    if not public:
        raise ChartError(
            f"failed to download {chart!r}: not found (simulated registries have {OCI})"
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
    values = as_object(merge_patch(clone_object(DEFAULTS), given))
    return _Rendering(chart, release, namespace, values).objects()


class _Rendering:
    def __init__(self, chart: Chart, release: str, namespace: str, values: JsonObject) -> None:
        self._chart = chart
        self._release = release
        self._namespace = namespace
        self._values = values
        self._pyroscope = as_object(values.get("pyroscope"))
        override = as_text(self._pyroscope.get("fullnameOverride")) or as_text(
            values.get("fullnameOverride")
        )
        self._name = override or (release if NAME in release else f"{release}-{NAME}")
        self._selector: JsonObject = {
            "app.kubernetes.io/name": NAME,
            "app.kubernetes.io/instance": release,
            "app.kubernetes.io/component": "all",
        }

    def objects(self) -> list[JsonObject]:
        service = as_object(self._pyroscope.get("service"))
        name = self._name
        rendered = [
            self._object("v1", "ConfigMap", f"{name}-config", data={"config.yaml": self._config()}),
            self._object(
                "v1", "ConfigMap", f"{name}-overrides-config", data={"overrides.yaml": ""}
            ),
            self._service(name, as_text(service.get("type")), self._ports(service)),
            self._service(f"{name}-headless", "ClusterIP", self._ports(service), headless=True),
            self._service(
                f"{name}-memberlist",
                "ClusterIP",
                [
                    {
                        "name": "memberlist",
                        "port": 7946,
                        "targetPort": "memberlist",
                        "protocol": "TCP",
                    }
                ],
                headless=True,
            ),
            self._stateful_set(),
            self._object(
                "policy/v1",
                "PodDisruptionBudget",
                name,
                spec={"maxUnavailable": 1, "selector": {"matchLabels": self._selector}},
            ),
        ]
        account = as_object(self._pyroscope.get("serviceAccount"))
        if account.get("create") is not False:
            annotations = self._annotations(account, "serviceAccount")
            rendered.append(
                self._object(
                    "v1", "ServiceAccount", self._account(), annotations=annotations or None
                )
            )
        if dig(self._values, "alloy", "enabled") is True:
            rendered.append(self._alloy())
        return rendered

    def _account(self) -> str:
        return as_text(dig(self._pyroscope, "serviceAccount", "name")) or self._name

    def _config(self) -> str:
        return json.dumps(as_object(self._pyroscope.get("structuredConfig")), sort_keys=True)

    def _object(
        self,
        version: str,
        kind: str,
        name: str,
        annotations: JsonObject | None = None,
        **body: object,
    ) -> JsonObject:
        metadata: JsonObject = {
            "name": name,
            "namespace": self._namespace,
            "labels": {
                **self._selector,
                "app.kubernetes.io/managed-by": "Helm",
                "app.kubernetes.io/version": self._chart.app_version,
                "helm.sh/chart": f"{self._chart.name}-{self._chart.version}",
            },
            "annotations": {
                "meta.helm.sh/release-name": self._release,
                "meta.helm.sh/release-namespace": self._namespace,
                **(annotations or {}),
            },
        }
        return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}

    def _ports(self, service: JsonObject) -> list[object]:
        port = as_integer(service.get("port"), 4040)
        ports: list[object] = [
            {
                "name": as_text(service.get("port_name"), "http2"),
                "port": port,
                "targetPort": as_text(service.get("port_name"), "http2"),
                "protocol": "TCP",
            }
        ]
        if tuple(map(int, self._chart.version.split(".")[:3])) >= (2, 0, 2):
            ports += [{"name": "grpc", "port": 9095}, {"name": "raft", "port": 9099}]
        return ports

    def _service(
        self, name: str, kind: str, ports: list[object], *, headless: bool = False
    ) -> JsonObject:
        spec: JsonObject = {"type": kind, "ports": ports, "selector": self._selector}
        annotations = None
        if headless:
            spec["clusterIP"] = "None"
        else:
            annotations = self._annotations(as_object(self._pyroscope.get("service")), "service")
        return self._object("v1", "Service", name, annotations, spec=spec)

    def _annotations(self, holder: JsonObject, what: str) -> JsonObject:
        annotations = as_object(holder.get("annotations"))
        for key, value in annotations.items():
            if not isinstance(value, str):
                kind = {"bool": "bool", "int": "number", "float": "number"}.get(
                    type(value).__name__, "object"
                )
                raise ChartError(
                    f"unable to build kubernetes objects from release manifest ({what}): json: "
                    f"cannot unmarshal {kind} into Go struct field ObjectMeta.metadata.annotations "
                    f"of type string ({key})"
                )
        return annotations

    def _container(self) -> JsonObject:
        pyroscope = self._pyroscope
        image = as_object(pyroscope.get("image"))
        tag = as_text(image.get("tag")) or self._chart.app_version
        arguments = text_map(
            {key: str(item) for key, item in as_object(pyroscope.get("extraArgs")).items()}
        )
        return {
            "name": "pyroscope",
            "image": f"{as_text(image.get('repository'))}:{tag}",
            "args": [
                "-target=all",
                "-config.file=/etc/pyroscope/config.yaml",
                *(f"-{key}={value}" for key, value in arguments.items()),
            ],
            "env": [
                {"name": key, "value": value}
                for key, value in text_map(pyroscope.get("extraEnvVars")).items()
            ],
            "ports": self._ports(as_object(pyroscope.get("service"))),
            "readinessProbe": {"httpGet": {"path": "/ready", "port": "http2"}},
            "resources": as_object(pyroscope.get("resources")),
            "securityContext": as_object(pyroscope.get("securityContext")),
        }

    def _stateful_set(self) -> JsonObject:
        pyroscope = self._pyroscope
        pod: JsonObject = {
            "serviceAccountName": self._account(),
            "securityContext": as_object(pyroscope.get("podSecurityContext")),
            "containers": [self._container()],
            "nodeSelector": as_object(pyroscope.get("nodeSelector")),
            "tolerations": as_list(pyroscope.get("tolerations")),
            "affinity": as_object(pyroscope.get("affinity")),
            "topologySpreadConstraints": as_list(pyroscope.get("topologySpreadConstraints")),
        }
        if pyroscope.get("terminationGracePeriodSeconds") is not None:
            pod["terminationGracePeriodSeconds"] = pyroscope["terminationGracePeriodSeconds"]
        checksum = hashlib.sha256(self._config().encode()).hexdigest()
        template: JsonObject = {
            "metadata": {
                "labels": {**self._selector, **as_object(pyroscope.get("extraLabels"))},
                "annotations": {
                    "checksum/config": checksum,
                    **as_object(pyroscope.get("podAnnotations")),
                },
            },
            "spec": pod,
        }
        spec: JsonObject = {
            "replicas": as_integer(pyroscope.get("replicaCount"), 1),
            "serviceName": f"{self._name}-headless",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": self._selector},
            "template": template,
        }
        persistence = as_object(pyroscope.get("persistence"))
        if persistence.get("enabled") is True:
            claim: JsonObject = {
                "accessModes": as_list(persistence.get("accessModes")),
                "resources": {"requests": {"storage": persistence.get("size")}},
            }
            if persistence.get("storageClassName"):
                claim["storageClassName"] = persistence["storageClassName"]
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
        else:
            pod["volumes"] = [{"name": "data", "emptyDir": {}}]
        return self._object("apps/v1", "StatefulSet", self._name, spec=spec)

    def _alloy(self) -> JsonObject:
        """The collector that the chart brings unless it is switched off."""
        labels: JsonObject = {
            "app.kubernetes.io/name": "alloy",
            "app.kubernetes.io/instance": self._release,
        }
        return self._object(
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
