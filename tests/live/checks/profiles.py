"""Profiles that last, and servers that are others': Blob, micro-services, a name, a token."""

import re
import time
from collections.abc import Callable
from typing import Final

from components.pyroscope_forwarder import LABELS, NAME, REPLICAS, ForwarderArgs, deployment_spec
from contract.agent import PYROSCOPE_PORT
from contract.azure import STACK_TAG
from contract.grafana import PERMISSIONS
from contract.images import FORWARDER, FORWARDER_TAG
from simulator.values import JsonObject, as_list, as_object, as_objects, as_text, dig
from tests.live.azure import Answer, CheckError, poll
from tests.live.check import Phase, Section, Verdict, check, fails, verdict
from tests.live.world import ACCOUNT, GRAFANA, NAMESPACE, World

_POD: Final = f"{NAMESPACE}/pods/pyroscope-0"
_HALF_AN_HOUR: Final = 1800
"""For which Helm waits for a server that keeps profiles in Blob."""
_NO_ROLE: Final = "AuthorizationPermissionMismatch"
_APPS: Final = f"/apis/apps/v1{NAMESPACE.removeprefix('/api/v1')}"
_SERVICE: Final = f"{NAMESPACE}/services/pyroscope"
_DISTRIBUTORS: Final = "pyroscope-distributor.gadget.svc.cluster.local"
_SMALL: Final = {
    "resources": {
        "requests": {"cpu": "50m", "memory": "256Mi"},
        "limits": {"cpu": "1", "memory": "2Gi"},
    }
}
"""Of each micro-service: enough for one workload, on the pool that is there."""
_COMPONENTS: Final = (
    *("distributor", "ingester", "queryFrontend", "queryScheduler"),
    *("querier", "storeGateway", "compactor"),
)


def _ready(pod: Answer) -> bool:
    conditions = as_objects(dig(pod.body, "status", "conditions"))
    return any((one.get("type"), one.get("status")) == ("Ready", "True") for one in conditions)


def _restarts(pod: Answer) -> int:
    containers = as_objects(dig(pod.body, "status", "containerStatuses"))
    return sum(int(str(one.get("restartCount") or 0)) for one in containers)


def _role(world: World) -> str:
    """ARM id of the assignment that lets the server write."""
    return as_text(world.named("profile-storage-role").get("id"))


def _await_ready(world: World) -> None:
    poll(
        lambda: _ready(world.kubernetes().call("GET", _POD)),
        what="the start of Pyroscope",
        seconds=_HALF_AN_HOUR,
        every=30,
    )


@check(
    "pods-get-into-blob",
    Section.STORAGE,
    Phase.DEPLOYED,
    assumption="Entra ID takes the token of `system:serviceaccount:gadget:pyroscope` for one of "
    "the stack's identity, and the identity's role on the container reaches Storage within half an "
    "hour; a server that came too early is started again by Kubernetes and then stays",
    otherwise="`pyroscope-start` says which of the two it is, in the words of the server's log; "
    "the release fails after 30 minutes, and the next `pulumi up` installs it again",
    by_hand="`kubectl get pod --namespace gadget pyroscope-0`: ready, whatever its restarts",
)
def gets_in(world: World) -> Verdict:
    """The server, which ends where it cannot read its container's properties, is ready."""
    pod = world.kubernetes().call("GET", _POD)
    if not pod.ok:
        raise CheckError(f"the server's pod: {pod.error}")
    role = world.arm.get(_role(world))
    since = as_text(dig(role, "properties", "createdOn"))
    seen = f"ready after {_restarts(pod)} restarts" if _ready(pod) else "not ready"
    return verdict(_ready(pod), f"pyroscope-0 is {seen}; its role is from {since}")


