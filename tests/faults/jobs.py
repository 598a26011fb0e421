"""The operations of a stack, each with a request and a world in which it has work to do."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from contract.messages.base import Verb
from contract.messages.leftovers import DAEMON_SETS, NAMESPACE_PATH, STACK_MARK
from simulator.values import JsonObject, as_object, as_objects, as_text, dig
from tests.engine.portal import Portal, portal_of, resource_group
from tests.faults.stage import PHASES, SEED, Stage
from tests.simulator.azure import Kubernetes

DEPLOYED: Final = "dev up"
PENDING: Final = "pending"
"""Deployed, but the connection waits for approval, and nothing is in Grafana."""
LEFT: Final = "left"
"""Nothing is deployed; a namespace and a device plugin with the stack's mark are in the cluster."""
CUT_OFF: Final = "cut off"
"""Deployed, and Helm was killed in the middle of an upgrade."""
STUCK: Final = "stuck"
"""Deployed, and Helm could not remove the extension, whose chart carries the namespace."""
EDITED: Final = "edited"
"""Deployed, and a person has edited the release's ConfigMap."""
SILENT: Final = frozenset(
    {
        Verb.HOLD_PRIVATE_LINK,
        Verb.HOLD_PROFILE_STORAGE,
        Verb.HOLD_SERVER,
        Verb.LEAVE_PROFILE_STORAGE,
    }
)
"""They ask nobody: they repeat their request."""
_STATES: Final = {Verb.REMOVE_LEFTOVERS: LEFT, Verb.AWAIT_PRIVATE_LINK_GONE: LEFT}
"""Of the commands with which a ``destroy`` ends: what is left is what they are about."""
_MOMENTS: Final = (("create", PENDING), ("update", DEPLOYED), ("delete", DEPLOYED))
"""When a command of a stack runs an operation, and in which world."""

_GROUP: Final = resource_group("rg-dev")
_CLUSTER: Final = f"{_GROUP}/providers/Microsoft.ContainerService/managedClusters/aks-dev"
_RELEASE: Final = "/releases/gadget/pyroscope"
_CONFIG_MAP: Final = "/api/v1/namespaces/gadget/configmaps/pyroscope-config"
_SECRETS: Final = "/api/v1/namespaces/gadget/secrets"
SURVEY: Final[JsonObject] = {
    "providerSubscriptionId": "11111111-1111-4111-8111-111111111111",
    "providerObjectId": "22222222-2222-4222-8222-222222222222",
    "namespaces": ["Microsoft.ContainerService", "Microsoft.Dashboard", "Microsoft.Network"],
    "clusterId": _CLUSTER,
    "extensionId": f"{_CLUSTER}/providers/Microsoft.KubernetesConfiguration/extensions/x",
    "grafanaId": f"{_GROUP}/providers/Microsoft.Dashboard/grafana/grafana-dev",
    "workspaceId": f"{_GROUP}/providers/Microsoft.Monitor/accounts/amw-dev",
    "collectionRuleId": f"{_GROUP}/providers/Microsoft.Insights/dataCollectionRules/x",
    "resourceGroup": "rg-dev",
    "gpuVmSize": "Standard_NC24ads_A100_v4",
    "lookInside": True,
    "listEndpoints": True,
}
STORAGE: Final[JsonObject] = {
    "clusterId": _CLUSTER,
    "namespace": "gadget",
    "pod": "pyroscope-0",
    "account": "profiles",
    "container": "profiles",
    "clientId": "33333333-3333-4333-8333-333333333333",
}


@dataclass(frozen=True)
class Job:
    """One run of one operation, on a kept state."""

    name: str
    verb: Verb
    request: str
    state: str
    observed: str = ""
    """What the engine says that was observed before."""


