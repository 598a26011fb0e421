"""The dashboard in Grafana, applied and deleted by operations.

What is on it is :mod:`dashboards`'s. Dashboards and folders of other owners are never touched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.grafana_target import GrafanaTargetArgs, OwnerArgs, Placement
from components.inputs import component_inputs
from components.operation import observed_operation
from components.options import deleted_with
from contract.messages.base import Verb
from contract.messages.grafana import DashboardRequest


@dataclass(frozen=True, kw_only=True)
class FolderArgs:
    """The dashboard's folder; made when missing, deleted when empty if this stack made it."""

    uid: str
    """At most 40 characters."""
    title: str


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    """What the dashboard is, wherever it goes."""

    uid: str
    """At most 40 characters; the dashboard's address is ``<endpoint>/d/<uid>``."""
    dashboard: Mapping[str, Any]
    """The dashboard's JSON, without the wrapper of an export."""
    folder: FolderArgs | None = None
    """None: the General folder."""


@dataclass(frozen=True, kw_only=True)
class GrafanaDashboardArgs(Dashboard):
    """On which Grafana, whose, and what."""

    target: GrafanaTargetArgs
    owner: OwnerArgs
    adopt: bool
    """Whether to take over a dashboard of the same uid that is not this owner's."""
    observed: pulumi.Input[str] | None = None
    """Revision of the live dashboard; None: drift is not looked for."""
    moves: bool = False
    """Whether this owner's dashboard is there under another uid: the new one is made first, and may
    be refused, before the old one is deleted."""


def dashboard_request(wanted: Dashboard, on: Placement) -> DashboardRequest:
    """What is asked of the dashboard; the same when it is observed."""
    return DashboardRequest(
        endpoint=on.endpoint,
        workspace_id=on.workspace_id,
        token_variable=on.token_variable,
        owner=on.owner.mark(),
        uid=wanted.uid,
        dashboard=wanted.dashboard,
        folder_uid=wanted.folder.uid if wanted.folder else None,
        folder_title=wanted.folder.title if wanted.folder else None,
        adopt=on.adopt,
    )


class GrafanaDashboard(pulumi.ComponentResource):
    """One dashboard."""

    TYPE = "gpuobs:index:GrafanaDashboard"

    url: pulumi.Output[str]
    """Where to open it."""
    uid: pulumi.Output[str]

    def __init__(
        self, name: str, args: GrafanaDashboardArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        # The document is in the command's request already; twice would double the state.
        super().__init__(
            self.TYPE,
            name,
            component_inputs(args, leave_out={"observed", "moves", "dashboard"}),
            opts,
        )
        target = args.target
        observed_operation(
            f"{name}-dashboard",
            Verb.APPLY_DASHBOARD,
            target.placement(args.owner, adopt=args.adopt).apply(
                lambda on: dashboard_request(args, on).to_json()
            ),
            observed=args.observed,
            delete=Verb.DELETE_DASHBOARD,
            # By these it is found again: with another one it would be another dashboard.
            triggers=[
                target.identity,
                args.uid,
                # Moves in place and keeps its versions; stacks of before have it among these.
                args.folder.uid if args.folder else "",
                args.owner.mark().to_json(),
            ],
            opts=pulumi.ResourceOptions(
                parent=self,
                ignore_changes=["triggers[2]"],
                # Where both have the same uid, deleting the old one last would delete the new one.
                delete_before_replace=not args.moves,
                # The dashboard goes with its Grafana.
                deleted_with=deleted_with(opts),
            ),
        )
        self.url = pulumi.Output.concat(target.endpoint, "/d/", args.uid)
        self.uid = pulumi.Output.from_input(args.uid)
        self.register_outputs({"url": self.url, "uid": self.uid})
