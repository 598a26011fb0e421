"""One component of the public Pyroscope chart: its Services, its workload, its disruption budget.

From ``templates/deployments-statefulsets.yaml`` and ``services.yaml``, the same from 1.15.0 to
1.19.2 for what is here. What a component says takes the place of what ``pyroscope`` says for all.
"""

import hashlib
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
    is_object,
    merge_patch,
    text_map,
)

NAME: Final = "pyroscope"
ALL: Final = "all"
"""The component that is all of them in one server."""


class ChartError(Exception):
    """Helm cannot render or find the chart; the message is Helm's."""


@dataclass(frozen=True)
class Labelled:
    """A release, and how its objects are called and labelled."""

    chart: str
    version: str
    app_version: str
    release: str
    namespace: str
    values: JsonObject

    @property
    def pyroscope(self) -> JsonObject:
        """What is said for every component."""
        return as_object(self.values.get("pyroscope"))

    @property
    def _named(self) -> str:
        return as_text(self.pyroscope.get("nameOverride")) or NAME

    @property
    def name(self) -> str:
        """What the names of its objects begin with."""
        override = as_text(self.pyroscope.get("fullnameOverride"))
        name = self._named
        return override or (self.release if name in self.release else f"{self.release}-{name}")

    @property
    def account(self) -> str:
        """Its service account."""
        account = as_object(self.pyroscope.get("serviceAccount"))
        made = self.name if account.get("create") is not False else "default"
        return as_text(account.get("name")) or made

    @property
    def selector(self) -> JsonObject:
        """The labels of all its pods."""
        return {
            "app.kubernetes.io/name": self._named,
            "app.kubernetes.io/instance": self.release,
        }

    @property
    def extra_labels(self) -> dict[str, str]:
        """Labels that the values add."""
        return text_map(self.pyroscope.get("extraLabels"))

    def object(
        self,
        version: str,
        kind: str,
        name: str,
        annotations: JsonObject | None = None,
        component: str = "",
        **body: object,
    ) -> JsonObject:
        """An object of the release."""
        own = {"app.kubernetes.io/component": component} if component else {}
        metadata: JsonObject = {
            "name": name,
            "namespace": self.namespace,
            "labels": {
                **self.selector,
                **own,
                "app.kubernetes.io/managed-by": "Helm",
                "app.kubernetes.io/version": self.app_version,
                "helm.sh/chart": f"{self.chart}-{self.version}",
                **self.extra_labels,
            },
            "annotations": {
                "meta.helm.sh/release-name": self.release,
                "meta.helm.sh/release-namespace": self.namespace,
                **(annotations or {}),
            },
        }
        return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}


def annotations_of(holder: JsonObject, what: str) -> JsonObject:
    """The annotations in values.

    Raises:
        ChartError: one is no text.
    """
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


