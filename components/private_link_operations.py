"""The two operations around the Helm release: the guard before it, and the wait after it.

The guard is made before the release and deleted after it, and then waits until the Private Link
Service is gone. The wait is made after the release, when the service is there, and deleted before
it: then it protects whoever else is connected, whom the cloud controller would cut off.
"""

import pulumi
from pulumi_command.local import Command

from components.operation import operation
from components.private_link import PrivateLinkArgs
from contract.messages.base import Verb
from contract.messages.private_link import OwnEndpoint, PrivateLinkRequest


def guard(
    name: str,
    link: PrivateLinkArgs,
    namespace: pulumi.Input[str],
    release: str,
    opts: pulumi.ResourceOptions,
) -> Command:
    """What waits for the end of the Private Link Service; making it does nothing."""
    return operation(
        name,
        Verb.HOLD_PRIVATE_LINK,
        _request(link, namespace, release),
        delete=Verb.AWAIT_PRIVATE_LINK_GONE,
        # Its identity and nothing else.
        triggers=[link.id, release, namespace],
        opts=pulumi.ResourceOptions.merge(
            opts,
            # The new service is made from the same Service object as the old one, so the old one
            # must be gone before.
            pulumi.ResourceOptions(delete_before_replace=True),
        ),
    )


def ready(
    name: str,
    link: PrivateLinkArgs,
    namespace: pulumi.Input[str],
    release: str,
    triggers: list[pulumi.Input[str]],
    opts: pulumi.ResourceOptions,
) -> Command:
    """What waits for the Private Link Service, and in the end for those who still use it."""
    return operation(
        name,
        Verb.AWAIT_PRIVATE_LINK,
        _request(link, namespace, release, for_use=True),
        # Runs after the endpoint's deletion and before the release's.
        delete=Verb.AWAIT_PRIVATE_LINK_UNUSED,
        triggers=triggers,
        opts=pulumi.ResourceOptions.merge(
            opts,
            # Deleted last, it would wait for the end of the new endpoint's connection.
            pulumi.ResourceOptions(delete_before_replace=True),
        ),
    )


def known_with(command: Command, value: pulumi.Input[str]) -> pulumi.Output[str]:
    """``value``, unknown exactly when ``command`` is made anew.

    So what depends on it is replaced in that case, and is not when the command merely runs again
    for another request: what a command answers is unknown then, too.
    """
    return pulumi.Output.all(command.id, value).apply(lambda known: str(known[1]))


def _request(
    link: PrivateLinkArgs, namespace: pulumi.Input[str], release: str, *, for_use: bool = False
) -> pulumi.Output[str]:
    """The request; who uses the service, and whether they are protected, only the wait asks."""
    own = link.own_endpoint if for_use else None
    unprotected = for_use and not link.protect_connections
    return pulumi.Output.from_input(namespace).apply(
        lambda known: PrivateLinkRequest(
            id=link.id,
            namespace=known,
            release=release,
            node_resource_group=link.node_resource_group,
            own_endpoint=OwnEndpoint(
                workspace=own.workspace, name=own.name, request_message=own.request_message
            )
            if own
            else None,
            protect_connections=False if unprotected else None,
        ).to_json()
    )
