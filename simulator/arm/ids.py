"""ARM ids: ``/subscriptions/S/resourceGroups/G/providers/N/type/name...``, nested and extended.

Ids are compared without case everywhere in Azure; :class:`ResourceId` keeps the writer's case.
"""

from dataclasses import dataclass
from typing import Final

SUBSCRIPTION_ID: Final = "11111111-1111-4111-8111-111111111111"
"""The one there is at first (:mod:`simulator.seed`)."""


@dataclass(frozen=True)
class ResourceId:
    """A parsed id of a resource, a resource group, or a collection of resources."""

    text: str
    subscription: str
    group: str
    scope: str
    """What the last ``providers`` segment extends: a group, or a resource for extension types."""
    namespace: str
    types: tuple[str, ...]
    names: tuple[str, ...]
    """One less than ``types`` for a collection."""
    action: str = ""

    @property
    def type(self) -> str:
        """``Namespace/type/subtype`` as written."""
        return "/".join((self.namespace, *self.types))

    @property
    def name(self) -> str:
        """The last name; empty for a collection."""
        return self.names[-1] if self.names else ""

    @property
    def is_collection(self) -> bool:
        """Whether it names a list of resources."""
        return len(self.names) < len(self.types)

    @property
    def parent(self) -> str:
        """The id of the resource that a subtype belongs to; for others the scope."""
        names = self.names if self.is_collection else self.names[:-1]
        if not names:
            return self.scope
        pairs = [part for pair in zip(self.types, names, strict=False) for part in pair]
        return "/".join((self.scope, "providers", self.namespace, *pairs))


def parse(path: tuple[str, ...]) -> ResourceId | None:
    """The id that path segments spell, or None if they spell none."""
    lower = [part.lower() for part in path]
    if len(path) < 2 or lower[0] not in ("subscriptions", "providers"):
        return None
    group = path[3] if len(path) > 3 and lower[2] == "resourcegroups" else ""
    text = "/" + "/".join(path)
    starts = [index for index, part in enumerate(lower) if part == "providers"]
    if not starts:
        if len(path) == 4 and group:
            return ResourceId(
                text,
                path[1],
                group,
                f"/subscriptions/{path[1]}",
                "Microsoft.Resources",
                ("resourceGroups",),
                (group,),
            )
        return None
    last = starts[-1]
    if last + 2 >= len(path):
        return None
    rest = path[last + 2 :]
    return ResourceId(
        text=text,
        subscription=path[1] if lower[0] == "subscriptions" else "",
        group=group,
        scope="/" + "/".join(path[:last]),
        namespace=path[last + 1],
        types=tuple(rest[0::2]),
        names=tuple(rest[1::2]),
    )


def parse_text(resource_id: str) -> ResourceId | None:
    """The id in a string, or None."""
    if not resource_id.startswith("/"):
        return None
    return parse(tuple(part for part in resource_id.split("/") if part))


def group_id(subscription: str, group: str) -> str:
    """The id of a resource group."""
    return f"/subscriptions/{subscription}/resourceGroups/{group}"


def group_of(resource_id: str) -> str:
    """The id of the resource group that a resource lives in."""
    return "/".join(resource_id.split("/")[:5])
