"""What killed runs have left in the cluster: removed before its like is made, and at the end.

A run that is killed right after Kubernetes has made something leaves it behind: the engine does not
know it, Kubernetes refuses a second one, and ``destroy`` would not see it. Everything carries the
stack's mark for that, and this command is made before all of it and deleted after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_command.local import Command

from components.operation import observed_operation
from contract.messages.base import Verb
from contract.messages.leftovers import STACK_MARK, LeftoversRequest


@dataclass(frozen=True, kw_only=True)
class LeftoversArgs:
    """What is this stack's in the cluster."""

    mark: str
    """On whatever the stack makes there."""
    keeps_namespace: bool
    """Whether the agent's namespace is not this stack's to delete."""
    known: Sequence[str] = ()
    """What a killed run is known to have left there, to be removed before its like is made."""


def marked(mark: str | None) -> dict[str, dict[str, str]]:
    """What of an object's metadata makes it the stack's; nothing without a mark."""
    return {"annotations": {STACK_MARK: mark}} if mark else {}


def without_leftovers(
    parent: pulumi.Resource,
    name: str,
    args: LeftoversArgs,
    cluster_id: pulumi.Output[str],
    *,
    admin: bool,
    deleted_with: pulumi.Resource | None,
) -> Command:
    """The command."""
    return observed_operation(
        name,
        Verb.CLEAR_LEFTOVERS,
        cluster_id.apply(
            lambda known: LeftoversRequest(
                cluster_id=known,
                admin=admin,
                mark=args.mark,
                keeps_namespace=args.keeps_namespace,
            ).to_json()
        ),
        # What is not there any more is no reason to run again.
        observed=" ".join(args.known) or None,
        delete=Verb.REMOVE_LEFTOVERS,
        triggers=[cluster_id],
        opts=pulumi.ResourceOptions(parent=parent, deleted_with=deleted_with),
    )
