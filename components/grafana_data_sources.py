"""The data sources in Grafana: the profiles, and the metrics where there are any.

Grafana's data plane is not in ARM: operations apply and delete them, and no other owner's.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.further_args import FurtherArgs, merged
from components.grafana_target import GrafanaTargetArgs, OwnerArgs, Placement
from components.inputs import component_inputs
from components.operation import observed_operation
from components.options import deleted_with
from contract import grafana
from contract.messages.base import Verb
from contract.messages.grafana import DataSourceRequest, Source


@dataclass(frozen=True, kw_only=True)
class PyroscopeSource:
    """The source of the profiles, wherever they are."""

    name: str
    uid: str
    """At most 40 characters."""
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
class PyroscopeSourceArgs(PyroscopeSource):
    """Where Grafana finds the profiles."""

    url: pulumi.Input[str]
    """Of the private endpoint (``http://<address>:<port>``), or where Grafana reaches it."""
    endpoint_id: pulumi.Input[str] | None = None
    """Changes with the endpoint: a source is applied again for a new one. None: there is none."""


@dataclass(frozen=True, kw_only=True)
class PrometheusSourceArgs:
    """Where Grafana finds the metrics."""

    name: str
    uid: str
    """At most 40 characters."""
    url: pulumi.Input[str]
    managed_identity: bool
    """Whether Grafana signs in with its identity (Azure Monitor), or not at all (one's own)."""
    auth_type: str | None = None
    """As whom it signs in then, in Grafana's words; None: its managed identity."""
    json_data: FurtherArgs | None = None
    """Further keys of the source's ``jsonData``, as Grafana has them."""

    def __post_init__(self) -> None:
        self.whole_json_data()

    def whole_json_data(self) -> dict[str, Any]:
        """The source's ``jsonData``; raises ValueError where ``json_data`` contradicts it."""
        # Nested: the older flat `azureAuthType` is ignored (grafana-operator 1396).
        sign_in = {"azureCredentials": {"authType": self.auth_type or "msi"}}
        credentials = sign_in if self.managed_identity else {}
        owned = {"httpMethod": "POST", **credentials}
        return merged("prometheus.json_data", owned, self.json_data or {})


@dataclass(frozen=True, kw_only=True)
class GrafanaDataSourcesArgs:
    """On which Grafana, whose, and what."""

    target: GrafanaTargetArgs
    owner: OwnerArgs
    pyroscope: PyroscopeSourceArgs | None = None
    """None: a source that is there shows the profiles."""
    prometheus: PrometheusSourceArgs | None = None
    adopt: bool
    """Whether to take over a source of the same name or uid that is not this owner's."""
    observed: Mapping[str, pulumi.Input[str]] | None = None
    """Revisions by :class:`Source`; None: drift is not looked for."""
    moves: Collection[Source] = ()
    """Those of this owner that are there under another uid: the new one is made first, and may be
    refused, before the old one is deleted; what shows it is changed in between."""


def pyroscope_request(source: PyroscopeSource, on: Placement, url: str) -> DataSourceRequest:
    """What is asked of the source of the profiles; the same when it is observed."""
    return _request(source, on, grafana.PYROSCOPE, url)


def prometheus_request(source: PrometheusSourceArgs, on: Placement, url: str) -> DataSourceRequest:
    """What is asked of the source of the metrics; the same when it is observed."""
    return _request(source, on, grafana.PROMETHEUS, url)


def _request(
    source: PyroscopeSource | PrometheusSourceArgs, on: Placement, kind: str, url: str
) -> DataSourceRequest:
    return DataSourceRequest(
        endpoint=on.endpoint,
        workspace_id=on.workspace_id,
        token_variable=on.token_variable,
        owner=on.owner.mark(),
        name=source.name,
        uid=source.uid,
        type=kind,
        url=url,
        json_data=source.whole_json_data(),
        adopt=on.adopt,
    )


class GrafanaDataSources(pulumi.ComponentResource):
    """Data sources for profiles and metrics."""

    TYPE = "gpuobs:index:GrafanaDataSources"

    pyroscope_uid: pulumi.Output[str] | None
    """None: none is made."""
    prometheus_uid: pulumi.Output[str] | None
    """None: no metrics."""

    def __init__(
        self, name: str, args: GrafanaDataSourcesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        inputs = component_inputs(args, leave_out={"observed", "moves"})
        super().__init__(self.TYPE, name, inputs, opts)
        self._grafana = deleted_with(opts)
        pyroscope, prometheus = args.pyroscope, args.prometheus
        placement = args.target.placement(args.owner, adopt=args.adopt)
        if pyroscope is not None:
            self._apply(
                f"{name}-{Source.PYROSCOPE}",
                args,
                Source.PYROSCOPE,
                pyroscope.uid,
                pulumi.Output.all(placement, pyroscope.url).apply(
                    lambda parts: pyroscope_request(pyroscope, *parts).to_json()
                ),
                triggers=[pyroscope.endpoint_id] if pyroscope.endpoint_id is not None else None,
            )
        if prometheus is not None:
            self._apply(
                f"{name}-{Source.PROMETHEUS}",
                args,
                Source.PROMETHEUS,
                prometheus.uid,
                pulumi.Output.all(placement, prometheus.url).apply(
                    lambda parts: prometheus_request(prometheus, *parts).to_json()
                ),
            )
        self.pyroscope_uid = pulumi.Output.from_input(pyroscope.uid) if pyroscope else None
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
                args.target.identity,
                uid,
                args.owner.mark().to_json(),
            ],
            opts=pulumi.ResourceOptions(
                parent=self,
                # Where both have the same uid, deleting the old one last would delete the new one.
                delete_before_replace=source not in args.moves,
                # The sources go with their Grafana.
                deleted_with=self._grafana,
            ),
        )
