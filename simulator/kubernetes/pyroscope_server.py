"""What the Pyroscope server makes of its image and configuration: it starts, or says why not."""

import json
import re
from dataclasses import dataclass
from typing import Final

from simulator.kubernetes import state
from simulator.values import JsonObject, as_object, as_objects, as_text, dig, is_object
from simulator.world import ClusterState

LATEST: Final = "2.1.0"
KNOWN: Final[dict[str, frozenset[str] | None]] = {
    **dict.fromkeys(
        (
            "target",
            "api",
            "server",
            "distributor",
            "querier",
            "frontend",
            "frontend_worker",
            "query_scheduler",
            "ingester",
            "store_gateway",
            "memberlist",
            "tracing",
            "overrides_exporter",
            "runtime_config",
            "compactor",
            "multitenancy_enabled",
            "tenant_id",
            "show_banner",
            "embedded_grafana",
            "segment_writer",
            "metastore",
            "query_backend",
            "query_frontend",
            "compaction_worker",
            "adaptive_placement",
            "symbolizer",
            "tenant_settings",
            "config.file",
            "modules",
            "architecture",
        )
    ),
    "self_profiling": frozenset(
        {"disable_push", "mutex_profile_fraction", "block_profile_rate", "use_k6_middleware"}
    ),
    "storage": frozenset(
        {"backend", "filesystem", "azure", "s3", "gcs", "swift", "cos", "bos", "prefix"}
    ),
    "analytics": frozenset({"reporting_enabled", "usage_stats_url", "base_dir"}),
    "pyroscopedb": frozenset(
        {
            "data_path",
            "max_block_duration",
            "row_group_target_size",
            "symbols_partition_label",
            "min_free_disk_gb",
            "min_disk_available_percentage",
            "enforcement_interval",
            "disable_enforcement",
        }
    ),
    "limits": frozenset(
        {
            "ingestion_rate_mb",
            "ingestion_burst_size_mb",
            "ingestion_limit",
            "max_label_name_length",
            "max_label_value_length",
            "max_label_names_per_series",
            "max_sessions_per_series",
            "enforce_labels_order",
            "max_profile_size_bytes",
            "max_profile_stacktrace_samples",
            "max_profile_stacktrace_sample_labels",
            "max_profile_stacktrace_depth",
            "max_profile_symbol_value_length",
            "distributor_usage_groups",
            "distributor_aggregation_window",
            "distributor_aggregation_period",
            "max_local_series_per_tenant",
            "max_global_series_per_tenant",
            "max_query_lookback",
            "max_query_length",
            "max_query_parallelism",
            "query_analysis_enabled",
            "query_analysis_series_enabled",
            "max_flamegraph_nodes_default",
            "max_flamegraph_nodes_max",
            "store_gateway_tenant_shard_size",
            "split_queries_by_interval",
            "query_sanitize_on_merge",
            "compactor_blocks_retention_period",
            "compactor_split_and_merge_shards",
            "compactor_split_and_merge_stage_size",
            "compactor_split_groups",
            "compactor_tenant_shard_size",
            "compactor_partial_block_deletion_delay",
            "compactor_downsampler_enabled",
            "s3_sse_type",
            "reject_newer_than",
            "reject_older_than",
            "ingestion_relabeling_rules",
            "ingestion_tenant_shard_size",
            "max_series_per_query",
        }
    ),
}
"""Configuration keys by section; None: what is below is not looked into."""


@dataclass(frozen=True)
class Server:
    """One Pyroscope in a cluster."""

    namespace: str
    name: str
    version: str
    config: JsonObject


def config_of(objects: ClusterState, workload: JsonObject) -> JsonObject:
    """The configuration that a Pyroscope StatefulSet reads."""
    name = f"{state.name_of(workload)}-config"
    found = state.find(objects, "ConfigMap", state.namespace_of(workload), name)
    text = as_text(dig(found, "data", "config.yaml"))
    try:
        return as_object(json.loads(text or "{}"))
    except ValueError:
        import yaml

        return as_object(yaml.safe_load(text))


def version_of(workload: JsonObject) -> str:
    """The version of the server image; empty if no such image exists."""
    containers = as_objects(state.pod_spec(workload).get("containers"))
    image = as_text(containers[0].get("image")) if containers else ""
    tag = image.rpartition(":")[2]
    if tag == "latest":
        return LATEST
    return tag if re.fullmatch(r"[12]\.\d+\.\d+", tag) else ""


def is_pyroscope(workload: JsonObject) -> bool:
    """Whether a StatefulSet runs the Pyroscope server."""
    labels = as_object(dig(workload, "metadata", "labels"))
    return (
        workload.get("kind") == "StatefulSet"
        and labels.get("app.kubernetes.io/name") == "pyroscope"
        and any(
            as_text(item.get("name")) == "pyroscope"
            for item in as_objects(state.pod_spec(workload).get("containers"))
        )
    )


def crash(objects: ClusterState, workload: JsonObject) -> str:
    """Why the server does not stay up; empty if it does."""
    version = version_of(workload)
    if not version:
        return "ImagePullBackOff: the image's tag was not found in the registry"
    chart = as_text(dig(workload, "metadata", "labels", "helm.sh/chart")).rpartition("-")[2]
    if chart.startswith("2.") and version.startswith("1."):
        return "CrashLoopBackOff: flag provided but not defined: -metastore.raft.dir"
    config = config_of(objects, workload)
    for key, value in config.items():
        if key not in KNOWN:
            return _unknown(key, "phlare.Config")
        allowed = KNOWN[key]
        for below in as_object(value):
            if allowed is not None and below not in allowed:
                return _unknown(below, key)
    storage = config.get("storage")
    if is_object(storage) and storage.get("backend") == "azure":
        azure = as_object(storage.get("azure"))
        if not azure.get("account_name") or not azure.get("container_name"):
            return "CrashLoopBackOff: no Azure storage account name or container name"
    return ""


def _unknown(key: str, section: str) -> str:
    return (
        "CrashLoopBackOff: failed parsing config: yaml: unmarshal errors: field "
        f"{key} not found in type {section}"
    )
