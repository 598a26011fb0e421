"""Rules on the chart values a stack file may add to Pyroscope's.

The chart has no schema: a value it does not know is silently ignored, while a configuration
key that the server does not know stops it. So values that the product owns are refused by name,
with where to set them instead, and what is likely a slip is pointed at with the nearest right key.
Known keys are those of chart 1.15 to 1.19 and server 1.15.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from contract.agent import NAMESPACE, PYROSCOPE_PORT
from infra.settings.section import RuleViolation, as_mapping, stringified

_IN_SETTINGS = "set it in gpuobs:pyroscope"
OWNED_VALUES = {
    "namespaceOverride": f"leave it out: the agent sends to namespace `{NAMESPACE}`",
    "alloy.enabled": "leave it out: the agent sends its profiles itself",
    "minio.enabled": "leave it out: profiles are kept as `storage` says",
    "architecture": "leave it out: one server is deployed, with the storage that `storage` says",
    "pyroscope.components": "leave it out: one server is deployed",
    "pyroscope.replicaCount": "leave it out: profiles on a disk or in the pod cannot be shared by "
    "replicas, each would answer with its own part",
    "pyroscope.nameOverride": "leave it out: the agent sends to a Service named `pyroscope`",
    "pyroscope.fullnameOverride": "leave it out: the agent sends to a Service named `pyroscope`",
    "pyroscope.image.tag": f"{_IN_SETTINGS}: `imageTag`",
    "pyroscope.resources": f"{_IN_SETTINGS}: `resources`",
    "pyroscope.nodeSelector": f"{_IN_SETTINGS}: `nodeSelector`",
    "pyroscope.tolerations": f"{_IN_SETTINGS}: `tolerations`",
    "pyroscope.affinity": f"{_IN_SETTINGS}: `affinity`",
    "pyroscope.persistence": f"{_IN_SETTINGS}: `storage: {{ disk: {{ size: 50Gi }} }}`",
    "pyroscope.service.type": "leave it out: the private link needs a LoadBalancer",
    "pyroscope.service.port": f"leave it out: the agent sends to port {PYROSCOPE_PORT}",
    "pyroscope.service.port_name": f"leave it out: the agent sends to port {PYROSCOPE_PORT}",
    "pyroscope.structuredConfig.storage": f"{_IN_SETTINGS}: `storage`",
    "pyroscope.structuredConfig.target": "leave it out: one server is deployed",
    "pyroscope.structuredConfig.self_profiling.disable_push": "leave it out: the server's own "
    "profiles would mix with those of the GPUs",
}
_SERVICE_ANNOTATION = "service.beta.kubernetes.io/"
_PRIVATE_LINK_ANNOTATIONS = {
    "azure-load-balancer-internal": "leave it out: the private link needs an internal one",
    "azure-load-balancer-ipv6": "leave it out: a private link knows IPv4 only",
    "azure-pls-create": "leave it out: the private link is always made",
    "azure-pls-name": "`privateLink: { name: ... }`",
    "azure-pls-resource-group": "`privateLink: { resourceGroup: ... }`",
    "azure-pls-ip-configuration-subnet": "`privateLink: { subnet: ... }`",
    "azure-pls-ip-configuration-ip-address-count": "`privateLink: { addressCount: ... }`",
    "azure-pls-ip-configuration-ip-address": "`privateLink: { addresses: [...] }`",
    "azure-pls-fqdns": "`privateLink: { fqdns: [...] }`",
    "azure-pls-visibility": '`privateLink: { visibility: ["*"] }`',
    "azure-pls-auto-approval": "`privateLink: { autoApproval: [...] }`",
    "azure-pls-proxy-protocol": "leave it out: with the proxy protocol the load balancer's health "
    "probes fail and no profile can be read",
}
_ANNOTATION_SLIPS = {"azure-load-balancer-internal-ipv4": "azure-load-balancer-ipv4"}
"""What the nearest known annotation is not the meant one of."""
_OTHER_ANNOTATIONS = (
    "azure-additional-public-ips",
    "azure-allowed-ip-ranges",
    "azure-allowed-service-tags",
    "azure-deny-all-except-load-balancer-source-ranges",
    "azure-disable-load-balancer-floating-ip",
    "azure-dns-label-name",
    "azure-load-balancer-configurations",
    "azure-load-balancer-disable-tcp-reset",
    "azure-load-balancer-enable-high-availability-ports",
    "azure-load-balancer-health-probe-interval",
    "azure-load-balancer-health-probe-num-of-probe",
    "azure-load-balancer-health-probe-protocol",
    "azure-load-balancer-health-probe-request-path",
    "azure-load-balancer-internal-subnet",
    "azure-load-balancer-ipv4",
    "azure-load-balancer-mode",
    "azure-load-balancer-resource-group",
    "azure-load-balancer-tcp-idle-timeout",
    "azure-pip-ip-tags",
    "azure-pip-name",
    "azure-pip-prefix-id",
    "azure-pip-tags",
    "azure-shared-securityrule",
)
_ROOT_KEYS = (
    "agent",
    "alloy",
    "architecture",
    "global",
    "httpRoute",
    "ingress",
    "minio",
    "namespaceOverride",
    "pyroscope",
    "serviceMonitor",
)
_PYROSCOPE_KEYS = (
    "affinity",
    "cluster_domain",
    "components",
    "config",
    "disableSelfProfile",
    "dnsPolicy",
    "extraArgs",
    "extraContainers",
    "extraCustomEnvVars",
    "extraEnvFrom",
    "extraEnvVars",
    "extraLabels",
    "extraVolumeMounts",
    "extraVolumes",
    "fullnameOverride",
    "image",
    "imagePullSecrets",
    "initContainers",
    "memberlist",
    "nameOverride",
    "nodeSelector",
    "persistence",
    "podAnnotations",
    "podDisruptionBudget",
    "podSecurityContext",
    "priorityClassName",
    "rbac",
    "replicaCount",
    "resources",
    "securityContext",
    "service",
    "serviceAccount",
    "structuredConfig",
    "tenantOverrides",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
)
_KNOWN_SLIPS = {"podLabels": "extraLabels", "labels": "extraLabels", "env": "extraEnvVars"}
_SERVER_KEYS = (
    "analytics",
    "api",
    "compactor",
    "distributor",
    "embedded_grafana",
    "frontend",
    "frontend_worker",
    "ingester",
    "limits",
    "memberlist",
    "multitenancy_enabled",
    "overrides_exporter",
    "pyroscopedb",
    "querier",
    "query_scheduler",
    "runtime_config",
    "self_profiling",
    "server",
    "show_banner",
    "storage",
    "store_gateway",
    "target",
    "tracing",
)
"""Top-level configuration keys of Pyroscope 1.15."""
_OWNED_ARGUMENTS = ("auth.multitenancy-enabled", "server.http-listen-port", "target")
RETENTION = "compactor_blocks_retention_period"
_STRING_MAPS = ("annotations", "extraLabels", "labels", "matchLabels", "nodeSelector")


def with_texts(value: object, key: str = "") -> object:
    """``value`` with booleans and whole numbers as text where Kubernetes takes nothing else.

    That is in annotations, labels and node selectors, at any depth: ``true`` becomes ``"true"``.
    """
    if isinstance(value, list):
        return [with_texts(item) for item in cast("list[object]", value)]
    if (mapping := as_mapping(value)) is None:
        return value
    if key in _STRING_MAPS or key.endswith("Annotations"):
        return {name: stringified(item) for name, item in mapping.items()}
    return {name: with_texts(item, name) for name, item in mapping.items()}


def broken_values(values: Mapping[str, object]) -> Iterator[RuleViolation]:
    """The rules that ``values``, a chart's, break; paths start with ``values``."""
    yield from _not_mappings(values)
    yield from _owned(values)
    yield from _unknown_keys(values)
    yield from _server_configuration(_at(values, "pyroscope.structuredConfig"))
    yield from _arguments(_at(values, "pyroscope.extraArgs"))
    yield from _annotations(_at(values, "pyroscope.service.annotations"))
    yield from _texts(values, "values")


