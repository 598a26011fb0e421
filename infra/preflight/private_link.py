"""Checks of the private link: its name, who may see and approve it, and where it is."""

from collections.abc import Container, Iterator

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.azure import Role, group_id, group_of, name_of, parent_of
from contract.choices import PrincipalType
from contract.lines import line, placed
from contract.messages.survey import Presence, Survey, SurveyRequest
from contract.microservices import ServerMode, service_name
from infra.deployed import EVERYTHING, Own
from infra.faults import Fault
from infra.preflight.caller import caller_of
from infra.preflight.finding import ELIGIBLE, Finding, Place, role_assignment
from infra.rights import RIGHTS, On
from infra.settings import Settings

_LINK = "gpuobs:pyroscope.privateLink"


def check_visibility(settings: Settings, subscription: str) -> Iterator[Finding]:
    """Whether Grafana's endpoint can find the link; the settings know a named subscription only."""
    visibility = {entry.lower() for entry in settings.pyroscope.private_link.visibility}
    if settings.azure.subscription_id is None and visibility == {subscription.lower()}:
        yield Fault(
            path=f"{_LINK}.visibility",
            rule=f"not your own subscription alone ({subscription})",
            why="Grafana's endpoint lives in a subscription of Microsoft's and could not find the "
            "private link.",
            fix='leave it out for ["*"]: connections still wait for an approval',
        )


def check_regions(survey: Survey, location: str) -> Iterator[Finding]:
    """A link between two regions, which no published example has; nothing once it is there."""
    cluster, grafana = survey.cluster.location or location, survey.grafana.location or location
    if not cluster or not grafana or cluster == grafana:
        return
    if survey.private_endpoint is Presence.FOUND:
        return
    yield (
        f"Grafana is in {grafana} and the cluster in {cluster}. The managed private endpoint is "
        f"tried in {grafana}, Grafana's region, to the Private Link Service in {cluster}; no "
        "published example has two regions. Where Azure refuses it, `private-endpoint-endpoint` "
        "fails with Azure's error, after the GPU pool and Pyroscope are made, and what works is a "
        f"Grafana in {cluster}."
    )


def check_network(settings: Settings, place: Place, survey: Survey) -> Iterator[Finding]:
    """Whether the cluster's load balancer and subnet can have a Private Link Service at all."""
    cluster = survey.cluster
    if cluster.load_balancer_sku.lower() == "basic":
        yield place.fault(
            rule="needs a Standard load balancer; it has a Basic one",
            why="Azure makes no Private Link Service in front of a Basic load balancer (which "
            "it has retired), so Grafana would not reach the profiles.",
            fix="move it to a Standard load balancer, or use another cluster: "
            "https://learn.microsoft.com/azure/aks/upgrade-basic-load-balancer-on-aks",
        )
    if cluster.backend_pool_type.lower() == "nodeip":
        yield place.fault(
            rule="needs backend pools of network interfaces; its load balancer has some of IP "
            "addresses (backendPoolType nodeIP)",
            why="Azure makes no Private Link Service in front of those, so Grafana would not reach "
            "the profiles.",
            fix=line(
                *("az", "aks", "update", *place.options),
                *("--load-balancer-backend-pool-type", "nodeIPConfiguration"),
            ),
        )
    yield from _check_subnet(settings, place, survey)


def _check_subnet(settings: Settings, place: Place, survey: Survey) -> Iterator[Finding]:
    subnet, identity = survey.link_subnet, survey.cluster.principal_id
    name = name_of(subnet.id)
    if subnet.presence is Presence.ABSENT:
        network = parent_of(subnet.id)
        others = line(
            *("az", "network", "vnet", "subnet", "list", "--vnet-name", name_of(network)),
            *placed(network),
            *("--output", "table"),
        )
        yield Fault(
            path=f"{_LINK}.subnet" if settings.pyroscope.private_link.subnet else str(place),
            rule=f"the subnet {name} must exist in the network of the cluster's nodes",
            why="the AKS cloud controller makes no private link without it.",
            fix=f"write one of: {others}",
        )
    if subnet.presence is not Presence.FOUND or not subnet.missing:
        return
    assign = role_assignment(
        assignee=identity,
        kind=PrincipalType.SERVICE_PRINCIPAL,
        role=Role.NETWORK_CONTRIBUTOR,
        scope=subnet.id,
    )
    actions = ", ".join(subnet.missing)
    if subnet.certain:
        yield place.fault(
            rule=f"its identity must be allowed to use subnet {name}: {actions}",
            why="the AKS cloud controller makes the load balancer and the private link as that "
            "identity; without the right neither appears, and the release times out.",
            fix=assign,
        )
    else:
        yield (
            f"Whether the identity of cluster {place.name} may use subnet {name} ({actions}) could "
            f"not be read. Where it may not, the release waits until it times out: {assign}"
        )


def makes_link_role(settings: Settings, survey: Survey, deployed: Container[str]) -> bool:
    """Whether this stack lets the cluster's identity make the private link in its own group.

    Where it is known to be missing and the caller may give it; one that was made stays. Of a
    cluster that the stack makes, the identity is new.
    """
    if not settings.makes_private_link or settings.pyroscope.private_link.resource_group is None:
        return False
    if settings.cluster.create is not None:
        return True
    if deployed is not EVERYTHING and Own.LINK_ROLE in deployed:
        return True
    group = survey.link_group
    return bool(group.missing) and group.certain and _may_assign(survey)


