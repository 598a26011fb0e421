"""Drift of what commands made: the revisions of the live objects, all observed in one call."""

import pulumi

from components.grafana_dashboard import Dashboard, dashboard_request
from components.grafana_data_sources import (
    PrometheusSourceArgs,
    prometheus_request,
    pyroscope_request,
)
from components.grafana_target import GrafanaTargetArgs, Placement
from contract.messages.drift import APPROVAL, PRIVATE_IP_PLACEHOLDER, ObserveRequest
from contract.messages.grafana import DataSourceRequest, Source
from contract.messages.private_link import ApprovalRequest
from contract.messages.survey import DASHBOARD, Presence
from infra.arguments import (
    Revisions,
    own_pyroscope_url,
    pyroscope_source,
    pyroscope_url,
)
from infra.lookups import Operations, observe
from infra.stack import Stack


def revisions(
    stack: Stack,
    operations: Operations,
    target: GrafanaTargetArgs,
    metrics: PrometheusSourceArgs | None,
    dashboard: Dashboard,
) -> Revisions:
    """The revisions of what this stack put on Grafana; none where drift is not looked for.

    Asked for before any of it is made, and with the same requests: the address of the private
    endpoint, which only its approval answers, is left to the observation to put in.
    """
    if not stack.settings.grafana.drift_detection:
        operations.close()
        return {}
    placement = target.placement(stack.owner, adopt=stack.settings.grafana.adopt)
    found = observe(
        operations,
        pulumi.Output.all(placement, metrics.url if metrics else "").apply(
            lambda parts: _request(stack, parts[0], metrics, parts[1], dashboard)
        ),
    )
    approved = [APPROVAL] if stack.has_private_endpoint else []
    profiles = [Source.PYROSCOPE] if stack.pyroscope_source is not None else []
    names = [*approved, *profiles, *([Source.PROMETHEUS] if metrics else []), DASHBOARD]

    def revision(name: str) -> pulumi.Output[str]:
        return found.apply(lambda by_name: by_name[name])

    return {name: revision(name) for name in names}


def _request(
    stack: Stack,
    on: Placement,
    metrics: PrometheusSourceArgs | None,
    metrics_url: str,
    dashboard: Dashboard,
) -> ObserveRequest:
    url = own_pyroscope_url(stack) or pyroscope_url(PRIVATE_IP_PLACEHOLDER)
    profiles = pyroscope_source(stack)
    sources: dict[str, DataSourceRequest] = {}
    if profiles is not None:
        sources[Source.PYROSCOPE] = pyroscope_request(profiles, on, url)
    if metrics is not None:
        sources[Source.PROMETHEUS] = prometheus_request(metrics, on, metrics_url)
    return ObserveRequest(
        approval=ApprovalRequest(
            grafana_id=on.workspace_id,
            endpoint_name=stack.private_endpoint_name,
            private_link_id=stack.private_link_id,
            request_message=stack.names.request_message,
        )
        if stack.has_private_endpoint
        else None,
        data_sources=sources,
        dashboards={DASHBOARD: dashboard_request(dashboard, on)},
        on_new_grafana=stack.survey.grafana.presence is Presence.ABSENT,
    )
