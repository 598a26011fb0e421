"""Going on after the removal of an extension that the API server refused: it is made again.

Not part of a stack where that never happened. Where it did, it stays and does nothing, until it
happens again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_command.local import Command

from components.agent_operations import AgentPlace
from components.operation import operation
from contract.messages.base import Verb
from contract.messages.extension import ExtensionRecoveryRequest

ROLE = "extension-recovery"
"""What its name ends in."""
NEVER = "never recovered"
"""What makes the extension another one, before the first recovery."""


@dataclass(frozen=True, kw_only=True)
class ExtensionRecoveryArgs:
    """What is in the way; no input of its component, as the next update has none."""

    extension_id: str | None = None
    """ARM id of the extension that is to be forgotten; None: an earlier update has done so."""
    release: str = ""
    """Its Helm release."""
    seen: str = ""
    """Another text each time."""


def extension_recovery(
    parent: pulumi.Resource, name: str, place: AgentPlace, args: ExtensionRecoveryArgs | None
) -> Command | None:
    """What lets Azure and Helm forget the extension; None where that was never necessary."""
    if args is None:
        return None
    extension_id, release, seen = args.extension_id, args.release, args.seen

    def request(parts: Sequence[str]) -> str:
        cluster_id, namespace = parts
        return ExtensionRecoveryRequest(
            cluster_id=cluster_id,
            admin=place.admin,
            namespace=namespace,
            extension_id=extension_id or "",
            release=release,
            seen=seen,
        ).to_json()

    return operation(
        f"{name}-{ROLE}",
        Verb.RECOVER_EXTENSION,
        pulumi.Output.all(*place.identity).apply(request),
        opts=pulumi.ResourceOptions(
            parent=parent,
            deleted_with=place.deleted_with,
            # With nothing to forget it stays as it is: a change would run it.
            ignore_changes=None if extension_id is not None else ["stdin"],
        ),
    )
