"""Section ``azure``: where the stack's own resources go. Every value may be left out."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from infra.settings.section import AsWritten, RuleViolation, Section
from infra.settings.types import (
    Location,
    ResourceGroupName,
    StackReference,
    SubscriptionId,
)

MAXIMUM_TAGS = 50
MAXIMUM_TAG_NAME = 512
MAXIMUM_TAG_NAME_OF_STORAGE = 128
"""Of a storage account ("Use tags to organize your Azure resources", limitations)."""
MAXIMUM_TAG_VALUE = 256
_FORBIDDEN_IN_TAG_NAMES = "<>%&\\?/"


class ResourceGroupSettings(Section):
    """A resource group, yours or one that the stack creates."""

    name: ResourceGroupName
    """Name of the resource group."""
    create: bool = False
    """Create the group, and delete it last; false: it exists and stays."""


class AzureSettings(Section):
    """Where the stack's own resources go."""

    subscription_id: SubscriptionId | None = None
    """The subscription; default: the one the Azure credentials are set to."""
    named_after: StackReference | None = None
    """What default names and the owner's mark are made from: the name that the stack had before
    `pulumi stack rename`, or `project/stack`; left out: the stack's own. Keeps what is deployed."""
    location: Location | None = None
    """Region of what the stack creates; default: the cluster's, or the resource group's."""
    tags: Mapping[str, Annotated[str, AsWritten()]] = Field(default_factory=dict)
    """Tags on every resource that can carry tags; numbers and dates in quotes."""
    resource_group: ResourceGroupSettings | None = None
    """Where the stack's own ARM resources go (workspaces, rules); default: the cluster's group."""

    def rule_violations(self) -> Iterable[RuleViolation]:
        """Azure's limits on tags."""
        if len(self.tags) > MAXIMUM_TAGS:
            yield RuleViolation(
                fields=("tags",),
                rule=f"at most {MAXIMUM_TAGS} tags, not {len(self.tags)}",
                why="Azure refuses every resource that carries more.",
                fix="leave some out",
            )
        seen: dict[str, str] = {}
        for name, value in self.tags.items():
            at = f"tags.{name}"
            if not 1 <= len(name) <= MAXIMUM_TAG_NAME or set(name) & set(_FORBIDDEN_IN_TAG_NAMES):
                yield RuleViolation(
                    fields=("tags",),
                    at="tags",
                    value=name,
                    rule=f"a tag's name has 1 to {MAXIMUM_TAG_NAME} characters, none of "
                    f"{_FORBIDDEN_IN_TAG_NAMES}",
                    why="Azure refuses every resource that carries it.",
                    fix="rename the tag",
                )
            if len(value) > MAXIMUM_TAG_VALUE:
                yield RuleViolation(
                    fields=(at,),
                    value=value,
                    rule=f"a tag's value has at most {MAXIMUM_TAG_VALUE} characters",
                    why="Azure refuses every resource that carries it.",
                    fix="shorten the value",
                )
            other = seen.setdefault(name.lower(), name)
            if other != name:
                yield RuleViolation(
                    fields=("tags",),
                    at="tags",
                    value=name,
                    rule=f"tag names must differ in more than case; `{other}` is there as well",
                    why="Azure ignores case in tag names and keeps only one of the two.",
                    fix="leave one of them out",
                )