def lookup(values: Mapping[str, object], path: str) -> object:
    """The value at a dotted path, None where there is none."""
    current: object = values
    for part in path.split("."):
        mapping = as_mapping(current)
        if mapping is None or part not in mapping:
            return None
        current = mapping[part]
    return current


def _at(values: Mapping[str, object], path: str) -> dict[str, object]:
    return as_mapping(lookup(values, path)) or {}


def _holds(values: Mapping[str, object], path: str) -> bool:
    parent, _, last = path.rpartition(".")
    return last in (_at(values, parent) if parent else values)


def _not_mappings(values: Mapping[str, object]) -> Iterator[RuleViolation]:
    parents = {path.rpartition(".")[0] for path in OWNED_VALUES} | {
        "pyroscope.extraArgs",
        "pyroscope.service.annotations",
        "pyroscope.structuredConfig.limits",
        "pyroscope.structuredConfig.pyroscopedb",
    }
    for path in sorted(parents - {""}):
        if _holds(values, path) and as_mapping(lookup(values, path)) is None:
            yield RuleViolation(
                fields=(f"values.{path}",),
                rule="must be a mapping",
                why="it would remove everything that the product sets below it.",
                fix="write nested keys below it, or leave it out",
            )


def _owned(values: Mapping[str, object]) -> Iterator[RuleViolation]:
    for path, fix in OWNED_VALUES.items():
        if _holds(values, path):
            yield RuleViolation(
                fields=(f"values.{path}",),
                rule="this chart value is the product's own",
                why="the agent, the private link and the data source rely on it.",
                fix=fix,
            )


