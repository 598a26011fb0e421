"""What the Pyroscope server makes of its image and configuration: it starts, or says why not."""

import json
import re
from dataclasses import dataclass
from typing import Final

from simulator import storage
from simulator.kubernetes import published_values, state
from simulator.values import (
    JsonObject,
    as_object,
    as_objects,
    as_text,
    bury,
    clone_object,
    dig,
    is_object,
    texts,
)
from simulator.world import ClusterState, World

LATEST: Final = "2.1.0"
ALL: Final = "all"
"""The component that is one server."""
KEEPERS: Final = (ALL, "ingester")
"""The components that keep what was just pushed."""
_REPLICATION: Final = ("ingester", "lifecycler", "ring", "replication_factor")
_FLAGS: Final = {
    "auth.multitenancy-enabled": ("multitenancy_enabled",),
    "server.http-listen-port": ("server", "http_listen_port"),
    "target": ("target",),
    "storage.backend": ("storage", "backend"),
    "distributor.replication-factor": _REPLICATION,
    "self-profiling.disable-push": ("self_profiling", "disable_push"),
    "querier.max-query-length": ("limits", "max_query_length"),
    "querier.max-query-lookback": ("limits", "max_query_lookback"),
}
"""Flags of keys that matter here; a flag beats the configuration file (``pkg/cfg``)."""
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?e[+-]\d+")
"""What a flag of a whole number does not take."""


@dataclass(frozen=True)
class Server:
    """One Pyroscope in a cluster, or the pods of one of its components."""

    namespace: str
    name: str
    component: str
    """Its target: ``all``, or what it is of several."""
    ready: int
    """How many of its pods are up."""
    labels: dict[str, str]
    """Of the pods."""
    version: str
    config: JsonObject
    overrides: JsonObject
    """The file that the server reads anew while it runs."""

    @property
    def quorum(self) -> int:
        """How many ingesters must answer (dskit, ``ring/replication_strategy.go``)."""
        factor = as_text(str(dig(self.config, *_REPLICATION) or "1"))
        return (int(factor) if factor.isdecimal() else 1) // 2 + 1


def component_of(workload: JsonObject) -> str:
    """What a Pyroscope workload is of it, by the chart's label."""
    return as_text(dig(workload, "metadata", "labels", "app.kubernetes.io/component"), ALL)


def _release_of(workload: JsonObject) -> str:
    """What the names of the chart's objects begin with."""
    return state.name_of(workload).removesuffix(f"-{component_of(workload)}")


def overrides_of(objects: ClusterState, workload: JsonObject) -> JsonObject:
    """The overrides' file of a Pyroscope workload."""
    name = f"{_release_of(workload)}-overrides-config"
    found = state.find(objects, "ConfigMap", state.namespace_of(workload), name)
    return _parsed(as_text(dig(found, "data", "overrides.yaml")))


def config_of(objects: ClusterState, workload: JsonObject) -> JsonObject:
    """The configuration that a Pyroscope workload reads."""
    name = f"{_release_of(workload)}-config"
    found = state.find(objects, "ConfigMap", state.namespace_of(workload), name)
    config = clone_object(_parsed(as_text(dig(found, "data", "config.yaml"))))
    for flag, value in arguments_of(workload):
        if flag in _FLAGS:
            bury(config, _typed(value), *_FLAGS[flag])
    return config


def _parsed(text: str) -> JsonObject:
    try:
        return as_object(json.loads(text or "{}"))
    except ValueError:
        import yaml

        return as_object(yaml.safe_load(text))


def _typed(value: str) -> object:
    return {"true": True, "false": False}.get(value, value)


def arguments_of(workload: JsonObject) -> list[tuple[str, str]]:
    """The flags that the server is started with, in order: (name, value)."""
    containers = as_objects(state.pod_spec(workload).get("containers"))
    given = texts(containers[0].get("args")) if containers else []
    pairs = (argument.lstrip("-").partition("=") for argument in given)
    return [(name, value) for name, _, value in pairs]