@check(
    "missing-role-ends-the-server",
    Section.STORAGE,
    Phase.CHANGED,
    assumption=f"A server whose role is missing ends at its start, and its log says `{_NO_ROLE}`; "
    "with the role it starts by itself",
    otherwise="`pyroscope-start` says nothing, and the release fails as not ready: "
    "`kubectl logs --namespace gadget pyroscope-0 --previous`",
    by_hand="delete the role assignment on the container, then the pod; put the role back",
)
def missing_role(world: World) -> Verdict:
    """Takes the role away, starts the server again until it misses it, and puts the role back."""
    assignment = _role(world)
    found = world.arm.get(assignment)
    kept = ("roleDefinitionId", "principalId", "principalType")
    properties = {name: dig(found, "properties", name) for name in kept}
    cluster = world.kubernetes()

    def misses() -> bool:
        for query in ("", "?previous=true"):
            if _NO_ROLE in cluster.call("GET", f"{_POD}/log{query}").text:
                return True
        # Storage forgets a role as late as it learns one.
        cluster.call("DELETE", _POD)
        return False

    world.arm.delete(assignment)
    try:
        poll(misses, what=f"{_NO_ROLE} in the server's log", seconds=_HALF_AN_HOUR, every=60)
    except CheckError as error:
        return fails(str(error))
    finally:
        world.arm.put(assignment, {"properties": properties})
        _await_ready(world)
    return verdict(True, f"without its role the server ends with {_NO_ROLE}, with it it starts")


@check(
    "account-is-found-by-its-tag",
    Section.STORAGE,
    Phase.DEPLOYED,
    assumption="A storage account shows the tag that it was made with, by which a later `pulumi "
    "up` of the stack takes its own account, and no other of that name, as the one it kept",
    otherwise="the account that a `destroy` left is refused as another's: name it as "
    "`blob.existing`",
    by_hand="`az resource show --ids ID-OF-THE-ACCOUNT`, `tags`",
)
def account_is_marked(world: World) -> Verdict:
    """Reads the account as a later run would."""
    account = world.arm.get(world.id_of(ACCOUNT))
    wanted = dig(world.resource(ACCOUNT), "inputs", "tags", STACK_TAG)
    seen = dig(account, "tags", STACK_TAG)
    return verdict(bool(seen) and seen == wanted, f"tag {STACK_TAG}: {seen!r}, given {wanted!r}")


@check(
    "retention-is-the-servers",
    Section.STORAGE,
    Phase.DEPLOYED,
    assumption="The server runs with the `retention` of the stack as "
    "`compactor_blocks_retention_period`, after which the compactor in it marks blocks, and "
    "deletes them 12 hours later",
    otherwise="the container only grows: a lifecycle rule of the account can delete old blobs",
    by_hand="in the server's `/api/v1/status/config`; what is deleted, only after that time, among "
    "the container's blobs",
)
def retention(world: World) -> Verdict:
    """The configuration that the running server shows."""
    uid = as_text(world.outputs("dataSourceUids").get("pyroscope"))
    path = f"/api/datasources/proxy/uid/{uid}/api/v1/status/config"
    answer = world.grafana().call("GET", path)
    if not answer.ok:
        raise CheckError(f"the server's configuration: {answer.error}")
    found = re.search(r"\"?compactor_blocks_retention_period\"?: *\"?(\w+)", answer.text)
    shown = found[1] if found else "nothing"
    # Prometheus' durations: 30 days may be shown as 4w2d.
    return verdict(shown in ("30d", "4w2d"), f"the server shows {shown}")


