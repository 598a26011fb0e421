"""The cluster, its node pools, and the way of the metrics."""

from simulator.values import JsonObject, as_object, as_objects, as_text, dig, texts
from tests.engine.simulation import Outcome
from tests.live.azure import CheckError
from tests.live.check import Phase, Section, Verdict, check, fails, unknown, verdict
from tests.live.world import CLUSTER, EXTENSION, POOL, RULE, World

_SMALL = "Standard_D2s_v5"
_SPOT = "kubernetes.azure.com/scalesetpriority"
_AGENT_MONITORS = "/apis/azmonitoring.coreos.com/v1/namespaces/gadget/podmonitors"


def changed(world: World) -> Outcome:
    """The run of ``up`` that changes a tag of the cluster and a setting of the agent."""

    def up() -> Outcome:
        azure = {**as_object(world.stack.settings["azure"]), "tags": {"checked": "yes"}}
        world.stack.change("azure", azure)
        settings = {"inspektor-gadget.config.daemonLogLevel": "debug"}
        world.stack.change("inspektorGadget", {"settings": settings})
        outcome = world.stack.up()
        if not outcome.ok:
            raise CheckError(f"pulumi up: {outcome.output.strip()[-300:]}")
        return outcome

    return world.once("changed", up)


def _empty_pool(world: World, name: str, fields: JsonObject) -> str:
    """Make a node pool without nodes, which costs nothing; its id."""
    path = f"{world.id_of(CLUSTER)}/agentPools/{name}"
    pool = {"count": 0, "vmSize": _SMALL, "mode": "User", "osType": "Linux", **fields}
    world.arm.put(path, {"properties": pool})
    return path


@check(
    "cluster-update-leaves-pools-alone",
    Section.CLUSTER,
    Phase.CHANGED,
    assumption="An update of a cluster made here, with its one inline pool, leaves the other pools "
    "alone (pulumi-azure-native 1686)",
    otherwise="the pool would be gone from Azure and come back with `pulumi up --refresh`",
    by_hand="change a tag of a sandbox; `az aks nodepool list --cluster-name CLUSTER "
    "--resource-group GROUP`",
)
def cluster_update(world: World) -> Verdict:
    """Adds a pool without nodes, changes a tag of the cluster with ``pulumi up``, looks again."""
    path = _empty_pool(world, "probe", {})
    try:
        outcome = changed(world)
        if outcome.ops().get("cluster-cluster") != "update":
            return unknown(f"the tag updated no cluster: {outcome.ops()}")
        left = world.arm.list(f"{world.id_of(CLUSTER)}/agentPools")
        names = sorted(as_text(one.get("name")) for one in left)
        return verdict("probe" in names, f"after the update the pools are {', '.join(names)}")
    finally:
        world.arm.delete(path)


@check(
    "cluster-update-without-a-pool-list",
    Section.CLUSTER,
    Phase.CHANGED,
    assumption="An update of a cluster made here whose system pool somebody gave to the autoscaler "
    "names no pool, and leaves all as they are (AKS 2495)",
    otherwise="AKS refuses the update and says why; take the pool back from the autoscaler: "
    "`az aks nodepool update --cluster-name CLUSTER --resource-group GROUP --name POOL "
    "--disable-cluster-autoscaler`",
    by_hand="in a sandbox: enable the autoscaler on pool `system`, change a tag, `pulumi up`",
)
def cluster_update_without_list(world: World) -> Verdict:
    """Sends the cluster as it is, without its list of pools."""
    path = world.id_of(CLUSTER)
    found = world.arm.get(path)
    properties = as_object(found["properties"])
    before = as_objects(properties.pop("agentPoolProfiles"))
    kept = ("location", "identity", "sku", "tags")
    body = {key: found[key] for key in kept if key in found}
    identity = as_object(body.get("identity"))
    body["identity"] = {"type": identity.get("type")}
    answer = world.arm.call("PUT", path, {**body, "properties": properties})
    if not answer.ok:
        return fails(answer.error)
    after = as_objects(dig(world.arm.settled(path), "properties", "agentPoolProfiles"))
    counts = [(as_text(one["name"]), one["count"]) for one in after]
    same = counts == [(as_text(one["name"]), one["count"]) for one in before]
    return verdict(same, f"the pools are {counts}")


@check(
    "autoscaled-pool-wants-its-own-count",
    Section.CLUSTER,
    Phase.CHANGED,
    assumption="With the autoscaler on, AKS takes another number of nodes than the pool has for "
    "scaling by hand and refuses it (AKS 1627, terraform-provider-azurerm 4543)",
    otherwise="nothing to do: the present number is sent",
    by_hand="an autoscaled pool, as `az rest --method get --url "
    "'CLUSTER-ID/agentPools/POOL?api-version=2025-07-01'` shows it, put there with another `count`",
)
def autoscaled_pool(world: World) -> Verdict:
    """Makes an autoscaled pool without nodes, and asks for one."""
    limits: JsonObject = {"enableAutoScaling": True, "minCount": 0, "maxCount": 2}
    path = _empty_pool(world, "scaleprobe", limits)
    pool = {"count": 1, "vmSize": _SMALL, "mode": "User", "osType": "Linux", **limits}
    try:
        answer = world.arm.call("PUT", path, {"properties": pool})
        if answer.ok:
            world.arm.settled(path)
            return fails("AKS takes another number of nodes")
        return verdict("manually scale" in answer.error, answer.error)
    finally:
        world.arm.delete(path)


