"""The dashboard's variables. Names are those of the published dashboard: links carry them."""

from typing import Final

from grafana_foundation_sdk.builders.dashboard import DatasourceVariable, QueryVariable
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from contract import agent, grafana
from dashboards import queries

PROMETHEUS: Final = DataSourceRef(type_val=grafana.PROMETHEUS, uid="${prom_ds}")
PYROSCOPE: Final = DataSourceRef(type_val=grafana.PYROSCOPE, uid="${pyroscope_ds}")

# An explicit "everything" also matches series without the label: a Prometheus of your own that
# sets no cluster, or a GPU process outside of any pod.
_EVERYTHING: Final = ".*"


def prometheus_source(uid: str) -> DatasourceVariable:
    """Where the metrics are."""
    # Grafana counts Azure's and Amazon's Prometheus plugins in under this type.
    return (
        DatasourceVariable("prom_ds")
        .label("Metrics")
        .description("The Prometheus data source with the agent's memory counters.")
        .type(grafana.PROMETHEUS)
        .current(_option(uid))
    )


def pyroscope_source(uid: str) -> DatasourceVariable:
    """Where the profiles are."""
    return (
        DatasourceVariable("pyroscope_ds")
        .label("Profiles")
        .description("The Pyroscope data source with the flame graphs. One serves one cluster.")
        .type(grafana.PYROSCOPE)
        .current(_option(uid))
    )


def profile_type() -> QueryVariable:
    """Discovered, since the id depends on the versions of agent and server; newest spelling first.

    The choice is exact: where agents of both kinds sent profiles, each has a flame graph.
    """
    return (
        QueryVariable("profile_type")
        .label("Profile type")
        .description(
            "GPU memory allocations as this source names them. Two entries mean that agents before "
            "and after version 0.54 have both sent profiles: each entry shows its own."
        )
        .datasource(PYROSCOPE)
        .query({"refId": "profile_type", "type": "profileType"})
        .regex(queries.GPU_MEMORY_PROFILE_TYPE)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_DESC)
    )


def cluster() -> QueryVariable:
    """For metrics only, and it says so."""
    return _choice(
        "cluster",
        "Cluster",
        "Filters the panels from metrics. Profiles carry no cluster label: the flame graph shows "
        "the cluster that the Profiles source belongs to, whatever is chosen here.",
    ).query(_label_values(queries.clusters()))


def namespace_of_metrics() -> QueryVariable:
    """Namespaces of the metrics; their values fit the profiles, too."""
    return _choice("namespace", "Namespace", "Filters metrics and profiles.").query(
        _label_values(queries.namespaces())
    )


def pod_of_metrics() -> QueryVariable:
    """Pods of the metrics; their values fit the profiles, too."""
    return _choice("pod", "Pod", "Filters metrics and profiles.").query(
        _label_values(queries.pods())
    )


def namespace_of_profiles() -> QueryVariable:
    """For a dashboard without metrics."""
    return (
        _choice("namespace", "Namespace", "Filters the profiles.")
        .datasource(PYROSCOPE)
        .query(_profile_label(agent.NAMESPACE_LABEL))
    )


def pod_of_profiles() -> QueryVariable:
    """For a dashboard without metrics."""
    return (
        _choice("pod", "Pod", "Filters the profiles. Lists the pods of all namespaces.")
        .datasource(PYROSCOPE)
        .query(_profile_label(agent.PROFILES_POD))
    )


def _choice(name: str, label: str, description: str) -> QueryVariable:
    return (
        QueryVariable(name)
        .label(label)
        .description(description)
        .datasource(PROMETHEUS)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        # Grafana escapes values for a regular expression only where several can be chosen.
        .multi(True)
        .include_all(True)
        .all_value(_EVERYTHING)
        .current(VariableOption(selected=True, text="All", value="$__all"))
    )


def _label_values(query: str) -> dict[str, object]:
    label_values = 1  # the query editor's number for this kind of query
    return {
        "qryType": label_values,
        "query": query,
        "refId": "PrometheusVariableQueryEditor-VariableQuery",
    }


def _profile_label(name: str) -> dict[str, object]:
    return {
        "labelName": name,
        "profileTypeId": queries.PROFILE_TYPE,
        "refId": name,
        "type": "labelValue",
    }


def _option(uid: str) -> VariableOption:
    return VariableOption(selected=True, text=uid, value=uid)
