"""Going on after a Helm that was cut off: what it left pending is removed before the next one.

Not part of a stack where nothing was cut off. Where it is, it stays and does nothing, until a Helm
is cut off again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_command.local import Command

from components.operation import operation
from contract.messages.base import Verb
from contract.messages.release import RecordOfRelease, RecoveryRequest

ROLE = "release-recovery"
"""What its name ends in."""


@dataclass(frozen=True, kw_only=True)
class RecoveryArgs:
    """What is in the way of the release; no input of its component, as the next update has none."""

    cluster_id: pulumi.Input[str]
    """ARM id."""
    admin: bool
    """Whether to use the administrator's kubeconfig."""
    records: Sequence[RecordOfRelease]
    """Helm's records that are to go; none where an earlier update has removed some."""


def recovery(
    parent: pulumi.Resource,
    name: str,
    args: RecoveryArgs | None,
    namespace: pulumi.Input[str],
    cluster: pulumi.Resource | None,
) -> list[Command]:
    """What removes the records, each update those that are named; nothing where there are none."""
    if args is None:
        return []
    admin, records = args.admin, tuple(args.records)

    def request(parts: Sequence[str]) -> str:
        cluster_id, known = parts
        return RecoveryRequest(
            cluster_id=cluster_id, admin=admin, namespace=known, records=records
        ).to_json()

    command = operation(
        f"{name}-{ROLE}",
        Verb.RECOVER_RELEASE,
        pulumi.Output.all(args.cluster_id, namespace).apply(request),
        opts=pulumi.ResourceOptions(
            parent=parent,
            deleted_with=cluster,
            # Without records it stays as it is: a change would run it.
            ignore_changes=None if records else ["stdin"],
        ),
    )
    return [command]
