"""The escape hatch of every component: arguments of an underlying resource that it does not set.

A component has arguments for what this project needs to know. Everything else that a resource
offers is passed in one mapping, as the ``..._args`` field of the component's arguments that is
named after the resource: ``GpuNodePoolArgs(pool_args={"upgrade_settings": {"max_surge": "33%"}})``.
Names are those of the resource's class in Pulumi's Python SDK; mappings are merged key by key.
What the component sets itself is refused: two places that decide one thing would contradict each
other, and the component relies on its value.

Resource *options* need nothing of ours: a component passes on ``transformations`` and
``transforms`` to its children, as every component of Pulumi's does.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

import pulumi

FurtherArgs = Mapping[str, Any]
"""Arguments by their names in Pulumi's Python SDK (snake_case)."""


def adding(field: str, further: FurtherArgs | None) -> list[pulumi.ResourceTransformation] | None:
    """The ``transformations`` of a child that add ``further`` to what the component passes.

    ``field`` is where the mapping was given, for the message.

    Raises:
        ValueError: when the child is made: it has no such argument, or the component sets it.
    """
    if not further:
        return None

    def add(resource: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
        owned = cast("Mapping[str, Any]", resource.props)
        for name in further:
            if name not in owned:
                close = get_close_matches(name, owned, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise ValueError(f"{field}: {resource.type_} has no argument {name!r}{hint}")
        return pulumi.ResourceTransformationResult(merged(field, owned, further), resource.opts)

    return [add]


def merged(field: str, owned: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """``owned`` with ``further`` added, mappings key by key.

    Raises:
        ValueError: both say something about one key.
    """
    result = dict(owned)
    for name, value in further.items():
        present = result.get(name)
        if present is None:
            result[name] = value
        elif isinstance(present, Mapping) and isinstance(value, Mapping):
            result[name] = merged(
                f"{field}.{name}",
                cast("Mapping[str, Any]", present),
                cast("Mapping[str, Any]", value),
            )
        else:
            raise ValueError(
                f"{field}.{name} is set by the component itself; use the component's own argument "
                "for it, or change the component"
            )
    return result
