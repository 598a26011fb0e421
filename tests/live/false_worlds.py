"""For each check a world in which its assumption is false.

Each is a function from the world to rules of a fault plan (:mod:`simulator.faults`), by which the
simulated Azure answers something else; where the check looks at a run of the engine rather than at
Azure, it puts another run in its place.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from simulator.values import JsonObject, as_object, as_objects, as_text, bury, clone_object
from tests.engine.simulation import Outcome
from tests.live.world import ENDPOINT, World

Rules = list[JsonObject]
FalseWorld = Callable[[World], Rules]


def rule(service: str, method: str, path: str, then: JsonObject, first: int = 1) -> JsonObject:
    """A rule for every call from the ``first`` on."""
    return {
        "service": service,
        "method": method,
        "path": f".*{path}",
        "from": first,
        "count": None,
        "then": then,
    }


def patched(service: str, path: str, patch: JsonObject) -> FalseWorld:
    """Reading ``path`` answers something else."""
    return lambda world: [rule(service, "GET", path, {"patch": patch})]


def refused(service: str, method: str, path: str, status: int) -> FalseWorld:
    """The call is refused."""
    error = {"error": {"code": "Refused", "message": "a false world"}, "message": "a false world"}
    return lambda world: [rule(service, method, path, {"status": status, "body": error})]


def answered(service: str, method: str, path: str, body: JsonObject) -> FalseWorld:
    """The call is answered by ``body``."""
    return lambda world: [rule(service, method, path, {"status": 200, "body": body})]


def _without_marks(world: World) -> Rules:
    service = clone_object(world.arm.get(world.private_link))
    for one in as_objects(as_object(service["properties"])["privateEndpointConnections"]):
        bury(one, "", "properties", "privateLinkServiceConnectionState", "description")
    patch: JsonObject = {"properties": service["properties"]}
    return [rule("arm", "GET", world.private_link, {"patch": patch})]


def _without_address(world: World) -> Rules:
    patch: JsonObject = {"properties": {"privateLinkServicePrivateIP": None}}
    return [rule("arm", "GET", world.id_of(ENDPOINT), {"patch": patch})]


def _other_providers(world: World) -> Rules:
    resources = [clone_object(one) for one in world.stack.resources()]
    for one in resources:
        if as_text(one.get("type")) == "pulumi:providers:command":
            bury(one, "0.9.0", "inputs", "version")
    world.keep("state", resources)
    return []


def _failed_release(world: World) -> Rules:
    resources = [clone_object(one) for one in world.stack.resources()]
    for one in resources:
        if as_text(one.get("type")) == "kubernetes:helm.sh/v3:Release":
            bury(one, "failed", "outputs", "status", "status")
    world.keep("state", resources)
    return []


def _slow_steps(world: World) -> Rules:
    outcome = world.once("up", world.stack.up)
    slow: Outcome = replace(
        outcome, steps=tuple(replace(one, seconds=900.0) for one in outcome.steps)
    )
    world.keep("up", slow)
    return []


def _release_is_no_obstacle(world: World) -> Rules:
    world.keep("destroy without release", Outcome(0, "Destroyed"))
    return []


_CONNECTION = "/privateEndpointConnections/[^/]+"
_QUERIER = "/querier.v1.QuerierService/ProfileTypes"
_SOURCE = "/api/datasources/uid/[^/]+"
_NAMESPACE = "/api/v1/namespaces/gadget"
_NO_METRICS = answered(
    "grafana", "POST", "/api/ds/query", {"results": {"A": {"status": 200, "frames": []}}}
)
_NOTHING_ARRIVES = answered("grafana", "POST", _QUERIER, {"profileTypes": []})

FALSE_WORLDS: Mapping[str, FalseWorld] = {
    "role-assignments-by-filter": patched("arm", "/roleAssignments", {"value": []}),
    "permissions-of-the-caller": patched("arm", "/permissions", {"value": []}),
    "user-credentials-with-entra-id": refused("kubernetes", "GET", _NAMESPACE, 401),
    "cluster-update-leaves-pools-alone": patched(
        "arm", "/agentPools", {"value": [{"name": "system"}]}
    ),
    "cluster-update-without-a-pool-list": refused("arm", "PUT", "/managedClusters/[^/]+", 400),
    "autoscaled-pool-wants-its-own-count": lambda world: [
        rule("arm", "PUT", "/agentPools/scaleprobe", {"status": 200, "body": {}}, first=2)
    ],
    "spot-pool-is-marked": patched(
        "arm", "/agentPools/spotprobe", {"properties": {"nodeTaints": []}}
    ),
    "pool-is-answered-as-sent": patched(
        "arm", "/agentPools/gpu", {"properties": {"nodeTaints": ["other=taint:NoSchedule"]}}
    ),
    "pod-monitors-are-known": refused("kubernetes", "GET", "/podmonitors", 404),
    "metrics-arrive-without-own-endpoint": _NO_METRICS,
    "restarts-are-collected": _NO_METRICS,
    "ends-are-counted": _NO_METRICS,
    "overrides-are-read-while-it-runs": answered("grafana", "GET", "/runtime_config", {}),
    "collection-rules-can-be-read": patched(
        "arm", "/dataCollectionRuleAssociations", {"value": []}
    ),
    "extension-release-is-named-like-it": patched(
        "kubernetes",
        "/daemonsets/gadget",
        {"metadata": {"annotations": {"meta.helm.sh/release-name": "azure-gadget"}}},
    ),
    "extension-leaves-its-namespace": refused("kubernetes", "GET", _NAMESPACE, 404),
    "extension-is-updated-in-place": patched(
        "arm",
        "/extensions/inspektor-gadget",
        {"properties": {"configurationSettings": {"inspektor-gadget.config.daemonLogLevel": "i"}}},
    ),
    "agent-and-server-speak-one-encoding": _NOTHING_ARRIVES,
    "link-is-in-the-node-group": refused("arm", "GET", "/privateLinkServices/[^/]+", 404),
    "endpoint-name": patched(
        "arm",
        "/privateLinkServices/[^/]+",
        {"properties": {"privateEndpointConnections": [{"properties": {"privateEndpoint": {}}}]}},
    ),
    "descriptions-are-kept": _without_marks,
    "request-message-is-shown": patched(
        "arm",
        _CONNECTION,
        {"properties": {"privateLinkServiceConnectionState": {"description": ""}}},
    ),
    # The simulated Azure refuses, as the real one was reported to: false as it is.
    "approved-connection-takes-a-description": lambda world: [],
    "endpoint-in-another-region": refused("arm", "PUT", "/probe-r", 400),
    "address-after-refresh": _without_address,
    "rejected-is-final": patched(
        "arm", "/probe-j", {"properties": {"connectionState": {"status": "Approved"}}}
    ),
    # At latency 0 every operation is over when the next call comes.
    "one-operation-at-a-time": lambda world: [],
    "grafana-takes-entra-tokens": refused("grafana", "GET", _SOURCE, 401),
    "versions-keep-their-message": patched(
        "grafana", "/versions", {"versions": [{"version": 1, "message": ""}]}
    ),
    "json-data-keeps-unknown-keys": patched("grafana", _SOURCE, {"jsonData": {"gpuobs": None}}),
    "metrics-plugin-from-13-on": patched("grafana", _SOURCE, {"type": "prometheus"}),
    "proxy-passes-posts": refused("grafana", "POST", _QUERIER, 404),
    "pods-get-into-blob": patched(
        "kubernetes", "/pods/pyroscope-0", {"status": {"conditions": []}}
    ),
    "missing-role-ends-the-server": answered("kubernetes", "GET", "/pods/pyroscope-0/log", {}),
    "account-is-found-by-its-tag": patched(
        "arm", "/storageAccounts/[^/]+", {"tags": {"gpuobs-stack": None}}
    ),
    "retention-is-the-servers": answered("grafana", "GET", "/api/v1/status/config", {}),
    "service-account-may-do-it": answered(
        "grafana", "GET", "/api/access-control/user/actions", {"datasources:read": True}
    ),
    "distributors-take-the-agents-profiles": _NOTHING_ARRIVES,
    "agent-follows-a-name": _NOTHING_ARRIVES,
    "forwarder-takes-the-agents-profiles": _NOTHING_ARRIVES,
    "providers-are-the-pinned-ones": _other_providers,
    "chart-can-be-pulled": _failed_release,
    "steps-keep-their-limits": _slow_steps,
    "removed-release-stops-destroy": _release_is_no_obstacle,
}

TRUE_WORLDS: Mapping[str, FalseWorld] = {
    "approved-connection-takes-a-description": lambda world: [
        rule("arm", "PUT", _CONNECTION, {"status": 200, "body": {}}, first=2),
        rule(
            "arm",
            "GET",
            _CONNECTION,
            {
                "patch": {
                    "properties": {"privateLinkServiceConnectionState": {"description": "second"}}
                }
            },
        ),
    ],
}
"""Where the simulated Azure itself is the false world: what makes it the true one."""
