"""The values of the Pyroscope chart: what the product decides, and how further values are merged.

Three layers, the later one winning: defaults that a stack file may override, the stack file's own
values, and what the product owns because something else relies on it (the settings refuse those).
The chart has no schema and ignores what it does not know: every path here is one of chart 1.15.
Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from components.pyroscope_disk import DiskArgs
from components.pyroscope_microservices import (
    RING,
    ServerComponentArgs,
    default_components,
    owned_components,
    with_annotations_where_they_belong,
)
from components.pyroscope_storage import KeepingArgs, storage_values
from components.values import at_path, deep_merge, with_texts
from contract.agent import LONGEST_RANGE_DAYS, PYROSCOPE_PORT
from contract.images import SERVER
from contract.json import as_object
from contract.microservices import ServerComponent

SECURITY_CONTEXT: Final[Mapping[str, object]] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""Of every container: what Azure Policy's baseline and restricted initiatives ask for. The chart
runs the server as a user that is not root already."""
RESOURCES: Final[Mapping[str, object]] = {
    "requests": {"cpu": "250m", "memory": "1Gi"},
    "limits": {"cpu": "2", "memory": "4Gi"},
}
"""Of the server, where a stack file says none: a policy that demands limits takes the pod, and a
node is not filled by it unasked. Whoever has more series than one cluster's raises them."""


GRACE_PERIOD_SECONDS: Final = 600
"""For a stop, which writes every profile that is still in memory; the chart's 30 cut it off."""


def default_values(image_repository: str) -> dict[str, object]:
    """What a stack file may override."""
    return {
        "pyroscope": {
            "image": {"repository": image_repository},
            "extraArgs": {"log.level": "info"},
            "terminationGracePeriodSeconds": GRACE_PERIOD_SECONDS,
            "securityContext": SECURITY_CONTEXT,
            "structuredConfig": {"analytics": {"reporting_enabled": False}},
        }
    }


TENANT: Final = "anonymous"
"""Whose every profile is without multitenancy (``pkg/tenant``), which the agent cannot speak."""
RANGE_LIMITS: Final = {
    "max_query_length": "max-query-length",
    "max_query_lookback": "max-query-lookback",
}
"""How far one query reaches, and how far back any does: keys of ``limits``, and their flags'
names after ``querier.``."""


def range_limits(extra: Mapping[str, object], lookback: str | None = None) -> dict[str, object]:
    """Queries as long as Azure Monitor's, where a stack file's values do not say otherwise.

    ``lookback`` is how far back any goes where profiles are kept for that long.
    A server comes with 24 hours at once and, silently, 7 days back: a process that runs for longer
    could not be shown from its start. They are a tenant's overrides, which the server reads anew
    every ten seconds, and not its configuration, whose change starts it again.
    """
    said: set[str] = set()
    for path in (("structuredConfig", "limits"), ("extraArgs",)):
        found = at_path(extra, ("pyroscope", *path))
        said |= set(cast("Mapping[str, object]", found)) if isinstance(found, Mapping) else set()
    text = str(at_path(extra, ("pyroscope", "config")) or "")
    longest = f"{LONGEST_RANGE_DAYS}d"
    wanted = {"max_query_length": longest, "max_query_lookback": lookback or longest}
    limits = {
        key: wanted[key]
        for key, flag in RANGE_LIMITS.items()
        if key not in said and f"querier.{flag}" not in said and key not in text
    }
    return {"pyroscope": {"tenantOverrides": {TENANT: limits}}} if limits else {}


def owned_values(
    *,
    image_tag: str,
    annotations: Mapping[str, str] | None,
    resources: Mapping[str, object] | None = None,
    node_selector: Mapping[str, str] | None = None,
    tolerations: Sequence[Mapping[str, object]] | None = None,
    affinity: Mapping[str, object] | None = None,
    disk: DiskArgs | None = None,
    keeping: KeepingArgs | None = None,
    components: Mapping[str, ServerComponentArgs] | None = None,
) -> dict[str, object]:
    """What the product decides; with ``disk`` profiles are kept on it, else in the pod.

    ``annotations`` make the private link of the Service's load balancer; None: there is neither.
    With ``components`` there are these, else one server.
    """
    scheduling = {
        "resources": resources,
        "nodeSelector": node_selector,
        "tolerations": tolerations,
        "affinity": affinity,
    }
    pyroscope: dict[str, object] = {
        "image": {"tag": image_tag},
        "structuredConfig": {"self_profiling": {"disable_push": True}},
        **{key: value for key, value in scheduling.items() if value},
    }
    storage = storage_values(disk, keeping or KeepingArgs())
    if components is None:
        pyroscope["replicaCount"] = 1
        pyroscope["service"] = {"port": PYROSCOPE_PORT, **_exposure(annotations)}
    else:
        pyroscope["service"] = {"type": "ClusterIP", "port": PYROSCOPE_PORT}
        pyroscope["extraArgs"] = RING
        pyroscope["components"] = owned_components(
            components, _exposure(annotations), storage.pop("persistence", {"enabled": False})
        )
    pyroscope = deep_merge(pyroscope, storage)
    return {"pyroscope": pyroscope, "alloy": {"enabled": False}, "minio": {"enabled": False}}


def _exposure(annotations: Mapping[str, str] | None) -> dict[str, object]:
    if annotations is None:
        return {"type": "ClusterIP"}
    return {"type": "LoadBalancer", "annotations": {**annotations}}


_TEXTS = (
    ("pyroscope", "service", "annotations"),
    ("pyroscope", "components", ServerComponent.QUERY_FRONTEND, "service", "annotations"),
    ("pyroscope", "extraArgs"),
    ("pyroscope", "extraEnvVars"),
)
"""Mappings whose values reach Kubernetes or the server's command line as texts. The engine hands
Helm every number as a float, which the chart's template writes as ``1.048576e+08``: the server does
not take that for a number and stops."""


def merged(
    extra: Mapping[str, object],
    owned: Mapping[str, object],
    *,
    image_repository: str = SERVER,
    lookback: str | None = None,
    labels: Mapping[str, str] | None = None,
    components: Mapping[str, ServerComponentArgs] | None = None,
) -> dict[str, object]:
    """Defaults (``labels`` of the pod among them), then ``extra``, then ``owned``, merged deeply.

    What must be a text is one.
    """
    defaults = deep_merge(default_values(image_repository), range_limits(extra, lookback))
    if labels:
        defaults = deep_merge(defaults, {"pyroscope": {"extraLabels": labels}})
    one = components is None
    if one and not any(at_path(values, ("pyroscope", "resources")) for values in (extra, owned)):
        # As a whole or not at all: a request of the stack file's could be above a limit of these.
        defaults = deep_merge(defaults, {"pyroscope": {"resources": RESOURCES}})
    if components is not None:
        said = as_object(extra.get("pyroscope"))
        by_component = {"pyroscope": {"components": default_components(components, said)}}
        defaults = deep_merge(defaults, by_component)
        extra = with_annotations_where_they_belong(extra)
    return with_texts(deep_merge(deep_merge(defaults, extra), owned), _TEXTS)
