"""Drift of what commands made: the revisions of the live objects, all observed in one call."""

from dataclasses import replace

import pulumi

from components.grafana_dashboard import dashboard_request
from components.grafana_data_sources import Source, prometheus_request, pyroscope_request
from components.grafana_private_endpoint import approval_request
from contract.messages.drift import PRIVATE_IP_PLACEHOLDER, ObserveRequest
from contract.messages.grafana import DataSourceRequest
from infra.arguments import GrafanaObjects, pyroscope_url
from infra.lookups import Operations, observe

APPROVAL = "approval"
DASHBOARD = "dashboard"


def observed(
    objects: GrafanaObjects, private_link_id: str, operations: Operations
) -> GrafanaObjects:
    """``objects`` with the revisions of the live ones.

    Asked for here, before any of them is made, and with the same requests: the address of the
    private endpoint, which only its approval answers, is left to the observation to put in.
    """
    target, metrics = objects.dashboard.target, objects.sources.prometheus
    revisions = observe(
        operations,
        pulumi.Output.all(
            target.workspace_id, target.endpoint, metrics.url if metrics else ""
        ).apply(lambda found: _request(objects, private_link_id, *found)),
    )

    def revision(name: str) -> pulumi.Output[str]:
        return revisions.apply(lambda by_name: by_name[name])

    sources = [Source.PYROSCOPE, Source.PROMETHEUS] if metrics else [Source.PYROSCOPE]
    return replace(
        objects,
        endpoint=replace(objects.endpoint, observed=revision(APPROVAL)),
        sources=replace(objects.sources, observed={source: revision(source) for source in sources}),
        dashboard=replace(objects.dashboard, observed=revision(DASHBOARD)),
    )


def _request(
    objects: GrafanaObjects, private_link_id: str, workspace_id: str, endpoint: str, metrics: str
) -> ObserveRequest:
    sources = objects.sources
    address = pyroscope_url(PRIVATE_IP_PLACEHOLDER)
    requests: dict[str, DataSourceRequest] = {
        Source.PYROSCOPE: pyroscope_request(sources, endpoint, workspace_id, address)
    }
    if sources.prometheus is not None:
        requests[Source.PROMETHEUS] = prometheus_request(
            sources, sources.prometheus, endpoint, workspace_id, metrics
        )
    return ObserveRequest(
        approval=approval_request(objects.endpoint, workspace_id, private_link_id),
        data_sources=requests,
        dashboards={DASHBOARD: dashboard_request(objects.dashboard, endpoint, workspace_id)},
    )