def _unknown_keys(values: Mapping[str, object]) -> Iterator[RuleViolation]:
    for key in values:
        if key not in _ROOT_KEYS:
            below = [known for known in _PYROSCOPE_KEYS if known == key]
            nearest = [f"pyroscope.{key}"] if below else _nearest(key, _ROOT_KEYS)
            yield _unknown(f"values.{key}", key, nearest)
    for key in _at(values, "pyroscope"):
        if key in _PYROSCOPE_KEYS:
            continue
        if (
            nearest := [_KNOWN_SLIPS[key]]
            if key in _KNOWN_SLIPS
            else _nearest(key, _PYROSCOPE_KEYS)
        ):
            yield _unknown(f"values.pyroscope.{key}", key, nearest)


def _unknown(path: str, key: str, nearest: list[str]) -> RuleViolation:
    fix = f"did you mean `{nearest[0]}`?" if nearest else "leave it out"
    if "." in key:
        fix = "write nested keys, one per level: the dots of `helm --set` mean nothing here"
    return RuleViolation(
        fields=(path,),
        rule="a value that the Pyroscope chart knows",
        why="the chart silently ignores a value that it does not know.",
        fix=fix,
    )


def _server_configuration(configuration: Mapping[str, object]) -> Iterator[RuleViolation]:
    at = "values.pyroscope.structuredConfig"
    for key in configuration:
        if key not in _SERVER_KEYS:
            nearest = _nearest(key, _SERVER_KEYS)
            fix = f"did you mean `{nearest[0]}`?" if nearest else "leave it out"
            if "retention" in key:
                fix = f"leave it out: the server's only such key is `limits.{RETENTION}`"
            yield RuleViolation(
                fields=(f"{at}.{key}",),
                rule="a top-level configuration key of Pyroscope 1.15",
                why="the server stops at a key that it does not know, and restarts endlessly.",
                fix=fix,
            )
    if configuration.get("multitenancy_enabled") not in (None, False):
        yield RuleViolation(
            fields=(f"{at}.multitenancy_enabled",),
            value=configuration["multitenancy_enabled"],
            rule="must be false",
            why="the agent sends no tenant, so the server would refuse every profile.",
            fix="leave it out",
        )
    for section, value in configuration.items():
        for key, period in (as_mapping(value) or {}).items():
            path = f"{at}.{section}.{key}"
            if section == "limits" and key == RETENTION:
                if period not in (0, "0", "0s", None):
                    yield RuleViolation(
                        fields=(path,),
                        value=period,
                        rule="retention needs profiles in a bucket",
                        why="only the compactor deletes by age, and it works on a bucket: on a "
                        "disk or in the pod nothing would be deleted.",
                        fix="leave it out: a full disk drops its oldest blocks by itself",
                    )
            elif "retention" in key and section == "limits":
                yield RuleViolation(
                    fields=(path,),
                    rule="a configuration key of Pyroscope 1.15",
                    why="the server stops at a key that it does not know, and restarts endlessly.",
                    fix=f"leave it out: the server's only such key is `{RETENTION}`",
                )


