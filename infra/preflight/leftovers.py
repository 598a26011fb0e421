"""What is in the way of a first ``up``: the manual procedure's work, another stack's, a person's.

A deployment would meet one conflict after another, late, with the GPU nodes paid for. Here all of
them are found at once, in the order in which they are cleared away, and each says how: deleted, or
taken over. What is in this stack's own state is never in its way, nor what carries a name that only
this stack gives: that is from a run that was killed, and Pulumi says so.
"""

from collections.abc import Container, Iterator

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.azure import (
    DATA_COLLECTION_API,
    DATA_COLLECTION_RULE_ASSOCIATION,
    ENDPOINT_ASSOCIATION,
    EXTENSION_API,
    GRAFANA_API,
    MANAGED_CLUSTER_API,
    PRIVATE_LINK_SERVICE,
    STACK_TAG,
    agent_pool_id,
    group_id,
    subscription_of,
)
from contract.lines import delete_resource, in_cluster
from contract.messages.leftovers import (
    DAEMON_SETS,
    NAMESPACE_PATH,
    POD_MONITORS,
    SERVICE_PATH,
    Leftover,
)
from contract.messages.survey import EndpointFacts, PoolFacts, Presence, Survey, SurveyRequest
from infra.deployed import Own
from infra.faults import Fault
from infra.interrupted import is_own
from infra.preflight.finding import Finding, Place
from infra.preflight.pools import is_as_fixed
from infra.settings import Settings


def own_leftovers(
    settings: Settings, survey: Survey, deployed: Container[str]
) -> tuple[Leftover, ...]:
    """What a killed run of this stack has made in the cluster, without the engine's knowing.

    A namespace with something in it is not removed: whose that is, only a person knows.
    """
    inside = survey.inside
    stands_for = {DAEMON_SETS: Own.DEVICE_PLUGIN, POD_MONITORS: Own.POD_MONITOR}

    def is_one(path: str) -> bool:
        if path == NAMESPACE_PATH:
            may_go = settings.cluster.create_namespace and inside.namespace_empty
            return may_go and Own.NAMESPACE not in deployed
        if path == SERVICE_PATH:
            return Own.ELSEWHERE not in deployed and Own.AGENT_SERVICE not in deployed
        return stands_for[path.rpartition("/")[0]] not in deployed

    return tuple(one for one in inside.marked if is_one(one.path))


def own_endpoint(survey: Survey, request: SurveyRequest, deployed: Container[str]) -> str:
    """ARM id of the private endpoint that a killed run of this stack has made; empty: none.

    Known by its request message, which only this stack gives, and only where it is the one that
    would be made. A failed one never recovers.
    """
    if Own.PRIVATE_ENDPOINT in deployed:
        return ""
    for one in survey.endpoints:
        same_link = one.private_link_id.lower().endswith(f"/{request.private_link_name}".lower())
        if (
            one.name == request.private_endpoint_name
            and one.request_message == request.stack_mark
            and one.provisioning_state != "Failed"
            and same_link
        ):
            return one.id
    return ""


def own_pool(
    settings: Settings, survey: Survey, request: SurveyRequest, deployed: Container[str]
) -> str:
    """ARM id of the GPU pool that a killed run of this stack has made; empty: none.

    Known by its tag, and only where the settings do not make another one of it.
    """
    found = _pool_in_the_way(settings, survey, deployed)
    if found is None or not _is_marked(found, request) or found.provisioning_state == "Failed":
        return ""
    return (request.gpu_pool_id or "") if is_as_fixed(found, settings.gpu_pool) else ""


def own_extension(settings: Settings, survey: Survey, deployed: Container[str]) -> str:
    """ARM id of the extension that a killed run of this stack has made; empty: none.

    An extension has no tags. Right before it a stack makes the namespace that it runs in, and with
    that in the state nobody else had reason to install it.
    """
    found = survey.installed
    made_right_before = settings.cluster.create_namespace and Own.NAMESPACE in deployed
    if (
        found.presence is Presence.FOUND
        and Own.EXTENSION not in deployed
        and made_right_before
        and found.name == settings.inspektor_gadget.name
        and found.provisioning_state != "Failed"
    ):
        return found.id
    return ""


def _pool_in_the_way(
    settings: Settings, survey: Survey, deployed: Container[str]
) -> PoolFacts | None:
    wanted = settings.gpu_pool
    if not wanted.enabled or Own.GPU_POOL in deployed:
        return None
    return next((one for one in survey.cluster.pools if one.name == wanted.name), None)


