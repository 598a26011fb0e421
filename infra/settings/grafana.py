"""Section ``grafana``: the Grafana, Azure's or one's own, and what is put into it."""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from contract.azure import GRAFANA
from contract.choices import GrafanaRole, PrincipalType
from infra.settings.existing import ExistingResource
from infra.settings.section import (
    Described,
    Group,
    RuleViolation,
    Section,
    Stringified,
    exactly_one,
    one_required,
    refuse,
)
from infra.settings.self_hosted import SelfHostedGrafana
from infra.settings.types import (
    ExistingGrafanaName,
    GrafanaName,
    GrafanaTitle,
    GrafanaUid,
    PrincipalId,
    PrivateEndpointName,
)

CURRENT_MAJOR_VERSIONS = ("12", "13")
"""Azure retired 11 on 2026-06-15; upgrades are one-way."""


def _current_major(value: object) -> object:
    if isinstance(value, str) and value not in CURRENT_MAJOR_VERSIONS:
        retired = value.isdecimal() and int(value) < int(CURRENT_MAJOR_VERSIONS[0])
        raise refuse(
            f"a major version that Azure offers: {' or '.join(CURRENT_MAJOR_VERSIONS)}"
            + ("; older ones are retired" if retired else ""),
            "Azure refuses the workspace.",
            f'write majorVersion: "{CURRENT_MAJOR_VERSIONS[0]}"',
        )
    return value


MajorVersion = Annotated[
    str,
    BeforeValidator(_current_major),
    Stringified(),
    Described(" or ".join(CURRENT_MAJOR_VERSIONS)),
    WithJsonSchema(
        {"enum": [*CURRENT_MAJOR_VERSIONS, *(int(major) for major in CURRENT_MAJOR_VERSIONS)]}
    ),
]


class ExistingGrafana(ExistingResource):
    """A Grafana workspace this stack uses and never changes or deletes."""

    TYPE = GRAFANA

    name: ExistingGrafanaName | None = None
    """Name of the workspace."""
    private_access: bool = False
    """Its public network access is off, and you run the program inside a network with a private
    endpoint to it."""


class NewGrafana(Section):
    """A Grafana workspace that the stack creates and deletes."""

    name: GrafanaName | None = None
    """Name of the workspace; default: derived from the stack."""
    major_version: MajorVersion = "12"
    """Grafana's major version; raising it is one-way."""
    zone_redundancy: bool = False
    """Spread the workspace over zones; a change replaces it."""


class NamedSource(Section):
    """A data source's name and uid."""

    name: GrafanaTitle | None = None
    """Name of the data source; default: derived from the stack."""
    uid: GrafanaUid | None = None
    """Uid of the data source; default: derived from the stack."""


class DataSourceSettings(Section):
    """What the data sources are called."""

    pyroscope: NamedSource = NamedSource()
    """The source of profiles."""
    prometheus: NamedSource = NamedSource()
    """The source of metrics, where section `prometheus` names one."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """The two sources differ."""
        for field in ("name", "uid"):
            value = getattr(self.pyroscope, field)
            if value is not None and value == getattr(self.prometheus, field):
                yield RuleViolation(
                    fields=(f"pyroscope.{field}", f"prometheus.{field}"),
                    at=f"prometheus.{field}",
                    value=value,
                    rule=f"the two data sources need different {field}s",
                    why="the second would overwrite the first.",
                    fix=f"choose another {field}, or leave it out",
                )


def _relative(value: object) -> object:
    if isinstance(value, str) and (
        not value.strip()
        or PurePosixPath(value).is_absolute()
        or PureWindowsPath(value).is_absolute()
        or value.startswith("~")
    ):
        raise refuse(
            "a file's path relative to the project's folder",
            "an absolute path exists on one machine only.",
            "put the file into the project and write e.g. dashboards/mine.json",
        )
    return value


ProjectFile = Annotated[
    str, BeforeValidator(_relative), Described("a path relative to the project's folder")
]


class DashboardSettings(Section):
    """The dashboard, and what it is called."""

    uid: GrafanaUid | None = None
    """Uid of the dashboard, part of its URL; default: derived from the stack."""
    title: GrafanaTitle | None = None
    """Title of the dashboard."""
    file: ProjectFile | None = None
    """A dashboard of your own, raw or wrapped JSON, relative to the project; default: built in."""


class GrafanaRoleAssignment(Section):
    """Who may do what in Grafana."""

    principal_id: PrincipalId
    """Object id of the user, group or service principal."""
    principal_type: PrincipalType
    """What the principal is."""
    role: GrafanaRole
    """What it may do in Grafana."""


class PrivateEndpointSettings(Section):
    """Grafana's private way to Pyroscope."""

    name: PrivateEndpointName | None = None
    """Name of Grafana's managed private endpoint; default: derived from the stack."""