@check(
    "spot-pool-is-marked",
    Section.CLUSTER,
    Phase.CHANGED,
    assumption=f"Azure gives every Spot pool the taint `{_SPOT}=spot:NoSchedule` and the label "
    f"`{_SPOT}: spot`, which this program declares too",
    otherwise="a diff at the second `up` names the property",
    by_hand="`az aks nodepool show --cluster-name CLUSTER --resource-group GROUP --name POOL "
    "--query '[nodeTaints, nodeLabels]'` of a Spot pool",
)
def spot_pool(world: World) -> Verdict:
    """Makes a Spot pool without nodes and without that taint, and reads it back."""
    path = _empty_pool(
        world, "spotprobe", {"scaleSetPriority": "Spot", "scaleSetEvictionPolicy": "Delete"}
    )
    try:
        pool = as_object(world.arm.get(path)["properties"])
        taints, labels = texts(pool.get("nodeTaints")), as_object(pool.get("nodeLabels"))
        marked = f"{_SPOT}=spot:NoSchedule" in taints and labels.get(_SPOT) == "spot"
        return verdict(marked, f"taints {taints}, labels {labels}")
    finally:
        world.arm.delete(path)


@check(
    "pool-is-answered-as-sent",
    Section.CLUSTER,
    Phase.GPU,
    assumption="AKS answers a pool with what was sent: taints, labels, `gpuProfile.driver`, count",
    otherwise="a diff at the second `up` names the property",
    by_hand="`pulumi up` twice, then `pulumi up --refresh`; all but the first change nothing",
)
def pool_as_sent(world: World) -> Verdict:
    """A preview with refresh, after the GPU pool was made, changes nothing about it."""
    world.resource(POOL)
    preview = world.once("pool again", lambda: world.stack.preview("--refresh"))
    if not preview.ok:
        return unknown(preview.output.strip()[-300:])
    steps = [one for one in preview.changes if one.type == POOL]
    seen = "; ".join(f"{one}: {', '.join(one.diffs)}" for one in steps)
    return verdict(not steps, seen or "a preview with refresh changes nothing of the pool")


@check(
    "pod-monitors-are-known",
    Section.CLUSTER,
    Phase.DEPLOYED,
    assumption="The agent's `PodMonitor` kind is in the cluster when the metrics add-on is on; on "
    "a new cluster it may come some minutes late",
    otherwise='the extension fails with `no matches for kind "PodMonitor"`; the next `up` deletes '
    "and installs it again",
    by_hand="`kubectl get crd podmonitors.azmonitoring.coreos.com`",
)
def pod_monitors(world: World) -> Verdict:
    """The agent's own PodMonitor is there."""
    answer = world.kubernetes().call("GET", _AGENT_MONITORS)
    if not answer.ok:
        return fails(f"PodMonitors cannot be listed: {answer.error}")
    extension = world.arm.get(world.id_of(EXTENSION))
    state = dig(extension, "properties", "provisioningState")
    found = len(answer.items("items"))
    return verdict(found > 0, f"{found} PodMonitors in namespace gadget; the extension is {state}")


@check(
    "metrics-arrive-without-own-endpoint",
    Section.CLUSTER,
    Phase.GPU,
    assumption="A public cluster in the workspace's region needs no collection endpoint of its "
    "own; otherwise one in the cluster's region under the name `configurationAccessEndpoint`",
    otherwise="no metrics; `python -m gpuobs check` stops at `metrics`. Where the cluster has an "
    "association of that name already, Azure's provider says `cannot create already existing "
    "resource`: write `collect: false` and keep yours",
    by_hand="`kubectl logs --namespace kube-system deployment/ama-metrics --all-containers`",
)
def metrics_arrive(world: World) -> Verdict:
    """The signal check finds the agent's metrics in the workspace."""
    links = world.signal()
    if "metrics" not in links:
        saw = "; ".join(f"{name}: {text}" for name, (ok, text) in links.items() if not ok)
        return unknown(f"the signal check does not get as far as the metrics: {saw}")
    ok, saw = links["metrics"]
    return verdict(ok, saw)


@check(
    "collection-rules-can-be-read",
    Section.CLUSTER,
    Phase.DEPLOYED,
    assumption="A rule that somebody else made from the cluster to the workspace can be read, so "
    "that no second one is made (metrics taken in twice)",
    otherwise="a second one is made: write `collect: false`",
    by_hand="`az rest --method get --url 'CLUSTER-ID/providers/Microsoft.Insights/"
    "dataCollectionRuleAssociations?api-version=2022-06-01'`",
)
def collection_rules(world: World) -> Verdict:
    """The cluster's associations name the rule, and the rule its workspace."""
    path = f"{world.id_of(CLUSTER)}/providers/Microsoft.Insights/dataCollectionRuleAssociations"
    rules = [
        as_text(dig(one, "properties", "dataCollectionRuleId")) for one in world.arm.list(path)
    ]
    wanted = world.id_of(RULE).lower()
    if wanted not in [rule.lower() for rule in rules]:
        return fails(f"the associations of the cluster name {[rule for rule in rules if rule]}")
    rule = world.arm.get(wanted)
    accounts = as_objects(dig(rule, "properties", "destinations", "monitoringAccounts"))
    return verdict(bool(accounts), f"the rule is read, with {len(accounts)} workspaces")


CHECKS = (
    cluster_update,
    cluster_update_without_list,
    autoscaled_pool,
    spot_pool,
    pool_as_sent,
    pod_monitors,
    metrics_arrive,
    collection_rules,
)