def jobs(stage: Stage) -> Iterator[Job]:
    """All of them; the states that they are run on are kept in ``stage``."""
    stage.begin(PHASES["destroy"])
    done = stage.sim.pulumi("stack", "export", "--show-secrets", "--stack", "dev")
    resources = as_objects(dig(json.loads(done.output), "deployment", "resources"))
    outputs = json.loads(stage.sim.pulumi("stack", "output", "--json", "--stack", "dev").output)
    found = {job.name: job for job in _commands(resources)}
    signal = json.dumps(as_object(outputs)["signalCheck"])
    yield from found.values()
    yield Job("check-signal", Verb.CHECK_SIGNAL, signal, DEPLOYED)
    yield Job("survey", Verb.SURVEY, json.dumps(SURVEY), DEPLOYED)
    yield Job("observe", Verb.OBSERVE, json.dumps(_observed(resources)), DEPLOYED)
    yield Job("kube-token", Verb.KUBE_TOKEN, "", DEPLOYED)
    storage = json.dumps(STORAGE)
    yield Job("await-profile-storage", Verb.AWAIT_PROFILE_STORAGE, storage, DEPLOYED)
    yield _cut_off(stage)
    yield _edited(stage)
    yield _stuck(stage)
    _make_pending(stage)
    leftovers = next(one for one in found.values() if one.verb is Verb.REMOVE_LEFTOVERS)
    named = _leave(stage, as_text(as_object(json.loads(leftovers.request))["mark"]))
    yield Job("clear-leftovers", Verb.CLEAR_LEFTOVERS, leftovers.request, LEFT, named)
    server = json.dumps({"clusterId": _CLUSTER, "namespace": "gadget"})
    yield Job("await-server-stopped", Verb.AWAIT_SERVER_STOPPED, server, LEFT)


def _commands(resources: Sequence[JsonObject]) -> Iterator[Job]:
    """What the stack's commands run."""
    for resource in resources:
        if as_text(resource["type"]) != "command:local:Command":
            continue
        inputs = as_object(resource.get("inputs"))
        name = as_text(resource["urn"]).rpartition("::")[2]
        for moment, state in _MOMENTS:
            command = as_text(inputs.get(moment)).split()
            if not command or (moment == "update" and inputs["update"] == inputs["create"]):
                continue
            verb = Verb(command[-1])
            if verb in SILENT or verb is Verb.CLEAR_LEFTOVERS:
                continue
            request = as_object(json.loads(as_text(inputs["stdin"])))
            if verb is Verb.RESTART_AGENT:
                request["settings"] = {"inspektor-gadget.config.daemonLogLevel": "debug"}
            on = _STATES.get(verb, state)
            yield Job(f"{verb} of {name}", verb, json.dumps(request), on)


def _observed(resources: Sequence[JsonObject]) -> JsonObject:
    """The request of ``observe``, from those that made the things."""
    request: JsonObject = {"dataSources": {}, "dashboards": {}}
    for resource in resources:
        inputs = as_object(resource.get("inputs"))
        name = as_text(resource["urn"]).rpartition("::")[2]
        match as_text(inputs.get("create")).split()[-1:]:
            case ["apply-data-source"]:
                as_object(request["dataSources"])[name] = json.loads(as_text(inputs["stdin"]))
            case ["apply-dashboard"]:
                as_object(request["dashboards"])[name] = json.loads(as_text(inputs["stdin"]))
            case ["approve-private-endpoint"]:
                request["approval"] = json.loads(as_text(inputs["stdin"]))
            case _:
                pass
    return request


# --- states -----------------------------------------------------------------------------------


def _make_pending(stage: Stage) -> None:
    stage.begin(PHASES["up"])
    then = {"status": 403, "body": {"error": {"code": "AuthorizationFailed", "message": "no"}}}
    path = ".*/privateEndpointConnections/[^/]+"
    stage.sim.faults(
        {"method": "PUT", "path": path, "caller": "gpuobs", "count": None, "then": then}
    )
    done = stage.run("up")
    assert not done.ok
    stage.sim.faults()
    stage.keep(PENDING)


