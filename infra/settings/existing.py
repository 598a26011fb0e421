"""Resources that exist: named by name and group in the stack's subscription, or by their ARM id.

The id also names the subscription, which may be another one of the same tenant.
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import ConfigDict

from contract.azure import ResourceId
from infra.settings.section import RuleViolation, Section, Text
from infra.settings.types import GUID, ResourceGroupName

ArmId = Annotated[
    str,
    Text(
        pattern=rf"/subscriptions/{GUID}/resourceGroups/[^/]+/providers/[^/]+/[^/]+/[^/]+",
        rule="an ARM id: /subscriptions/GUID/resourceGroups/GROUP/providers/TYPE/NAME",
        why="Azure knows no resource by anything else.",
        fix="write what `az resource list --name NAME --query '[].id' --output tsv` prints, or "
        "name and resourceGroup in place of it",
    ),
]


class ExistingResource(Section):
    """A resource this stack uses and never changes or deletes."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["id"]}, {"required": ["name", "resourceGroup"]}],
        }
    )

    # The ARM type that an `id` must be of.
    TYPE: ClassVar[str]

    name: str | None = None
    resource_group: ResourceGroupName | None = None
    """Its resource group, with `name`."""
    id: ArmId | None = None
    """Its ARM id, in place of `name` and `resourceGroup`; it may be in another subscription of the
    same tenant."""

    @property
    def resource_name(self) -> str:
        """Its name, however it is written."""
        return self._parsed.name if self._parsed else self.name or ""

    @property
    def group(self) -> str:
        """Its resource group, however it is written."""
        return self._parsed.resource_group if self._parsed else self.resource_group or ""

    @property
    def subscription_id(self) -> str | None:
        """The subscription of its id; None: the stack's."""
        return self._parsed.subscription if self._parsed else None

    @property
    def _parsed(self) -> ResourceId | None:
        return ResourceId.parse(self.id, self.TYPE) if self.id else None

    def rule_violations(self) -> Iterable[RuleViolation]:
        """Either an id, of the right type, or a name and a group."""
        named = [one for one in ("name", "resource_group") if getattr(self, one) is not None]
        if self.id is None and len(named) < 2:
            yield RuleViolation(
                fields=("name", "resourceGroup", "id"),
                rule="`name` and `resourceGroup`, or `id`",
                why="the stack must know which one is meant.",
                fix="write `{ name: NAME, resourceGroup: GROUP }`, or `{ id: ARM-ID }`",
            )
        elif self.id is not None and named:
            yield RuleViolation(
                fields=("name", "resourceGroup", "id"),
                at="id",
                rule="either `id`, or `name` and `resourceGroup`",
                why="the two could name different resources.",
                fix="leave one of them out",
            )
        elif self.id is not None:
            try:
                ResourceId.parse(self.id, self.TYPE)
            except ValueError:
                yield RuleViolation(
                    fields=("id",),
                    value=self.id,
                    rule=f"the ARM id of a {self.TYPE}",
                    why="a resource of another type does not do.",
                    fix=f"write /subscriptions/.../providers/{self.TYPE}/NAME",
                )
