"""The public Pyroscope chart as one server: what Helm would render.

From its templates (``operations/pyroscope/helm/pyroscope`` in the server's repository). Like the
chart, it has no values schema: a value that the chosen release does not read changes nothing,
silently. Not here: its subcharts, its micro-services mode, ingress and ServiceMonitor. What the
server does with its configuration is in :mod:`simulator.kubernetes.pyroscope_server`.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from simulator.kubernetes.published_values import chart_tree, only_read
from simulator.values import (
    JsonObject,
    as_integer,
    as_list,
    as_object,
    as_text,
    clone_object,
    dig,
    is_object,
    merge_patch,
    text_map,
)

NAME: Final = "pyroscope"
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
    def __init__(self, chart: Chart, release: str, namespace: str, values: JsonObject) -> None:
        self._chart = chart
        self._release = release
        self._namespace = namespace
        self._values = values
        self._pyroscope = as_object(values.get("pyroscope"))
        override = as_text(self._pyroscope.get("fullnameOverride"))
        name = as_text(self._pyroscope.get("nameOverride")) or NAME
        self._name = override or (release if name in release else f"{release}-{name}")
        self._labels = text_map(self._pyroscope.get("extraLabels"))
        self._selector: JsonObject = {
            "app.kubernetes.io/name": name,
            "app.kubernetes.io/instance": release,
            "app.kubernetes.io/component": "all",
        }

    def objects(self) -> list[JsonObject]:
        service = as_object(self._pyroscope.get("service"))
        name = self._name
        rendered = [
            self._object("v1", "ConfigMap", f"{name}-config", data={"config.yaml": self._config()}),
            self._object(
                "v1",
                "ConfigMap",
                f"{name}-overrides-config",
                data={"overrides.yaml": json.dumps({"overrides": self._overrides()})},
            ),
            self._service(name, as_text(service.get("type")), self._ports(service)),
            self._service(f"{name}-headless", "ClusterIP", self._ports(service), headless=True),
            self._service(
                f"{name}-memberlist",
                "ClusterIP",
                [
                    {
                        "name": "memberlist",
                        "port": as_integer(dig(self._pyroscope, "memberlist", "port"), 7946),
                        "targetPort": "memberlist",
                        "protocol": "TCP",
                    }
                ],
                headless=True,
            ),
            self._stateful_set(),
        ]
        budget = as_object(self._pyroscope.get("podDisruptionBudget"))
        if budget.get("enabled") is True:
            key = "minAvailable" if "minAvailable" in budget else "maxUnavailable"
            spec = {key: budget.get(key), "selector": {"matchLabels": self._selector}}
            rendered.append(self._object("policy/v1", "PodDisruptionBudget", name, spec=spec))
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
        account = as_object(self._pyroscope.get("serviceAccount"))
        made = self._name if account.get("create") is not False else "default"
        return as_text(account.get("name")) or made

    def _config(self) -> str:
        """``config`` with ``structuredConfig`` merged over it; no template is rendered."""
        text = as_text(self._pyroscope.get("config"))
        merged = merge_patch(_yaml(text), as_object(self._pyroscope.get("structuredConfig")))
        return json.dumps(as_object(merged), sort_keys=True)

    def _overrides(self) -> JsonObject:
        return as_object(self._pyroscope.get("tenantOverrides"))

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
                **self._labels,
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
        return [*ports, *as_list(service.get("extraPorts"))]

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
        image, service = as_object(pyroscope.get("image")), as_object(pyroscope.get("service"))
        tag = as_text(image.get("tag")) or self._chart.app_version
        registry = as_text(dig(self._values, "global", "imageRegistry")) or as_text(
            image.get("registry")
        )
        name = f"{registry}/" * bool(registry) + as_text(image.get("repository"))
        probe: JsonObject = {
            "httpGet": {
                "path": "/ready",
                "port": as_text(service.get("port_name")),
                "scheme": as_text(service.get("scheme")),
            }
        }
        delay = dig(pyroscope, "readinessProbe", "initialDelaySeconds")
        container: JsonObject = {
            "name": "pyroscope",
            "securityContext": as_object(pyroscope.get("securityContext")),
            "image": f"{name}:{tag}",
            "imagePullPolicy": image.get("pullPolicy"),
            "args": self._arguments(service),
            "env": self._environment(),
            "ports": self._ports(service),
            "readinessProbe": probe | ({"initialDelaySeconds": delay} if delay else {}),
            "volumeMounts": [
                {"name": "data", "mountPath": "/data"},
                *as_list(pyroscope.get("extraVolumeMounts")),
            ],
            "resources": as_object(pyroscope.get("resources")),
        }
        if pyroscope.get("extraEnvFrom"):
            container["envFrom"] = pyroscope["extraEnvFrom"]
        return container

    def _arguments(self, service: JsonObject) -> list[str]:
        """The chart's own flags, then the further ones: of one given twice, the last counts."""
        domain = as_text(self._pyroscope.get("cluster_domain"))
        peers = f"{self._name}-memberlist.{self._namespace}.svc{domain}"
        port = go_text(dig(self._pyroscope, "memberlist", "port"))
        pushes = go_text(self._pyroscope.get("disableSelfProfile"))
        own = {
            "target": "all",
            "self-profiling.disable-push": pushes,
            "server.http-listen-port": go_text(service.get("port")),
            "memberlist.cluster-label": f"{self._namespace}-{self._name}",
            "memberlist.join": f"dns+{peers}:{port}",
            "config.file": "/etc/pyroscope/config.yaml",
            "runtime-config.file": "/etc/pyroscope/overrides/overrides.yaml",
        }
        further = as_object(self._pyroscope.get("extraArgs"))
        return [
            *(f"-{key}={value}" for key, value in own.items()),
            *(f"-{key}={go_text(further[key])}" for key in sorted(further)),
        ]

    def _environment(self) -> list[object]:
        domain = as_text(self._pyroscope.get("cluster_domain"))
        given = as_object(self._pyroscope.get("extraEnvVars"))
        return [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "NAMESPACE_FQDN", "value": f"{self._namespace}.svc{domain}"},
            *(
                {"name": key, **value}
                if is_object(value)
                else {"name": key, "value": go_text(value)}
                for key, value in sorted(given.items())
            ),
            *as_list(self._pyroscope.get("extraCustomEnvVars")),
        ]

    def _stateful_set(self) -> JsonObject:
        pyroscope = self._pyroscope
        pod: JsonObject = {
            "serviceAccountName": self._account(),
            "securityContext": as_object(pyroscope.get("podSecurityContext")),
            "dnsPolicy": pyroscope.get("dnsPolicy"),
            "containers": [self._container(), *as_list(pyroscope.get("extraContainers"))],
            "nodeSelector": as_object(pyroscope.get("nodeSelector")),
            "tolerations": as_list(pyroscope.get("tolerations")),
            "affinity": as_object(pyroscope.get("affinity")),
            "topologySpreadConstraints": as_list(pyroscope.get("topologySpreadConstraints")),
        }
        for key in (
            "terminationGracePeriodSeconds",
            "hostNetwork",
            "imagePullSecrets",
            "initContainers",
            "priorityClassName",
        ):
            if pyroscope.get(key) not in (None, []):
                pod[key] = pyroscope[key]
        checksum = hashlib.sha256(self._config().encode()).hexdigest()
        template: JsonObject = {
            "metadata": {
                "labels": {**self._selector, **self._labels, "name": NAME},
                "annotations": {
                    "checksum/config": checksum,
                    "profiles.grafana.com/service_repository": "https://github.com/grafana/pyroscope",
                    "profiles.grafana.com/service_git_ref": f"v{self._chart.app_version}",
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
        pod["volumes"] = as_list(pyroscope.get("extraVolumes"))
        persistence = as_object(pyroscope.get("persistence"))
        if persistence.get("enabled") is True and persistence.get("existingClaim"):
            claimed = {"claimName": persistence["existingClaim"]}
            pod["volumes"] = [*pod["volumes"], {"name": "data", "persistentVolumeClaim": claimed}]
        elif persistence.get("enabled") is True:
            claim: JsonObject = {
                "accessModes": as_list(persistence.get("accessModes")),
                "resources": {"requests": {"storage": persistence.get("size")}},
            }
            if persistence.get("storageClassName"):
                claim["storageClassName"] = persistence["storageClassName"]
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
        else:
            pod["volumes"] = [*pod["volumes"], {"name": "data", "emptyDir": {}}]
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


def go_text(value: object) -> str:
    """What a template writes for a value: numbers of seven and more digits with an exponent.

    Helm reads values as JSON, so that every number is a float64, and ``{{ }}`` prints it by Go's
    ``%v``: 104857600 becomes ``1.048576e+08``.
    """
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | float):
        return str(value)
    number = float(value)
    if number and not 1e-4 <= abs(number) < 1e6:
        texts = (f"{number:.{digits}e}" for digits in range(18))
        return next(text for text in texts if float(text) == number)
    return str(int(number)) if number.is_integer() else repr(number)


def _yaml(text: str) -> JsonObject:
    if not text:
        return {}
    import yaml

    return as_object(yaml.safe_load(text))
