"""Rules on the chart values a stack file may add to Pyroscope's.

The chart has no schema: a value it does not read is silently ignored, while a configuration
key that the server does not know stops it. So values that the product owns are refused by name,
with where to set them instead, and so is what the chosen release of the chart does not read, with
the nearest right key. What the server would make of its configuration is
:mod:`infra.settings.server_configuration`'s.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from contract.agent import NAMESPACE, PYROSCOPE_PORT
from infra.settings.nearest import nearest
from infra.settings.published_values import Tree, chart_values, first_chart_with, server
from infra.settings.section import RuleViolation, as_mapping, stringified
from infra.settings.server_configuration import broken_configuration

_IN_SETTINGS = "set it in gpuobs:pyroscope"
OWNED_VALUES = {
    "namespaceOverride": f"leave it out: the agent sends to namespace `{NAMESPACE}`",
    "agent": "leave it out: that agent collects other profiles, and is not deployed",
    "alloy": "leave it out: the agent sends its profiles itself, and Alloy is not deployed",
    "minio": "leave it out: profiles are kept as `storage` says, and MinIO is not deployed",
    "architecture": "leave it out: `mode` and `storage` decide what is deployed",
    "pyroscope.components": f"{_IN_SETTINGS}: `mode: distributed` and `components`",
    "pyroscope.autoscaling": f"leave it out, and {_IN_SETTINGS}: `components`",
    "pyroscope.disableSelfProfile": "leave it out: the server's own profiles would mix with those "
    "of the GPUs",
    "pyroscope.hostNetwork": "leave it out: the private link leads to the pod's own network",
    "pyroscope.replicaCount": "leave it out: profiles on a disk or in the pod cannot be shared by "
    "replicas, each would answer with its own part; what scales is `mode: distributed`",
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
    "pyroscope.service.scheme": "leave it out: the server speaks plain HTTP",
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
_KNOWN_SLIPS = {"podLabels": "extraLabels", "labels": "extraLabels", "env": "extraEnvVars"}
_STRING_MAPS = ("annotations", "extraLabels", "labels", "matchLabels", "nodeSelector")
_CONFIGURATIONS = ("structuredConfig", "tenantOverrides")
"""The server's own, in which a key of such a name means something else."""


def with_texts(value: object, key: str = "") -> object:
    """``value`` with booleans and whole numbers as text where Kubernetes takes nothing else.

    That is in annotations, labels and node selectors, at any depth: ``true`` becomes ``"true"``.
    """
    if isinstance(value, list):
        return [with_texts(item) for item in cast("list[object]", value)]
    if (mapping := as_mapping(value)) is None:
        return value
    if key in _CONFIGURATIONS:
        return mapping
    if key in _STRING_MAPS or key.endswith("Annotations"):
        return {name: stringified(item) for name, item in mapping.items()}
    return {name: with_texts(item, name) for name, item in mapping.items()}


def broken_values(
    values: Mapping[str, object], *, chart: str | None, image: str
) -> Iterator[RuleViolation]:
    """The rules that ``values``, a chart's, break; paths start with ``values``.

    ``chart`` is the release of the chart (None: one of the user's own, which may read anything),
    ``image`` that of the server.
    """
    if not values:
        return
    yield from _not_mappings(values)
    yield from _owned(values)
    known = chart_values(chart) if chart is not None else None
    if chart is not None and known is not None:
        yield from _ignored(values, known, chart)
    yield from broken_configuration(_at(values, "pyroscope"), server(image))
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
        "pyroscope.structuredConfig",
        "pyroscope.extraEnvVars",
        "pyroscope.tenantOverrides",
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


def _ignored(
    values: Mapping[str, object], known: Tree, chart: str, under: str = ""
) -> Iterator[RuleViolation]:
    """Values that the chart does not read, at whatever depth."""
    for key, value in values.items():
        path = f"{under}{key}"
        if "." not in key and path in OWNED_VALUES:
            continue
        if key not in known:
            yield _not_read(path, key, known, chart)
        elif (below := known[key]) is not None and (mapping := as_mapping(value)) is not None:
            yield from _ignored(mapping, below, chart, f"{path}.")


def _not_read(path: str, key: str, known: Tree, chart: str) -> RuleViolation:
    alike = [_KNOWN_SLIPS[key]] if key in _KNOWN_SLIPS else nearest(key, known)
    below = as_mapping(known.get("pyroscope")) or {}
    if "." in key:
        fix = "write nested keys, one per level: the dots of `helm --set` mean nothing here"
    elif (later := first_chart_with(path)) is not None:
        fix = (
            f'leave it out, or write chart: {{ version: "{later}" }}, which is the first to read it'
        )
    elif key in below:
        fix = f"did you mean `pyroscope.{key}`?"
    elif alike:
        fix = f"did you mean `{alike[0]}`?"
    else:
        fix = "leave it out"
    return RuleViolation(
        fields=(f"values.{path}",),
        rule=f"a value that the Pyroscope chart {chart} reads",
        why="the chart silently ignores a value that it does not read.",
        fix=fix,
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
            alike = slip or next(iter(nearest(name, known)), "")
            fix = f"did you mean `{_SERVICE_ANNOTATION}{alike}`?" if alike else "leave it out"
            if alike in _PRIVATE_LINK_ANNOTATIONS:
                # That one would be refused too.
                fix = f"if `{alike}` is meant, {_in_place_of(alike)}"
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
        if key in _CONFIGURATIONS:
            return
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
