"""The agent's namespace: made before its extension, which is installed into it."""

import pulumi

from components.cluster_leftovers import marked
from contract.agent import NAMESPACE

NAMESPACE_TYPE = "kubernetes:core/v1:Namespace"


def agent_namespace(
    parent: pulumi.Resource,
    name: str,
    stack_mark: str | None,
    *,
    created: bool,
    deleted_with: pulumi.Resource | None,
) -> pulumi.CustomResource:
    """The namespace, ``created`` with the mark of its stack, or as somebody else has made it."""
    # By its type's name: the module with the class takes longer to import than the whole engine
    # does to register it.
    return pulumi.CustomResource(
        NAMESPACE_TYPE,
        f"{name}-namespace",
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": NAMESPACE, **marked(stack_mark)},
        },
        pulumi.ResourceOptions(
            parent=parent,
            # One that exists is only read. A stack that made it, and whose settings then say that
            # it exists, no longer manages it; left out of the program it would be deleted, with
            # all that is in it.
            id=None if created else NAMESPACE,
            # Nothing outside the cluster depends on it.
            deleted_with=deleted_with,
            # Helm's mark is another's: with it in the inputs, a refresh would bring in what the
            # provider then takes out. One that is made has the stack's; a later one gets none.
            ignore_changes=["metadata.labels", "metadata.annotations"],
        ),
    )
