"""The data sources in Grafana: the profiles, and the metrics where there are any.

Grafana's data plane is not in ARM: operations apply and delete them, and no other owner's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pulumi

from components.further_args import FurtherArgs, merged
from components.grafana_target import GrafanaTargetArgs, OwnerArgs
from components.inputs import component_inputs
from components.operation import observed_operation
from components.options import deleted_with
from contract import grafana
from contract.messages.base import Verb
from contract.messages.grafana import DataSourceRequest


class Source(StrEnum):
    """The sources, as observations name them."""

    PYROSCOPE = "pyroscope"
    PROMETHEUS = "prometheus"


@dataclass(frozen=True, kw_only=True)
class PyroscopeSourceArgs:
    """Where Grafana finds the profiles."""

    name: str
    uid: str
    """At most 40 characters."""
    url: pulumi.Input[str]
    """Of the private endpoint: ``http://<address>:<port>``."""
    endpoint_id: pulumi.Input[str]
    """Changes with the endpoint: a source is applied again for a new one."""
    json_data: FurtherArgs | None = None
    """Further keys of the source's ``jsonData``, as Grafana has them."""

    def __post_init__(self) -> None:
        self.whole_json_data()

    def whole_json_data(self) -> dict[str, Any]:
        """The source's ``jsonData``; raises ValueError where ``json_data`` contradicts it."""
        # The cookie with which Pyroscope keeps its link to the source code.
        owned = {"keepCookies": ["pyroscope_git_session"]}
        return merged("pyroscope.json_data", owned, self.json_data or {})


@dataclass(frozen=True, kw_only=True)
class PrometheusSourceArgs:
    """Where Grafana finds the metrics."""

    name: str
    uid: str
    """At most 40 characters."""
    url: pulumi.Input[str]
    managed_identity: bool
    """Whether Grafana signs in with its identity (Azure Monitor), or not at all (one's own)."""
    json_data: FurtherArgs | None = None
    """Further keys of the source's ``jsonData``, as Grafana has them."""

    def __post_init__(self) -> None:
        self.whole_json_data()

    def whole_json_data(self) -> dict[str, Any]:
        """The source's ``jsonData``; raises ValueError where ``json_data`` contradicts it."""
        # Nested: the older flat `azureAuthType` is ignored (grafana-operator 1396).
        credentials = {"azureCredentials": {"authType": "msi"}} if self.managed_identity else {}
        owned = {"httpMethod": "POST", **credentials}
        return merged("prometheus.json_data", owned, self.json_data or {})


@dataclass(frozen=True, kw_only=True)
class GrafanaDataSourcesArgs:
    """On which Grafana, whose, and what."""

    target: GrafanaTargetArgs
    owner: OwnerArgs
    pyroscope: PyroscopeSourceArgs
    prometheus: PrometheusSourceArgs | None = None
    adopt: bool
    """Whether to take over a source of the same name or uid that is not this owner's."""
    observed: Mapping[str, pulumi.Input[str]] | None = None
    """Revisions by :class:`Source`; None: drift is not looked for."""


def pyroscope_request(
    args: GrafanaDataSourcesArgs, endpoint: str, workspace_id: str, url: str
) -> DataSourceRequest:
    """What is asked of the source of the profiles; the same when it is observed."""
    return DataSourceRequest(
        endpoint=endpoint,
        workspace_id=workspace_id,
        owner=args.owner.mark(),
        name=args.pyroscope.name,
        uid=args.pyroscope.uid,
        type=grafana.PYROSCOPE,
        url=url,
        json_data=args.pyroscope.whole_json_data(),
        adopt=args.adopt,
    )


def prometheus_request(
    args: GrafanaDataSourcesArgs,
    source: PrometheusSourceArgs,
    endpoint: str,
    workspace_id: str,
    url: str,
) -> DataSourceRequest:
    """What is asked of the source of the metrics; the same when it is observed."""
    return DataSourceRequest(
        endpoint=endpoint,
        workspace_id=workspace_id,
        owner=args.owner.mark(),
        name=source.name,
        uid=source.uid,
        type=grafana.PROMETHEUS,
        url=url,
        json_data=source.whole_json_data(),
        adopt=args.adopt,
    )


class GrafanaDataSources(pulumi.ComponentResource):
    """Data sources for profiles and metrics."""

    TYPE = "gpuobs:index:GrafanaDataSources"

    pyroscope_uid: pulumi.Output[str]
    prometheus_uid: pulumi.Output[str] | None
    """None: no metrics."""

    def __init__(
        self, name: str, args: GrafanaDataSourcesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(self.TYPE, name, component_inputs(args, leave_out={"observed"}), opts)
        self._grafana = deleted_with(opts)
        target, pyroscope, prometheus = args.target, args.pyroscope, args.prometheus
        self._apply(
            f"{name}-{Source.PYROSCOPE}",
            args,
            Source.PYROSCOPE,
            pyroscope.uid,
            pulumi.Output.all(target.endpoint, target.workspace_id, pyroscope.url).apply(
                lambda parts: pyroscope_request(args, *parts).to_json()
            ),
            triggers=[pyroscope.endpoint_id],
        )
        if prometheus is not None:
            self._apply(
                f"{name}-{Source.PROMETHEUS}",
                args,
                Source.PROMETHEUS,
                prometheus.uid,
                pulumi.Output.all(target.endpoint, target.workspace_id, prometheus.url).apply(
                    lambda parts: prometheus_request(args, prometheus, *parts).to_json()
                ),
            )
        self.pyroscope_uid = pulumi.Output.from_input(pyroscope.uid)
        self.prometheus_uid = pulumi.Output.from_input(prometheus.uid) if prometheus else None
        self.register_outputs(
            {"pyroscopeUid": self.pyroscope_uid, "prometheusUid": self.prometheus_uid}
        )

    def _apply(
        self,
        name: str,
        args: GrafanaDataSourcesArgs,
        source: Source,
        uid: str,
        request: pulumi.Output[str],
        triggers: list[pulumi.Input[str]] | None = None,
    ) -> None:
        observed_operation(
            name,
            Verb.APPLY_DATA_SOURCE,
            request,
            observed=None if args.observed is None else args.observed[source],
            delete=Verb.DELETE_DATA_SOURCE,
            # By these it is found again: with another one it would be another source.
            triggers=[
                *(triggers or []),
                args.target.workspace_id,
                uid,
                args.owner.mark().to_json(),
            ],
            opts=pulumi.ResourceOptions(
                parent=self,
                # Both have the same uid: deleting the old one last would delete the new one.
                delete_before_replace=True,
                # The sources go with their Grafana.
                deleted_with=self._grafana,
            ),
        )
