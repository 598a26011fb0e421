"""The private link from Grafana to Pyroscope."""

import re
from concurrent.futures import ThreadPoolExecutor

from simulator.values import as_text, dig
from tests.live.azure import Answer
from tests.live.check import Phase, Section, Verdict, check, unknown, verdict
from tests.live.world import ENDPOINT, GRAFANA, World, connected

_REVISION = re.compile(r"[0-9a-f]{12}-[0-9a-f]{8}$")
"""The revision at the end of an approval's description."""


@check(
    "link-is-in-the-node-group",
    Section.LINK,
    Phase.DEPLOYED,
    assumption="The cloud controller makes the service in the node resource group whose name AKS "
    "reports, under the annotated name",
    otherwise="the wait ends after 15 minutes, distinguishing *absent* from *forbidden*, and where "
    "the controller's event is",
    by_hand="`az network private-link-service list --resource-group NODE-GROUP`",
)
def link_in_node_group(world: World) -> Verdict:
    """The id that the program computed is a service's."""
    found = world.arm.find(world.private_link)
    group = world.private_link.split("/")[4]
    state = dig(found, "properties", "provisioningState") if found else "absent"
    return verdict(found is not None, f"in {group}, under the annotated name: {state}")


@check(
    "endpoint-name",
    Section.LINK,
    Phase.DEPLOYED,
    assumption="The connection's private endpoint is named `grafana-<workspace>-<endpoint>`",
    otherwise="nothing is approved; the message lists the connections that are there, with their "
    "ids and descriptions",
    by_hand="`az network private-link-service show --ids ID`, "
    "`privateEndpointConnections[].privateEndpoint.id`",
)
def endpoint_name(world: World) -> Verdict:
    """The service's connections say."""
    workspace = world.id_of(GRAFANA).rsplit("/", 1)[-1]
    endpoint = world.id_of(ENDPOINT).rsplit("/", 1)[-1]
    names = [connected(one) for one in world.connections()]
    return verdict(f"grafana-{workspace}-{endpoint}" in names, f"connected: {', '.join(names)}")


@check(
    "descriptions-are-kept",
    Section.LINK,
    Phase.DEPLOYED,
    assumption="The request message is the connection's description until the approval, and the "
    "approval's description is kept",
    otherwise="see `request-message-is-shown`; an approval without our revision counts as current "
    "by the connection's name, so it is not drift",
    by_hand="a second `pulumi preview` shows no `~environment`",
)
def descriptions_kept(world: World) -> Verdict:
    """The approved connection's description ends in the program's revision."""
    state = dig(world.own_connection(), "properties", "privateLinkServiceConnectionState")
    text = as_text(dig(state, "description"))
    return verdict(
        _REVISION.search(text) is not None, f"{dig(state, 'status')}, with the description {text!r}"
    )


@check(
    "request-message-is-shown",
    Section.LINK,
    Phase.CHANGED,
    assumption="A pending connection shows its endpoint's request message as its description",
    otherwise="a pending connection with no text, or Azure's own, counts as ours only where no "
    "other workspace's and endpoint's names give its id; else `up` stops with the line that "
    "approves it, and goes on after it",
    by_hand="`az network private-link-service show --ids ID` before the approval",
)
def request_message(world: World) -> Verdict:
    """Makes a second endpoint, and reads its pending connection."""
    with world.probe("probe-m") as (_, connection):
        state = world.state_of(connection)
    seen = f"{state.get('status')}, with the description {state.get('description')!r}"
    return verdict(state.get("description") == world.options.prefix, seen)


@check(
    "approved-connection-takes-a-description",
    Section.LINK,
    Phase.CHANGED,
    assumption="An approved connection takes a new description; otherwise Azure answers 400 or 409",
    otherwise="a note; the connection is approved",
    by_hand="change the endpoint's approval and look at "
    "`az network private-link-service show --ids ID`",
)
def new_description(world: World) -> Verdict:
    """Approves a second endpoint twice, with two descriptions."""
    with world.probe("probe-d") as (_, connection):
        first = world.decide(connection, "Approved", "first")
        if not first.ok:
            return unknown(f"the probe cannot be approved: {first.error}")
        second = world.decide(connection, "Approved", "second")
        state = world.state_of(connection)
    seen = f"approved again: {second.status if second.ok else second.error}; "
    kept = state.get("description") == "second" and state.get("status") == "Approved"
    return verdict(
        second.ok and kept, f"{seen}now {state.get('status')}, {state.get('description')!r}"
    )


