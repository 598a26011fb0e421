"""Putting back what was changed by hand of the release's objects, which Helm does not look at.

Not part of a stack where nothing was changed. Where something was, it stays and does nothing, until
something is changed again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_command.local import Command

from components.operation import operation
from contract.messages.base import Verb
from contract.messages.release import DriftedObject, RepairRequest

ROLE = "release-repair"
"""What its name ends in."""


@dataclass(frozen=True, kw_only=True)
class RepairArgs:
    """What was changed; no input of its component, as the next update has none."""

    cluster_id: pulumi.Input[str]
    """ARM id."""
    admin: bool
    """Whether to use the administrator's kubeconfig."""
    objects: Sequence[DriftedObject]
    """What is put back; none where an earlier update has done so."""


def repair(
    parent: pulumi.Resource,
    name: str,
    args: RepairArgs | None,
    release: pulumi.Resource,
    cluster: pulumi.Resource | None,
) -> list[Command]:
    """What puts the objects back, once ``release`` is as it shall be; nothing where there are none.

    A release that is upgraded or installed anew has done so itself.
    """
    if args is None:
        return []
    admin, objects = args.admin, tuple(args.objects)
    command = operation(
        f"{name}-{ROLE}",
        Verb.REPAIR_RELEASE,
        pulumi.Output.from_input(args.cluster_id).apply(
            lambda known: RepairRequest(cluster_id=known, admin=admin, objects=objects).to_json()
        ),
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=[release],
            deleted_with=cluster,
            # Without objects it stays as it is: a change would run it.
            ignore_changes=None if objects else ["stdin"],
        ),
    )
    return [command]