def _may_assign(survey: Survey) -> bool:
    """Whether the caller may assign roles on the group, as far as can be read."""
    return any(
        one.known and not (one.missing or one.conditional or one.eligible)
        for one in survey.rights
        if RIGHTS[one.key].on is On.LINK_GROUP
    )


def _check_own_group(place: Place, survey: Survey, deployed: Container[str]) -> Iterator[Finding]:
    """Whether the cluster's identity may make the private link in a group of one's own."""
    group = survey.link_group
    if not group.missing or (group.certain and _may_assign(survey)):
        return  # or this stack lets it
    name, actions = name_of(group.id), ", ".join(group.missing)
    assign = role_assignment(
        assignee=survey.cluster.principal_id,
        kind=PrincipalType.SERVICE_PRINCIPAL,
        role=Role.NETWORK_CONTRIBUTOR,
        scope=group.id,
    )
    is_there = Own.APPROVAL in deployed and deployed is not EVERYTHING
    if group.certain and not is_there:
        yield place.fault(
            rule=f"its identity must be allowed to make the private link in group {name}: "
            f"{actions}",
            why="the AKS cloud controller makes and deletes it as that identity; without the right "
            "it never appears, and the release times out.",
            fix=assign,
        )
    else:
        yield (
            f"No role is known by which the identity of cluster {place.name} may make the private "
            f"link in group {name} ({actions}). Where it may not, the link never appears: {assign}"
        )


def _check_name(settings: Settings, survey: Survey, request: SurveyRequest) -> Iterator[Finding]:
    """Whether a Private Link Service of that name is somebody else's."""
    link, found = settings.pyroscope.private_link, survey.private_link
    known = (Presence.FOUND, Presence.ABSENT)
    if found.presence is not Presence.FOUND or survey.cluster.presence not in known:
        return
    nodes = survey.cluster.node_resource_group
    group = link.resource_group or nodes
    other = _other_owner(found.frontends, found.owner_service, nodes)
    if other:
        yield Fault(
            path=f"{_LINK} (Private Link Service {request.private_link_name} in group {group})",
            rule=f"its name must be free; it is {other}",
            why="the AKS cloud controller would not make a second one of that name, so Grafana "
            "would not reach this stack's profiles.",
            fix="choose another name for it: gpuobs:pyroscope: { privateLink: { name: NAME } }"
            + (", or another resourceGroup" if link.resource_group else ""),
        )


def _other_owner(frontends: tuple[str, ...], service: str, nodes: str) -> str:
    """Whose the Private Link Service is, where it is not this cluster's Pyroscope's."""
    groups = {group for one in frontends if (group := group_of(one))}
    if groups and nodes.lower() not in {group.lower() for group in groups}:
        return f"another cluster's, with its load balancer in group {', '.join(sorted(groups))}"
    # Also while it changes from the one to the other.
    own = {f"{NAMESPACE}/{service_name(PYROSCOPE_SERVICE, mode)}" for mode in ServerMode}
    if service and service.lower() not in own:
        return f"of the Kubernetes Service {service}"
    return ""


def check_private_link(
    settings: Settings,
    place: Place,
    survey: Survey,
    request: SurveyRequest,
    deployed: Container[str] = EVERYTHING,
) -> Iterator[Finding]:
    """Whether the private link can be made, and its connection approved, where it will be."""
    yield from _check_name(settings, survey, request)
    link, cluster = settings.pyroscope.private_link, survey.cluster
    if cluster.presence is not Presence.FOUND:
        return
    if link.resource_group is not None:
        yield from _check_own_group(place, survey, deployed)
        return
    if link.auto_approval:
        return
    if cluster.node_resource_group_restriction.lower() == "readonly":
        yield place.fault(
            rule=f"its node resource group {cluster.node_resource_group} is locked (ReadOnly)",
            why="the private link would be made there, and Azure refuses to approve its connection "
            "even to an Owner.",
            fix="put the link into a group of your own (gpuobs:pyroscope.privateLink: "
            "{ resourceGroup: GROUP } with its name; the stack gives the cluster's identity "
            f"{Role.NETWORK_CONTRIBUTOR.role_name} there, where you may assign roles), or write "
            "the subscription of Grafana's endpoint, which the pending connection shows, into "
            "gpuobs:pyroscope.privateLink.autoApproval",
        )
    elif survey.may_approve is False:
        caller = caller_of(survey, request)
        assign = role_assignment(
            assignee=caller.assignee,
            kind=caller.type,
            role=Role.NETWORK_CONTRIBUTOR,
            scope=group_id(place.subscription, cluster.node_resource_group),
        )
        rule = (
            "you must be allowed to approve private link connections in its node resource group "
            f"{cluster.node_resource_group}"
        )
        if Own.APPROVAL in deployed and deployed is not EVERYTHING:
            # It is approved: nothing has to be, unless the link is made again.
            yield f"{place}: {rule}, should its link be made again: {assign}"
            return
        yield place.fault(
            rule=rule,
            why="Grafana's connection would stay pending and no profile could be read.",
            fix=assign + caller.note + ELIGIBLE,
        )
    elif survey.may_approve is None and Own.APPROVAL not in deployed:
        yield (
            "Whether you may approve private link connections in the node resource group "
            f"{cluster.node_resource_group} cannot be seen from here, or only once you have "
            "activated a role. Without it, Grafana's connection stays pending."
        )