class GrafanaSettings(Section):
    """Grafana and what is put into it."""

    model_config = one_required("existing", "create", "selfHosted")

    existing: ExistingGrafana | None = None
    """A workspace that is there already; it stays when the stack goes."""
    create: NewGrafana | None = None
    """A workspace that the stack creates, and deletes; `{}` for the defaults."""
    self_hosted: SelfHostedGrafana | None = None
    """A Grafana of your own, which is not Azure's; it stays when the stack goes."""
    private_endpoint: PrivateEndpointSettings = PrivateEndpointSettings()
    """Grafana's private way to Pyroscope."""
    folder: GrafanaTitle | None = None
    """Title of a folder for the dashboard; default: no folder."""
    data_sources: DataSourceSettings = DataSourceSettings()
    """Names of the data sources."""
    dashboard: DashboardSettings = DashboardSettings()
    """The dashboard."""
    adopt: bool = False
    """Take over data sources and a dashboard of the wanted name or uid that carry no owner mark, or
    another's."""
    role_assignments: Sequence[GrafanaRoleAssignment] = ()
    """Who else may use the workspace. A role that is assigned already is left to whoever assigned
    it."""
    drift_detection: bool = True
    """Look at data sources, dashboard and approval at every preview, and put back what was changed
    by hand. Who runs a preview then needs the rights to read them."""

    @property
    def is_managed(self) -> bool:
        """Whether it is Azure's, so that Azure's endpoints, roles and identities belong to it."""
        return self.self_hosted is None

    def named(self, default: str) -> str:
        """Name of the workspace, where the stack file says none ``default``."""
        if self.existing is not None:
            return self.existing.resource_name
        return (self.create.name if self.create is not None else None) or default

    def placed(self, default: Group) -> str | Group:
        """Resource group of the workspace; ``default`` where this stack makes it."""
        return self.existing.group if self.existing is not None else default

    def placed_in(self, default: str) -> str:
        """Subscription of the workspace; ``default`` where the stack file says no other."""
        existing = self.existing.subscription_id if self.existing is not None else None
        return existing or default

    def rule_violations(self) -> Iterable[RuleViolation]:
        """An existing workspace, a new one or one's own Grafana; a role once a principal."""
        yield from exactly_one(
            self,
            *("existing", "create", "self_hosted"),
            fields=("existing", "create", "selfHosted"),
            why="the stack must know where the dashboard goes, and whether destroying it deletes "
            "the workspace.",
            fix="write `existing: { name: NAME, resourceGroup: GROUP }`, `create: {}` or "
            "`selfHosted: { url: URL }`",
        )
        yield from self._without_effect()
        if self.folder is not None and self.folder.lower() == "general":
            yield RuleViolation(
                fields=("folder",),
                value=self.folder,
                rule="`General` is Grafana's own name for `no folder`",
                why="Grafana refuses to create a folder of that name.",
                fix="leave `folder` out",
            )
        yield from self._repeated_roles()

    def _without_effect(self) -> Iterable[RuleViolation]:
        if self.is_managed:
            return
        given = {
            "roleAssignments": bool(self.role_assignments),
            "privateEndpoint": self.private_endpoint.name is not None,
        }
        for name in (name for name, is_given in given.items() if is_given):
            yield RuleViolation(
                fields=(name, "selfHosted"),
                at=name,
                rule="only with an Azure Managed Grafana",
                why="it would have no effect: `selfHosted` is a Grafana of which Azure knows "
                "nothing.",
                fix="leave it out",
            )

    def _repeated_roles(self) -> Iterable[RuleViolation]:
        seen: set[tuple[str, GrafanaRole]] = set()
        for number, assignment in enumerate(self.role_assignments):
            key = (assignment.principal_id.lower(), assignment.role)
            if key in seen:
                yield RuleViolation(
                    fields=(f"roleAssignments[{number}]",),
                    value=f"{assignment.role.value} for {assignment.principal_id}",
                    rule="each principal and role once",
                    why="Azure refuses the second one with RoleAssignmentExists.",
                    fix="leave it out",
                )
            seen.add(key)