@check(
    "endpoint-in-another-region",
    Section.LINK,
    Phase.CHANGED,
    assumption="The managed private endpoint lives in Grafana's region and names the service's "
    "region beside it; no group ids for a Private Link Service. Published examples have both in "
    "one region",
    otherwise="a preview warns of two regions; the endpoint fails with Azure's error, and is made "
    "again by the next `up`",
    by_hand="a cluster and a Grafana in two regions",
)
def another_region(world: World) -> Verdict:
    """Makes an endpoint of a second Grafana in another region."""
    if world.options.location == world.options.other_location:
        return unknown("both regions are the same: choose another with --other-location")
    path = f"{world.other_grafana()}/managedPrivateEndpoints/probe-r"
    try:
        answer = world.arm.call("PUT", path, world.endpoint_body())
        if not answer.ok:
            return verdict(False, answer.error)
        state = dig(world.arm.settled(path), "properties", "provisioningState")
        seen = any(connected(one).endswith("-probe-r") for one in world.connections())
        shown = "is" if seen else "is not"
        return verdict(
            state == "Succeeded" and seen,
            f"{world.options.other_location} to {world.options.location}: {state}; its connection "
            f"{shown} on the service",
        )
    finally:
        world.arm.delete(path)


@check(
    "address-after-refresh",
    Section.LINK,
    Phase.DEPLOYED,
    assumption="Grafana shows the private address after approval and refresh, for a Private Link "
    "Service as target",
    otherwise="the approval waits up to 15 minutes, refreshing every minute, and never answers an "
    "empty address",
    by_hand="`pulumi stack output privateEndpoint`",
)
def address(world: World) -> Verdict:
    """The endpoint says."""
    properties = world.arm.get(world.id_of(ENDPOINT)).get("properties")
    shown = as_text(dig(properties, "privateLinkServicePrivateIP"))
    state = dig(properties, "connectionState", "status")
    return verdict(bool(shown), f"{state}, address {shown or 'empty'}")


@check(
    "rejected-is-final",
    Section.LINK,
    Phase.CHANGED,
    assumption="A rejected or disconnected connection never recovers",
    otherwise="the message says how to delete the endpoint; `pulumi up --refresh` makes another",
    by_hand="reject it in the portal, approve it again",
)
def rejected_is_final(world: World) -> Verdict:
    """Rejects a second endpoint's connection, then tries to approve it."""
    with world.probe("probe-j") as (path, connection):
        rejected = world.decide(connection, "Rejected", "a check")
        if not rejected.ok:
            return unknown(f"the probe cannot be rejected: {rejected.error}")
        approved = world.decide(connection, "Approved", "a check")
        world.refresh(world.other_grafana())
        endpoint = world.arm.get(path).get("properties")
    state = dig(endpoint, "connectionState", "status")
    said = approved.status if approved.ok else approved.error
    return verdict(state != "Approved", f"approved after the rejection: {said}; then {state}")


@check(
    "one-operation-at-a-time",
    Section.LINK,
    Phase.CHANGED,
    assumption="One operation at a time runs on a Grafana; azure-native does not wait for another "
    "stack's (`ConflictInProcessing`)",
    otherwise="two stacks may deploy at once; nothing to do",
    by_hand="two stacks at once on one Grafana: one fails at the endpoint; repeat it",
)
def one_at_a_time(world: World) -> Verdict:
    """Asks the second Grafana for two endpoints at once."""
    folder = f"{world.other_grafana()}/managedPrivateEndpoints"
    paths = [f"{folder}/probe-{name}" for name in ("a", "b")]
    body = world.endpoint_body()

    def put(path: str) -> Answer:
        return world.arm.call("PUT", path, body)

    try:
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(put, paths))
        said = " / ".join(str(one.status) if one.ok else one.error for one in answers)
        for path, answer in zip(paths, answers, strict=True):
            if answer.ok:
                world.arm.settled(path)
    finally:
        for path in paths:
            world.arm.delete(path)
    return verdict(sorted(one.status == 409 for one in answers) == [False, True], said)


CHECKS = (
    link_in_node_group,
    endpoint_name,
    descriptions_kept,
    request_message,
    new_description,
    another_region,
    address,
    rejected_is_final,
    one_at_a_time,
)