def _arguments(arguments: Mapping[str, object]) -> Iterator[RuleViolation]:
    for name in _OWNED_ARGUMENTS:
        if name in arguments:
            yield RuleViolation(
                fields=(f"values.pyroscope.extraArgs.{name}",),
                rule="this argument is the product's own",
                why=f"the agent sends without a tenant to one server on port {PYROSCOPE_PORT}.",
                fix="leave it out",
            )


def _annotations(annotations: Mapping[str, object]) -> Iterator[RuleViolation]:
    known = (*_PRIVATE_LINK_ANNOTATIONS, *_OTHER_ANNOTATIONS)
    for key in annotations:
        prefix, _, name = key.rpartition("/")
        at = f"values.pyroscope.service.annotations.{key}"
        if prefix + "/" == _SERVICE_ANNOTATION and name in _PRIVATE_LINK_ANNOTATIONS:
            yield RuleViolation(
                fields=(at,),
                rule="this annotation is the product's own",
                why="it makes the private link, which the endpoint and the data source rely on.",
                fix=_in_place_of(name),
            )
        elif name.startswith("azure-") and (
            prefix + "/" != _SERVICE_ANNOTATION or name not in known
        ):
            slip = _ANNOTATION_SLIPS.get(name)
            nearest = slip or next(iter(_nearest(name, known)), "")
            fix = f"did you mean `{_SERVICE_ANNOTATION}{nearest}`?" if nearest else "leave it out"
            if nearest in _PRIVATE_LINK_ANNOTATIONS:
                # That one would be refused too.
                fix = f"if `{nearest}` is meant, {_in_place_of(nearest)}"
            yield RuleViolation(
                fields=(at,),
                rule="an annotation that the AKS cloud controller knows",
                why="the controller silently ignores one that it does not know.",
                fix=fix,
            )


def _in_place_of(annotation: str) -> str:
    """What to write in place of an annotation that is the product's own."""
    fix = _PRIVATE_LINK_ANNOTATIONS[annotation]
    return fix if fix.startswith("leave") else f"{_IN_SETTINGS}: {fix}"


def _texts(value: object, path: str, key: str = "") -> Iterable[RuleViolation]:
    if isinstance(value, list):
        for number, item in enumerate(cast("list[object]", value)):
            yield from _texts(item, f"{path}[{number}]")
        return
    for name, item in (as_mapping(value) or {}).items():
        at = f"{path}.{name}"
        if key not in _STRING_MAPS and not key.endswith("Annotations"):
            yield from _texts(item, at, name)
        elif not isinstance(item, str):
            yield RuleViolation(
                fields=(at,),
                value=item,
                rule="a text",
                why="Kubernetes refuses any other value here.",
                fix="put it in quotes",
            )


def _nearest(key: str, known: Iterable[str]) -> list[str]:
    by_lower_case = {name.lower(): name for name in known}
    found = difflib.get_close_matches(key.lower(), by_lower_case, n=1, cutoff=0.7)
    return [by_lower_case[name] for name in found]