def _is_marked(pool: PoolFacts, request: SurveyRequest) -> bool:
    return pool.tags.get(STACK_TAG) == request.stack_mark


def check_leftovers(
    settings: Settings,
    survey: Survey,
    request: SurveyRequest,
    deployed: Container[str],
    *,
    collects: bool,
) -> Iterator[Finding]:
    """Each thing that is in the way of what is not ``deployed`` yet.

    ``collects``: whether the stack makes a collection rule of its own.
    """
    if settings.cluster.existing is None or survey.cluster.presence is not Presence.FOUND:
        return
    cluster = Place("gpuobs:cluster.existing", "cluster", request.cluster_id or "")
    yield from _private_endpoints(settings, survey, request, deployed)
    yield from _access_endpoint(survey, cluster, deployed, collects=collects)
    yield from _release(survey, request, cluster, deployed)
    yield from _extension(settings, survey, cluster, deployed)
    yield from _namespace(settings, survey, cluster, deployed)
    yield from _gpu_pool(settings, survey, request, cluster, deployed)


def _private_endpoints(
    settings: Settings, survey: Survey, request: SurveyRequest, deployed: Container[str]
) -> Iterator[Finding]:
    if Own.PRIVATE_ENDPOINT in deployed:
        return
    nodes = group_id(subscription_of(request.cluster_id or ""), survey.cluster.node_resource_group)
    here = f"{nodes}/providers/{PRIVATE_LINK_SERVICE}/".lower()
    taken_over = own_endpoint(survey, request, deployed)
    for endpoint in survey.endpoints:
        if endpoint.id == taken_over:
            continue
        if endpoint.request_message == request.stack_mark:
            yield _endpoint(
                endpoint,
                "is from an interrupted run of this stack, and not what the settings ask for now"
                if endpoint.provisioning_state != "Failed"
                else "is from an interrupted run of this stack, and has failed",
            )
            continue
        if endpoint.name == request.only_own_endpoint:
            continue
        # With the stack's own release there, it is somebody who connected to its private link.
        is_before = Own.RELEASE not in deployed
        if is_before and endpoint.private_link_id.lower().startswith(here):
            yield _endpoint(
                endpoint, "leads to this cluster already, by hand or from another stack"
            )
        elif endpoint.name == settings.grafana.private_endpoint.name:
            yield _endpoint(endpoint, "has the name of this stack's own")


def _endpoint(endpoint: EndpointFacts, rule: str) -> Fault:
    return Fault(
        path=f"managed private endpoint {endpoint.name} of Grafana",
        rule=rule,
        why="Grafana needs one endpoint to Pyroscope, and this stack makes and approves its own.",
        fix=f"delete it first: {delete_resource(endpoint.id, GRAFANA_API)}",
    )


def _access_endpoint(
    survey: Survey, cluster: Place, deployed: Container[str], *, collects: bool
) -> Iterator[Finding]:
    """A cluster reads its configuration from one data collection endpoint, whoever associated it.

    This stack needs its own where the API server is private, or the workspace in another region.
    """
    found, workspace = survey.access_endpoint, survey.workspace
    elsewhere = workspace.location and workspace.location != survey.cluster.location
    if not collects or not found or Own.ACCESS_ENDPOINT in deployed:
        return
    if elsewhere or survey.cluster.private_api_server:
        association = (
            f"{cluster.id}/providers/{DATA_COLLECTION_RULE_ASSOCIATION}/{ENDPOINT_ASSOCIATION}"
        )
        yield Fault(
            path=f"association {ENDPOINT_ASSOCIATION} of cluster {cluster.name}",
            rule=f"is there already, with {found}",
            why="a cluster has one of that name, maybe for logs; this stack needs one with an "
            "endpoint of its own.",
            fix="let whoever made it collect the metrics as well, and write gpuobs:prometheus: "
            "{ azureMonitorWorkspace: { collect: false } }; or delete it first: "
            + delete_resource(association, DATA_COLLECTION_API),
        )