@check(
    "service-account-may-do-it",
    Section.GRAFANA,
    Phase.CHANGED,
    assumption="A token of a Grafana service account with the role Admin is taken as a bearer "
    "token, may do all that the program does on a Grafana of one's own, and "
    "`/api/access-control/user/actions` says so",
    otherwise="a preview lists the permissions that lack; give them to the service account by a "
    "role of your own",
    by_hand="`curl --header 'Authorization: Bearer TOKEN' "
    "https://GRAFANA/api/access-control/user/actions`",
)
def service_account(world: World) -> Verdict:
    """Lets the workspace have service accounts, makes one with a token, and asks with that."""
    workspace, grafana = world.id_of(GRAFANA), world.grafana()

    def allow(state: str) -> None:
        answer = world.arm.call("PATCH", workspace, {"properties": {"apiKey": state}})
        if not answer.ok:
            raise CheckError(f"service accounts {state.lower()}: {answer.error}")
        world.arm.settled(workspace)

    def made(path: str, body: JsonObject) -> JsonObject:
        answer = grafana.call("POST", path, body)
        if not answer.ok:
            raise CheckError(f"POST {path}: {answer.error}")
        return answer.body

    allow("Enabled")
    account = ""
    try:
        name = world.options.prefix
        body: JsonObject = {"name": name, "role": "Admin"}
        account = f"/api/serviceaccounts/{made('/api/serviceaccounts', body)['id']}"
        token = as_text(made(f"{account}/tokens", {"name": name}).get("key"))
        answer = grafana.call("GET", "/api/access-control/user/actions", token=token)
        if not answer.ok:
            return fails(f"the token's actions: {answer.error}")
        missing = [one for one in PERMISSIONS if answer.body.get(one) is not True]
        return verdict(not missing, f"not among its actions: {', '.join(missing) or 'none'}")
    finally:
        if account:
            grafana.call("DELETE", account)
        allow("Disabled")


def _pushed(world: World, since: float) -> bool:
    """Whether profiles of after ``since`` (of the Unix epoch) are shown through Grafana."""
    uid = as_text(world.outputs("dataSourceUids").get("pyroscope"))
    base = f"/api/datasources/proxy/uid/{uid}/querier.v1.QuerierService"
    window: JsonObject = {"start": int(since * 1000), "end": int(time.time() * 1000)}
    kinds = world.grafana().call("POST", f"{base}/ProfileTypes", window).items("profileTypes")
    malloc = [as_text(one.get("ID")) for one in kinds if one.get("sampleType") == "malloc"]
    for kind in malloc:
        body: JsonObject = {**window, "profileTypeID": kind, "labelSelector": "{}", "step": 15}
        series = world.grafana().call("POST", f"{base}/SelectSeries", body).items("series")
        if any(as_list(one.get("points")) for one in series):
            return True
    return False


def _arrives(world: World, how: str, meanwhile: Callable[[], None]) -> Verdict:
    """Whether a workload that begins after ``meanwhile`` is seen."""
    meanwhile()
    since = time.time()
    world.start_workload()
    try:
        poll(lambda: _pushed(world, since), what=f"a profile {how}", seconds=1200, every=30)
    except CheckError as error:
        return fails(str(error))
    return verdict(True, f"profiles of after the change arrive {how}")


@check(
    "distributors-take-the-agents-profiles",
    Section.AGENT,
    Phase.GPU,
    assumption="Micro-services find each other, the real agent's profiles get through the Service "
    "`pyroscope` to the distributors, and Grafana shows them through the query front end",
    otherwise="`python -m gpuobs check` names the link; `pyroscope.mode: single` goes back",
    by_hand="`pyroscope.mode: distributed`, `pulumi up`, the GPU workload again, "
    "`python -m gpuobs check`",
)
def distributed(world: World) -> Verdict:
    """Lets the stack run micro-services, each a small one, and starts the workload again."""

    def change() -> None:
        pyroscope = as_object(world.stack.settings["pyroscope"])
        components = dict.fromkeys(_COMPONENTS, _SMALL)
        mode = {**pyroscope, "mode": "distributed", "components": components}
        world.stack.change("pyroscope", mode)
        outcome = world.stack.up()
        if not outcome.ok:
            raise CheckError(f"pulumi up: {outcome.output.strip()[-300:]}")
        world.forget("state")

    return _arrives(world, "through the distributors", change)


def _agents_service(world: World) -> Answer:
    """The Service in front of the distributors."""
    found = world.kubernetes().call("GET", _SERVICE)
    kind = dig(found.body, "spec", "type")
    if not found.ok or kind != "ClusterIP":
        raise CheckError(f"the agents' Service is of type {kind}: {found.error}")
    return found