def version_of(workload: JsonObject) -> str:
    """The version of the server image; empty if no such image exists."""
    containers = as_objects(state.pod_spec(workload).get("containers"))
    image = as_text(containers[0].get("image")) if containers else ""
    tag = image.rpartition(":")[2]
    if tag == "latest":
        return LATEST
    return tag if re.fullmatch(r"[12]\.\d+\.\d+", tag) else ""


def is_pyroscope(workload: JsonObject) -> bool:
    """Whether a workload runs the Pyroscope server, whole or a component of it."""
    labels = as_object(dig(workload, "metadata", "labels"))
    return (
        workload.get("kind") in ("StatefulSet", "Deployment")
        and labels.get("app.kubernetes.io/name") == "pyroscope"
        and any(
            as_text(item.get("name")) in ("pyroscope", component_of(workload))
            for item in as_objects(state.pod_spec(workload).get("containers"))
        )
    )


def crash(world: World, cluster_id: str, objects: ClusterState, workload: JsonObject) -> str:
    """Why the server does not stay up; empty if it does."""
    version = version_of(workload)
    if not version:
        return "ImagePullBackOff: the image's tag was not found in the registry"
    chart = as_text(dig(workload, "metadata", "labels", "helm.sh/chart")).rpartition("-")[2]
    if chart.startswith("2.") and version.startswith("1."):
        return "CrashLoopBackOff: flag provided but not defined: -query-backend.address"
    known = published_values.flags(version)
    for flag, value in arguments_of(workload):
        if version.startswith("1.") and flag not in known:
            return f"CrashLoopBackOff: flag provided but not defined: -{flag}"
        if _NUMBER.fullmatch(value):
            return f'CrashLoopBackOff: invalid value "{value}" for flag -{flag}: parse error'
    config = config_of(objects, workload)
    unknown = _unknown(
        config, published_values.configuration_tree(version), "pyroscope.Config", version
    )
    if unknown:
        return unknown
    bucket = config.get("storage")
    if is_object(bucket) and bucket.get("backend") == "azure":
        azure = as_object(bucket.get("azure"))
        if not azure.get("account_name") or not azure.get("container_name"):
            return "CrashLoopBackOff: no Azure storage account name or container name"
        refused = storage.refused(
            world,
            pod_of(cluster_id, objects, workload),
            as_text(azure["account_name"]),
            as_text(azure["container_name"]),
        )
        if refused:
            return (
                "CrashLoopBackOff: error running pyroscope: failed to init storage bucket: "
                f"get container properties: {refused}"
            )
    return ""


def pod_of(cluster_id: str, objects: ClusterState, workload: JsonObject) -> storage.Pod:
    """Who the server's pod is to Entra ID."""
    namespace = state.namespace_of(workload)
    account = as_text(state.pod_spec(workload).get("serviceAccountName"), "default")
    found = state.find(objects, "ServiceAccount", namespace, account) or {}
    labels = as_object(dig(workload, "spec", "template", "metadata", "labels"))
    annotations = as_object(dig(found, "metadata", "annotations"))
    return storage.Pod(
        cluster_id=cluster_id,
        service_account=f"{namespace}:{account}",
        asks_for_token=labels.get("azure.workload.identity/use") == "true",
        client_id=as_text(annotations.get("azure.workload.identity/client-id")),
    )


def _unknown(config: JsonObject, known: JsonObject, section: str, version: str) -> str:
    """The first key that the server does not know, as its YAML reader says it; empty: none."""
    top = section in ("pyroscope.Config", "limits")
    hidden = frozenset[str]() if top else published_values.hidden_keys(version)
    for key, value in config.items():
        if key not in known and key not in hidden:
            return (
                "CrashLoopBackOff: failed parsing config: yaml: unmarshal errors: field "
                f"{key} not found in type {section}"
            )
        below = as_object(known.get(key))
        found = _unknown(as_object(value), below, key, version) if below else ""
        if found:
            return found
    return ""