def _cut_off(stage: Stage) -> Job:
    """``recover-release``, on a world in which it is needed."""
    stage.go_back(DEPLOYED)
    with portal_of(stage.sim) as portal:
        cluster = Kubernetes(portal, _CLUSTER)
        stage.sim.faults(
            {
                "method": "PUT",
                "path": f"/kubernetes/.*{_RELEASE}",
                "then": {"operation": {"status": "Canceled"}},
            }
        )
        values = as_object(as_object(cluster.call("GET", _RELEASE).json()).get("values"))
        body = {
            "chart": "oci://ghcr.io/grafana/helm-charts/pyroscope",
            "version": "1.15.0",
            "values": values,
        }
        answer = cluster.call("PUT", f"{_RELEASE}?upgrade=true", body)
        assert answer.status_code == 202, answer.text
        stage.sim.faults()
        listed = as_objects(as_object(cluster.call("GET", _SECRETS).json())["items"])
    metadata = [as_object(one["metadata"]) for one in listed]
    records = [
        {"name": one["name"], "uid": one["uid"], "status": dig(one, "labels", "status")}
        for one in metadata
        if as_text(dig(one, "labels", "status")).startswith("pending")
    ]
    assert len(records) == 1, metadata
    stage.keep(CUT_OFF)
    request = {"clusterId": _CLUSTER, "namespace": "gadget", "records": records}
    return Job("recover-release", Verb.RECOVER_RELEASE, json.dumps(request), CUT_OFF)


def _edited(stage: Stage) -> Job:
    """``repair-release``, on a world in which it is needed."""
    stage.go_back(DEPLOYED)
    with portal_of(stage.sim) as portal:
        Kubernetes(portal, _CLUSTER).edit(_CONFIG_MAP, {"data": {"config.yaml": "# by hand"}})
    stage.keep(EDITED)
    edited = {"path": _CONFIG_MAP, "name": "ConfigMap gadget/pyroscope-config", "seen": ""}
    request = {"clusterId": _CLUSTER, "objects": [edited]}
    return Job("repair-release", Verb.REPAIR_RELEASE, json.dumps(request), EDITED)


def _stuck(stage: Stage) -> Job:
    """``recover-extension``, on a world in which it is needed."""
    stage.go_back(SEED)
    stage.sim.control("POST", "settings", {"extensionChart": {"namespace": True}})
    done = stage.run("up")
    assert done.ok, done.output
    with portal_of(stage.sim) as portal:
        extension = portal.find("/extensions/inspektor-gadget")
        portal.call("DELETE", extension)
        stage.sim.control("POST", "advance", {"seconds": 3600})
        found = as_object(portal.call("GET", extension).json())
        assert dig(found, "properties", "provisioningState") == "Failed", found
    stage.keep(STUCK)
    stage.sim.control("POST", "settings", {"extensionChart": {}})
    request = {
        "clusterId": _CLUSTER,
        "namespace": "gadget",
        "extensionId": extension,
        "release": "inspektor-gadget",
        "seen": "1",
    }
    return Job("recover-extension", Verb.RECOVER_EXTENSION, json.dumps(request), STUCK)


def _leave(stage: Stage, mark: str) -> str:
    """Leave in the cluster what a killed run may leave; its paths and uids."""
    stage.go_back(SEED)
    with portal_of(stage.sim) as portal:
        made = [
            _made(portal, NAMESPACE_PATH, "v1", "Namespace", mark),
            _made(portal, f"{DAEMON_SETS}/nvidia-device-plugin-gpu", "apps/v1", "DaemonSet", mark),
        ]
    stage.keep(LEFT)
    return " ".join(made)


def _made(portal: Portal, path: str, version: str, kind: str, mark: str) -> str:
    collection, _, name = path.rpartition("/")
    body: JsonObject = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "annotations": {STACK_MARK: mark}},
    }
    if kind == "DaemonSet":
        labels = {"name": name}
        template = {"metadata": {"labels": labels}, "spec": {}}
        body["spec"] = {"selector": {"matchLabels": labels}, "template": template}
    answer = Kubernetes(portal, _CLUSTER).call("POST", collection, body)
    assert answer.status_code == 201, answer.text
    return f"{path}@{as_text(dig(as_object(answer.json()), 'metadata', 'uid'))}"