def _replace(world: World, service: Answer, spec: JsonObject) -> None:
    """Put another Service in its place, with its name and marks."""
    cluster = world.kubernetes()
    metadata = {
        key: dig(service.body, "metadata", key)
        for key in ("name", "namespace", "annotations", "labels")
        if dig(service.body, "metadata", key)
    }
    body = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    gone = cluster.call("DELETE", _SERVICE)
    made = cluster.call("POST", f"{NAMESPACE}/services", body)
    if not gone.ok or not made.ok:
        raise CheckError(f"the agents' Service: {(gone if not gone.ok else made).error}")


def _kept(service: Answer) -> JsonObject:
    """What of a Service's spec is not Kubernetes' own."""
    return {key: dig(service.body, "spec", key) for key in ("type", "selector", "ports")}


@check(
    "agent-follows-a-name",
    Section.AGENT,
    Phase.GPU,
    assumption="The real agent pushes through a Service `pyroscope` of type ExternalName, as it is "
    "for a Pyroscope of one's own (`pyroscope.existing`)",
    otherwise="nothing arrives; make the Service lead to the server's pods or endpoints by hand",
    by_hand="with micro-services, in place of the Service `pyroscope` one of type ExternalName for "
    f"`{_DISTRIBUTORS}`, and the GPU workload again",
)
def external_name(world: World) -> Verdict:
    """Puts a name in place of the agents' Service of micro-services, and the Service back."""
    service = _agents_service(world)
    name: JsonObject = {"type": "ExternalName", "externalName": _DISTRIBUTORS}
    try:
        return _arrives(
            world, f"by the name {_DISTRIBUTORS}", lambda: _replace(world, service, name)
        )
    finally:
        _replace(world, service, _kept(service))


@check(
    "forwarder-takes-the-agents-profiles",
    Section.AGENT,
    Phase.GPU,
    assumption=f"The image `{FORWARDER}:{FORWARDER_TAG}` starts as the stack runs it, with a "
    "header from a Secret, reads the real agent's profiles, and sends on what Pyroscope reads "
    "(`pyroscope.existing` with TLS, credentials or another port)",
    otherwise="nothing arrives, and the forwarder's log says why; run a proxy of plain gRPC, which "
    "does not decode, and name that in `pyroscope.existing`",
    by_hand="`kubectl logs --namespace gadget deployment/pyroscope-forwarder`; the server's "
    "profiles, after a GPU workload",
)
def forwarder(world: World) -> Verdict:
    """Puts a forwarder between the agents' Service and the distributors, and takes it away."""
    service, cluster = _agents_service(world), world.kubernetes()
    key, port = "authorization", PYROSCOPE_PORT
    to = ForwarderArgs(host=_DISTRIBUTORS, port=port, tls=False, secret=NAME, secret_key=key)
    objects: dict[str, JsonObject] = {
        f"{NAMESPACE}/secrets": {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": NAME},
            "stringData": {key: "Bearer not-a-token"},
        },
        f"{_APPS}/deployments": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": NAME, "labels": dict(LABELS)},
            "spec": deployment_spec(to),
        },
    }

    def starts() -> bool:
        found = cluster.call("GET", f"{_APPS}/deployments/{NAME}")
        return dig(found.body, "status", "readyReplicas") == REPLICAS

    through: JsonObject = {**_kept(service), "selector": dict(LABELS)}
    try:
        for path, body in objects.items():
            made = cluster.call("POST", path, body)
            if not made.ok:
                raise CheckError(f"{body['kind']} {NAME}: {made.error}")
        try:
            poll(starts, what="the start of the forwarder", seconds=600, every=10)
        except CheckError as error:
            return fails(str(error))
        return _arrives(world, "through the forwarder", lambda: _replace(world, service, through))
    finally:
        _replace(world, service, _kept(service))
        for path in objects:
            cluster.call("DELETE", f"{path}/{NAME}")


CHECKS = (
    gets_in,
    account_is_marked,
    retention,
    missing_role,
    service_account,
    distributed,
    external_name,
    forwarder,
)
