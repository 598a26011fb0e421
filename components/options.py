"""Resource options that several components hand to their children."""

import pulumi

FAILED_BEFORE = "#initerror"
"""Among ``replace_on_changes``, the engine's name for: the last attempt failed half-way."""


def deleted_with(opts: pulumi.ResourceOptions | None) -> pulumi.Resource | None:
    """The resource whose deletion takes the component's children along, as the caller named it.

    A component's own ``deleted_with`` means nothing to the engine: a component is not deleted by a
    provider. So the components pass it on, to the children that live inside that resource.
    """
    return opts.deleted_with if opts is not None else None