class Component:
    """One component of a release, which reads ``config``."""

    def __init__(self, of: Labelled, component: str, own: JsonObject, config: str) -> None:
        self._of = of
        self._component = component
        self._kind = as_text(own.get("kind"))
        self._name = of.name if component == ALL else f"{of.name}-{component}"
        self._values = as_object(merge_patch(clone_object(of.pyroscope), clone_object(own)))
        self._selector: JsonObject = {**of.selector, "app.kubernetes.io/component": component}
        self._config = config

    def objects(self) -> list[JsonObject]:
        """Its Services, its workload, and its disruption budget."""
        service = as_object(self._values.get("service"))
        rendered = [
            self._service(self._name, as_text(service.get("type"))),
            self._service(f"{self._name}-headless", "ClusterIP", headless=True),
            self._workload(),
        ]
        budget = as_object(self._values.get("podDisruptionBudget"))
        if budget.get("enabled") is True:
            key = "minAvailable" if "minAvailable" in budget else "maxUnavailable"
            spec = {key: budget.get(key), "selector": {"matchLabels": self._selector}}
            rendered.append(self._object("policy/v1", "PodDisruptionBudget", self._name, spec=spec))
        return rendered

    def _object(
        self,
        version: str,
        kind: str,
        name: str,
        annotations: JsonObject | None = None,
        **body: object,
    ) -> JsonObject:
        return self._of.object(version, kind, name, annotations, self._component, **body)

    @property
    def _called(self) -> str:
        """What the chart calls the container."""
        return NAME if self._component == ALL else self._component

    def _data_mounts(self) -> list[object]:
        if self._component != "compactor":
            return [{"name": "data", "mountPath": "/data"}]
        return [
            {"name": "data", "mountPath": "/data", "subPath": "default"},
            {"name": "data", "mountPath": "/data-compactor", "subPath": "compactor"},
        ]

    def _ports(self) -> list[object]:
        service = as_object(self._values.get("service"))
        port = as_integer(service.get("port"), 4040)
        ports: list[object] = [
            {
                "name": as_text(service.get("port_name"), "http2"),
                "port": port,
                "targetPort": as_text(service.get("port_name"), "http2"),
                "protocol": "TCP",
            }
        ]
        if tuple(map(int, self._of.version.split(".")[:3])) >= (2, 0, 2):
            ports += [{"name": "grpc", "port": 9095}, {"name": "raft", "port": 9099}]
        return [*ports, *as_list(service.get("extraPorts"))]

    def _service(self, name: str, kind: str, *, headless: bool = False) -> JsonObject:
        spec: JsonObject = {"type": kind, "ports": self._ports(), "selector": self._selector}
        annotations = None
        if headless:
            spec["clusterIP"] = "None"
        else:
            annotations = annotations_of(as_object(self._values.get("service")), "service")
        return self._object("v1", "Service", name, annotations, spec=spec)

    def _container(self) -> JsonObject:
        pyroscope = self._values
        image, service = as_object(pyroscope.get("image")), as_object(pyroscope.get("service"))
        tag = as_text(image.get("tag")) or self._of.app_version
        registry = as_text(dig(self._of.values, "global", "imageRegistry")) or as_text(
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
            "name": self._called,
            "securityContext": as_object(pyroscope.get("securityContext")),
            "image": f"{name}:{tag}",
            "imagePullPolicy": image.get("pullPolicy"),
            "args": self._arguments(service),
            "env": self._environment(),
            "ports": self._ports(),
            "readinessProbe": probe | ({"initialDelaySeconds": delay} if delay else {}),
            "volumeMounts": [
                *self._data_mounts(),
                *as_list(pyroscope.get("extraVolumeMounts")),
            ],
            "resources": as_object(pyroscope.get("resources")),
        }
        if pyroscope.get("extraEnvFrom"):
            container["envFrom"] = pyroscope["extraEnvFrom"]
        return container

    def _arguments(self, service: JsonObject) -> list[str]:
        """The chart's own flags, then the further ones: of one given twice, the last counts."""
        domain = as_text(self._of.pyroscope.get("cluster_domain"))
        peers = f"{self._of.name}-memberlist.{self._of.namespace}.svc{domain}"
        port = go_text(dig(self._of.pyroscope, "memberlist", "port"))
        pushes = go_text(self._of.pyroscope.get("disableSelfProfile"))
        own = {
            "target": self._component,
            "self-profiling.disable-push": pushes,
            "server.http-listen-port": go_text(service.get("port")),
            "memberlist.cluster-label": f"{self._of.namespace}-{self._of.name}",
            "memberlist.join": f"dns+{peers}:{port}",
            "config.file": "/etc/pyroscope/config.yaml",
            "runtime-config.file": "/etc/pyroscope/overrides/overrides.yaml",
        }
        further = as_object(self._values.get("extraArgs"))
        return [
            *(f"-{key}={value}" for key, value in own.items()),
            *(f"-{key}={go_text(further[key])}" for key in sorted(further)),
        ]

    def _environment(self) -> list[object]:
        domain = as_text(self._of.pyroscope.get("cluster_domain"))
        given = as_object(self._values.get("extraEnvVars"))
        return [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "NAMESPACE_FQDN", "value": f"{self._of.namespace}.svc{domain}"},
            *(
                {"name": key, **value}
                if is_object(value)
                else {"name": key, "value": go_text(value)}
                for key, value in sorted(given.items())
            ),
            *as_list(self._values.get("extraCustomEnvVars")),
        ]

    def _workload(self) -> JsonObject:
        pyroscope = self._values
        pod: JsonObject = {
            "serviceAccountName": self._of.account,
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
        checksum = hashlib.sha256(self._config.encode()).hexdigest()
        template: JsonObject = {
            "metadata": {
                "labels": {**self._selector, **self._of.extra_labels, "name": self._called},
                "annotations": {
                    "checksum/config": checksum,
                    "profiles.grafana.com/service_repository": "https://github.com/grafana/pyroscope",
                    "profiles.grafana.com/service_git_ref": f"v{self._of.app_version}",
                    **as_object(pyroscope.get("podAnnotations")),
                },
            },
            "spec": pod,
        }
        spec: JsonObject = {
            "replicas": as_integer(pyroscope.get("replicaCount"), 1),
            "selector": {"matchLabels": self._selector},
            "template": template,
        }
        if self._kind == "StatefulSet":
            spec |= {"serviceName": f"{self._name}-headless", "podManagementPolicy": "Parallel"}
        self._add_data(spec, pod)
        return self._object("apps/v1", self._kind, self._name, spec=spec)

    def _add_data(self, spec: JsonObject, pod: JsonObject) -> None:
        """Where ``/data`` is: a claim of each pod, one that is there, or the pod's own."""
        pyroscope, stateful = self._values, self._kind == "StatefulSet"
        pod["volumes"] = as_list(pyroscope.get("extraVolumes"))
        persistence = as_object(pyroscope.get("persistence"))
        if persistence.get("enabled") is True and persistence.get("existingClaim"):
            claimed = {"claimName": persistence["existingClaim"]}
            pod["volumes"] = [*pod["volumes"], {"name": "data", "persistentVolumeClaim": claimed}]
        elif persistence.get("enabled") is True and not stateful:
            # A claim that nothing makes: the chart has none of that name.
            claimed = {"claimName": f"{self._name}-data"}
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