def _release(
    survey: Survey, request: SurveyRequest, cluster: Place, deployed: Container[str]
) -> Iterator[Finding]:
    link, records = survey.inside.private_link_name, survey.inside.release_records
    if not records or Own.RELEASE in deployed:
        return
    if all(is_own(record, request, deployed) for record in records):
        return  # removed by the update itself
    yield Fault(
        path=f"Helm release {PYROSCOPE_SERVICE} in namespace {NAMESPACE} of cluster {cluster.name}",
        rule="is there already" + (f", with the Private Link Service {link}" if link else ""),
        why="the agent sends to one Service of that name; Helm refuses a second release of it.",
        fix="remove it after its endpoint (its profiles go with it): "
        + in_cluster(cluster.id, "helm", "uninstall", PYROSCOPE_SERVICE, "--namespace", NAMESPACE),
    )


def _extension(
    settings: Settings, survey: Survey, cluster: Place, deployed: Container[str]
) -> Iterator[Finding]:
    found = survey.installed
    if own_extension(settings, survey, deployed):
        return  # imported by the update itself
    if found.presence is Presence.FOUND and Own.EXTENSION not in deployed:
        has_failed = found.provisioning_state == "Failed"
        said = f", and has failed: {found.message}" if has_failed and found.message else ""
        yield Fault(
            path=f"extension {found.name} of cluster {cluster.name}",
            rule=f"is installed already, by hand, from another stack or by a killed run{said}",
            why="a cluster has one extension of the agent's type, and Azure's provider does not "
            "create what exists.",
            fix="delete it; this stack installs it again: "
            + delete_resource(found.id, EXTENSION_API),
        )
    elif found.provisioning_state == "Failed" and Own.EXTENSION in deployed:
        said = f": {found.message}" if found.message else ""
        why = (
            f" Its chart carries the namespace {NAMESPACE}, which stays as long as Pyroscope is in "
            "it: nothing is lost."
            if found.not_removed
            else ""
        )
        yield (
            f"The extension {found.name} of cluster {cluster.name} is Failed, and the agent may "
            f"not run{said}.{why} docs/users/operating.md says what helps."
        )
    elif survey.inside.agent_by_hand and Own.EXTENSION not in deployed:
        yield Fault(
            path=f"Inspektor Gadget in namespace {NAMESPACE} of cluster {cluster.name}",
            rule="is installed without the extension",
            why="the extension's install fails on the objects that are there.",
            fix="remove it with the program that installed it (kubectl gadget undeploy), or: "
            + in_cluster(cluster.id, "kubectl", "delete", "namespace", NAMESPACE),
        )


def _namespace(
    settings: Settings, survey: Survey, cluster: Place, deployed: Container[str]
) -> Iterator[Finding]:
    if (
        not settings.cluster.create_namespace
        or not survey.inside.namespace
        or Own.NAMESPACE in deployed
    ):
        return
    if any(one.path == NAMESPACE_PATH for one in own_leftovers(settings, survey, deployed)):
        return
    yield Fault(
        path=f"namespace {NAMESPACE} of cluster {cluster.name}",
        rule="exists already",
        why="this stack would delete it at its end, with whatever somebody else has in it.",
        fix="take it over as it is, so that it stays at the end: write gpuobs:cluster: "
        "{ createNamespace: false }; or delete it after release and extension: "
        + in_cluster(cluster.id, "kubectl", "delete", "namespace", NAMESPACE),
    )


def _gpu_pool(
    settings: Settings,
    survey: Survey,
    request: SurveyRequest,
    cluster: Place,
    deployed: Container[str],
) -> Iterator[Finding]:
    found = _pool_in_the_way(settings, survey, deployed)
    if found is None or own_pool(settings, survey, request, deployed):
        return
    path = f"gpuobs:gpuPool.name (pool {found.name} of cluster {cluster.name})"
    why = "this stack makes a pool of its own, and Azure's provider does not create what exists."
    delete = delete_resource(agent_pool_id(cluster.id, found.name), MANAGED_CLUSTER_API)
    if _is_marked(found, request):
        failed = found.provisioning_state == "Failed"
        yield Fault(
            path=path,
            rule="is from an interrupted run of this stack, and "
            + ("has failed" if failed else "not what the settings ask for now"),
            why=why,
            fix=f"delete it: {delete}",
        )
        return
    yield Fault(
        path=path,
        rule="there is a pool of that name already",
        why=why,
        fix="use the one that is there: write gpuobs:gpuPool: { enabled: false }; or choose "
        f"another name; or, if an interrupted run of this stack has left it, delete it: {delete}",
    )
