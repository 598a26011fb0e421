"""The API server of a simulated AKS cluster: ``https://127.0.0.1:PORT/kubernetes/<cluster name>``.

Bearer tokens as in the kubeconfigs of ``listClusterUserCredential`` and
``listClusterAdminCredential``; a cluster with Entra ID takes tokens of the audience
``6dae42f8-4368-4678-94ff-3960e28e3630`` instead of a user's static one (what its groups may do is
not modelled; with Azure RBAC the role is checked). No token or a wrong one: 401; no right: 403. A
stopped cluster does not answer (503). Errors are Kubernetes ``Status`` objects: ``{"kind":
"Status", "status": "Failure", "code", "reason", "message"}``.

Objects, as in the real API (JSON; ``metadata.uid``, ``resourceVersion`` and ``creationTimestamp``
are added)::

    GET    /version                            {"gitVersion": "v1.33.3"}
    POST   /api/v1/namespaces                  201; 409 AlreadyExists
    GET    /api/v1/namespaces[/<name>]         200; 404 NotFound
    DELETE /api/v1/namespaces/<name>           200, then phase Terminating until it is empty
    POST|GET /apis/<group>/<version>/namespaces/<namespace>/<plural>
    GET|PUT|PATCH|DELETE .../<plural>/<name>   (core: /api/v1/namespaces/<namespace>/<plural>)
                                               DELETE with preconditions.uid of another: 409

    GET    /api/v1/namespaces/<namespace>/pods/<name>/log    what a crashed server wrote; else 400

PATCH with ``application/merge-patch+json`` changes what exists, with ``?dryRun=All`` only answers
what it would be; with
``application/apply-patch+yaml`` (a JSON body) it creates or changes. The plurals served are in
:data:`~simulator.kubernetes.kinds.KINDS`; anything else is 404. DaemonSets and StatefulSets get
their ``status`` when their pods would be ready.

Helm releases (no real API has these; they stand for what the Helm library does on the client's
side). Each revision has a Secret ``sh.helm.release.v1.<name>.v<revision>``, as Helm keeps its
records; who deletes the newest has made Helm forget that revision::

    PUT    /releases/<namespace>/<name>        install: 202 release
                                               404 namespace, chart or version not found
                                               409 cannot re-use a name that is still in use,
                                                   also after a failed install
    PUT    ...?upgrade=true                    upgrade: 202 release; 404 no such release;
                                               409 another operation is in progress;
                                               422 a change that a StatefulSet forbids
    GET    /releases/<namespace>/<name>        200 release; 404
    GET    /releases                           200 [release, ...]
    DELETE /releases/<namespace>/<name>        202 release, "uninstalling"; GET is 404 when all its
                                               objects are gone, which for the Service waits for
                                               the cloud controller; after ``?timeout=300`` it is
                                               "failed", and what is left stays; ``?wait=false``
                                               forgets the release at once, as `helm uninstall` does

The body of a PUT::

    {"chart": "oci://ghcr.io/grafana/helm-charts/pyroscope", "repository": "", "version": "1.15.0",
     "values": {...}, "createNamespace": false, "timeout": 300,
     "localChart": {"name", "version", "appVersion"}}     (only for a chart of the file system)

A release::

    {"namespace", "name", "chart": "pyroscope", "version", "appVersion", "values", "revision": 1,
     "source": {"chart", "repository"} as in the last PUT,
     "status": "pending-install" | "pending-upgrade" | "deployed" | "failed" | "uninstalling",
     "message": why it failed or what it waits for,
     "resources": ["v1/Service/gadget/pyroscope", ...]}

Poll GET until the status is no longer pending (install, upgrade) or until 404 (delete). A failed
install stays as a ``failed`` release that must be deleted or upgraded. Waiting is included:
``deployed`` means pods ready and load balancers addressed; after ``timeout`` simulated seconds
without that it is ``failed``.
"""

import re
from dataclasses import dataclass

from simulator.http import Request, Response
from simulator.kubernetes import admission, claims, pods, state, workloads
from simulator.kubernetes.authentication import Refusal, user_of
from simulator.kubernetes.controllers import Controllers
from simulator.kubernetes.helm import DEFAULT_TIMEOUT, Helm, HelmError
from simulator.kubernetes.kinds import CONSTRAINTS, KINDS, Kind
from simulator.values import (
    JsonObject,
    as_object,
    as_text,
    clone_object,
    dig,
    is_object,
    merge_patch,
)
from simulator.world import ClusterState, Resource, World

_IN = re.compile(r"([^,\s]+) in \(([^)]*)\)")
"""A requirement of a label selector that allows several values."""


class StatusError(Exception):
    """An answer of kind Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message

    def response(self) -> Response:
        """The Status object."""
        body: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        return Response(self.code, body)


@dataclass(frozen=True)
class _Target:
    """What a path of the API names."""

    kind: Kind
    plural: str
    namespace: str
    name: str

    def find(self, objects: ClusterState) -> JsonObject:
        found = state.find(objects, self.kind.kind, self.namespace, self.name)
        if found is None:
            raise StatusError(404, "NotFound", f'{self._resource} "{self.name}" not found')
        return found

    @property
    def _resource(self) -> str:
        group = self.kind.api_version.rpartition("/")[0]
        return f"{self.plural}.{group}" if group else self.plural

    def exists(self, name: str) -> StatusError:
        return StatusError(409, "AlreadyExists", f'{self._resource} "{name}" already exists')


class KubernetesService:
    """The API servers of every cluster."""

    name = "kubernetes"

    def __init__(self, world: World) -> None:
        self._world = world
        self._helm = Helm(world)
        self._controllers = Controllers(world, self._helm)

    def handle(self, request: Request) -> Response:
        """Answer one request; the path begins with the cluster's name."""
        try:
            return self._answer(request)
        except StatusError as error:
            return error.response()
        except HelmError as error:
            return StatusError(error.code, error.reason, error.message).response()

    def _answer(self, request: Request) -> Response:
        name, *path = request.segments or ("",)
        found = self._world.cluster_named(name)
        cluster = self._world.get(found[0]) if found else None
        if found is None or cluster is None:
            raise StatusError(404, "NotFound", f"no such host: the cluster {name!r} does not exist")
        if dig(cluster.properties, "powerState", "code") != "Running":
            raise StatusError(503, "ServiceUnavailable", f"the cluster {name} is stopped")
        cluster_id, objects = found
        self._authenticate(request, cluster_id)
        match path:
            case ["version"]:
                version = as_text(cluster.properties.get("currentKubernetesVersion"))
                major, minor = version.split(".")[:2]
                shown = {"major": major, "minor": minor, "gitVersion": f"v{version}"}
                return Response(200, shown)
            case ["apis", "constraints.gatekeeper.sh", "v1beta1"]:
                return Response(200, _constraint_kinds(objects))
            case ["releases"]:
                releases = [clone_object(item) for _, item in sorted(objects.releases.items())]
                return Response(200, releases)
            case ["releases", namespace, release]:
                return self._release(request, cluster_id, namespace, release)
            case ["api", "v1", "namespaces", namespace, "pods", pod, "log"]:
                return self._log(cluster_id, objects, namespace, pod)
            case _:
                target = _target(path)
                _admit(cluster, request, target)
                add_on = dig(cluster.properties, "azureMonitorProfile", "metrics", "enabled")
                if target.kind.kind == "PodMonitor" and add_on is not True:
                    # Its definition comes with the metrics add-on (extension_agent has the error
                    # that the extension meets without it).
                    raise StatusError(
                        404, "NotFound", "the server could not find the requested resource"
                    )
                return self._object(request, objects, target)

    def _authenticate(self, request: Request, cluster_id: str) -> None:
        user = user_of(self._world, cluster_id, request.bearer)
        if isinstance(user, Refusal):
            reason = "Unauthorized" if user.status == 401 else "Forbidden"
            raise StatusError(user.status, reason, user.message)

    def _log(self, cluster_id: str, objects: ClusterState, namespace: str, name: str) -> Response:
        """What a container that stops at its start has written; of others nothing is kept."""
        if state.find(objects, "Pod", namespace, name) is None:
            raise StatusError(404, "NotFound", f'pods "{name}" not found')
        owner = state.find(objects, "StatefulSet", namespace, name.rpartition("-")[0])
        reason = workloads.crash(self._world, cluster_id, objects, owner) if owner else ""
        if not reason.startswith(pods.CRASHED):
            raise StatusError(
                400, "BadRequest", f'previous terminated container in pod "{name}" not found'
            )
        return Response(
            200, reason.removeprefix(f"{pods.CRASHED}: "), {"Content-Type": "text/plain"}
        )

    # --- releases --------------------------------------------------------------------------------

    def _release(self, request: Request, cluster_id: str, namespace: str, name: str) -> Response:
        match request.method:
            case "GET":
                found = self._world.clusters[cluster_id].releases.get(f"{namespace}/{name}")
                if found is None:
                    raise StatusError(404, "NotFound", "release: not found")
                return Response(200, clone_object(found))
            case "PUT":
                act = self._helm.install
                if request.query.get("upgrade", "").lower() == "true":
                    act = self._helm.upgrade
                release = act(cluster_id, namespace, name, request.json_object())
                return Response(202, clone_object(release))
            case "DELETE":
                timeout = float(request.query.get("timeout") or DEFAULT_TIMEOUT)
                wait = request.query.get("wait") != "false"
                release = self._helm.uninstall(cluster_id, namespace, name, timeout, wait=wait)
                return Response(202, clone_object(release))
            case _:
                raise _not_allowed()

    # --- objects ---------------------------------------------------------------------------------

    def _object(self, request: Request, objects: ClusterState, target: _Target) -> Response:
        if not target.name:
            return self._collection(request, objects, target)
        match request.method:
            case "GET":
                return Response(200, clone_object(target.find(objects)))
            case "PUT":
                target.find(objects)
                return Response(200, self._store(objects, target, request.json_object()))
            case "PATCH":
                return self._patch(request, objects, target)
            case "DELETE":
                return self._delete(request, objects, target)
            case _:
                raise _not_allowed()

    def _collection(self, request: Request, objects: ClusterState, target: _Target) -> Response:
        if request.method == "GET":
            if target.kind.kind == "Event":
                items: list[JsonObject] = [
                    item for item in objects.events if target.namespace in ("", item["namespace"])
                ]
            else:
                items = objects.of_kind(target.kind.kind, target.namespace or None)
            wanted = _selector(request)
            listed = [clone_object(item) for item in items if _carries(item, wanted)]
            body: JsonObject = {
                "kind": f"{target.kind.kind}List",
                "apiVersion": target.kind.api_version,
                "metadata": {},
                "items": listed,
            }
            return Response(200, body)
        if request.method != "POST":
            raise _not_allowed()
        manifest = request.json_object()
        name = as_text(dig(manifest, "metadata", "name"))
        if not name:
            raise StatusError(422, "Invalid", "metadata.name: Required value: name is required")
        if state.find(objects, target.kind.kind, target.namespace, name) is not None:
            raise target.exists(name)
        named = _Target(target.kind, target.plural, target.namespace, name)
        return Response(201, self._store(objects, named, manifest))

    def _store(
        self, objects: ClusterState, target: _Target, manifest: JsonObject, *, keep: bool = True
    ) -> JsonObject:
        if (manifest.get("apiVersion"), manifest.get("kind")) != (
            target.kind.api_version,
            target.kind.kind,
        ):
            raise StatusError(
                400,
                "BadRequest",
                f"the object is a {manifest.get('apiVersion')} {manifest.get('kind')}, the path "
                f"wants {target.kind.api_version} {target.kind.kind}",
            )
        if manifest.get("kind") in (admission.POLICY, admission.BINDING):
            unmodelled = admission.problem(manifest)
            if unmodelled:
                raise StatusError(501, "NotImplemented", f"not modelled: {unmodelled}")
        described = state.metadata(manifest)
        described["name"] = target.name
        if target.kind.namespaced:
            self._check_namespace(objects, target)
            described["namespace"] = target.namespace
        for holder in ("annotations", "labels"):
            for key, value in as_object(described.get(holder)).items():
                if not isinstance(value, str):
                    raise StatusError(
                        400,
                        "BadRequest",
                        f"{target.kind.kind} in version {target.kind.api_version!r} cannot be "
                        "handled: json: cannot unmarshal into Go struct field "
                        f"ObjectMeta.metadata.{holder} of type string ({key})",
                    )
        present = state.find(objects, target.kind.kind, target.namespace, target.name)
        if target.kind.kind == "PersistentVolumeClaim" and present is not None:
            refusal = claims.refused(present, manifest)
            if refusal is not None:
                raise StatusError(*refusal)
        if not keep:
            return manifest
        stored = state.add(objects, manifest)
        self._world.touch()
        return clone_object(stored)

    def _check_namespace(self, objects: ClusterState, target: _Target) -> None:
        if state.find(objects, "Namespace", "", target.namespace) is None:
            raise StatusError(404, "NotFound", f'namespaces "{target.namespace}" not found')
        if state.is_terminating(objects, target.namespace):
            raise StatusError(
                403,
                "Forbidden",
                f'{target.plural} "{target.name}" is forbidden: unable to create new content in '
                f"namespace {target.namespace} because it is being terminated",
            )

    def _patch(self, request: Request, objects: ClusterState, target: _Target) -> Response:
        content = request.headers.get("content-type", "").partition(";")[0]
        dry_run = request.query.get("dryRun")
        if dry_run not in (None, "All"):
            raise StatusError(422, "Invalid", f"dryRun: Invalid value: {dry_run!r}")
        change = request.json()
        if not is_object(change):
            raise StatusError(400, "BadRequest", "the patch is not a JSON object")
        present = state.find(objects, target.kind.kind, target.namespace, target.name)
        if content == "application/apply-patch+yaml" and dry_run is not None:
            raise StatusError(501, "NotImplemented", "not modelled: dryRun of an applied object")
        if content == "application/apply-patch+yaml":
            merged = as_object(merge_patch(present or {}, change))
            stored = self._store(objects, target, merged)
            return Response(200 if present else 201, stored)
        if content not in (
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
        ):
            raise StatusError(415, "UnsupportedMediaType", f"the body of a patch is not {content}")
        merged = as_object(merge_patch(target.find(objects), change))
        return Response(200, self._store(objects, target, merged, keep=dry_run is None))

    def _delete(self, request: Request, objects: ClusterState, target: _Target) -> Response:
        manifest = target.find(objects)
        options = request.json_object() if request.body else {}
        _check_preconditions(as_object(options.get("preconditions")), manifest, target)
        if target.kind.kind == "Namespace":
            if target.name in state.SYSTEM_NAMESPACES:
                raise StatusError(
                    403,
                    "Forbidden",
                    f'namespaces "{target.name}" is forbidden: this namespace may not be deleted',
                )
            denied = admission.denial(objects, target.name)
            if denied is not None:
                raise StatusError(denied[0], "Forbidden", denied[1])
            state.metadata(manifest).setdefault("deletionTimestamp", state.now())
            manifest["status"] = {"phase": "Terminating"}
        else:
            if target.kind.kind == "Pod" and options.get("gracePeriodSeconds") == 0:
                pods.kill(self._world, manifest)
            state.remove(objects, manifest)
        self._world.touch()
        return Response(200, clone_object(manifest))


def _admit(cluster: Resource, request: Request, target: _Target) -> None:
    """What AKS Automatic's own policy denies, in its words (PerfKitBenchmarker 6795, AKS 5726)."""
    automatic = dig(cluster.body, "sku", "name") == "Automatic"
    if automatic and request.method != "GET" and target.namespace == "kube-system":
        policy = "aks-managed-protect-system-namespaces"
        raise StatusError(
            403,
            "Forbidden",
            f'{target.plural} "{target.name}" is forbidden: ValidatingAdmissionPolicy '
            f"'{policy}' with binding '{policy}-binding' denied request: Modification of "
            "resources in managed system namespaces is not allowed",
        )


def _constraint_kinds(objects: ClusterState) -> JsonObject:
    """The kinds of the Azure Policy add-on's constraints, where it is on."""
    found = [key for key in KINDS if key[0] == CONSTRAINTS]
    names = [plural for _, plural in found if objects.of_kind(admission.NO_PRIVILEGE)]
    if not names:
        raise StatusError(404, "NotFound", "the server could not find the requested resource")
    resources: list[JsonObject] = [
        {"name": name, "singularName": name, "namespaced": False, "kind": admission.NO_PRIVILEGE}
        for name in names
    ]
    return {"kind": "APIResourceList", "groupVersion": CONSTRAINTS, "resources": resources}


def _carries(manifest: JsonObject, wanted: dict[str, tuple[object, ...]]) -> bool:
    labels = as_object(dig(manifest, "metadata", "labels"))
    return all(labels.get(key) in values for key, values in wanted.items())


def _check_preconditions(wanted: JsonObject, manifest: JsonObject, target: _Target) -> None:
    """Of a deletion (k8s.io/apiserver: pkg/registry/generic/registry/store.go)."""
    described = state.metadata(manifest)
    for key, value in wanted.items():
        if described.get(key) != value:
            raise StatusError(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on {target.plural} "{target.name}": the {key} in '
                f"the precondition ({value}) does not match the {key} in record "
                f"({described.get(key)}). The object might have been deleted and then recreated",
            )


def _selector(request: Request) -> dict[str, tuple[object, ...]]:
    """The labels of ``labelSelector``; other ways to select are not modelled."""
    if "fieldSelector" in request.query:
        raise StatusError(501, "NotImplemented", "not modelled: fieldSelector")
    text = request.query.get("labelSelector", "")
    wanted: dict[str, tuple[object, ...]] = {}
    for key, values in _IN.findall(text):
        wanted[key] = tuple(value.strip() for value in values.split(","))
    for part in filter(None, _IN.sub("", text).split(",")):
        key, equals, value = part.replace("==", "=").partition("=")
        if not equals or key.endswith("!"):
            raise StatusError(501, "NotImplemented", f"not modelled: the selector {part!r}")
        wanted[key] = (value,)
    return wanted


def _target(path: list[str]) -> _Target:
    rest, version = path, ""
    match path:
        case ["api", "v1", *rest]:
            version = "v1"
        case ["apis", group, numbered, *rest]:
            version = f"{group}/{numbered}"
        case _:
            pass
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    plural, name = (rest[0], rest[1] if len(rest) == 2 else "") if rest else ("", "")
    kind = KINDS.get((version, plural))
    if kind is None or len(rest) > 2:
        raise StatusError(404, "NotFound", "the server could not find the requested resource")
    return _Target(kind, plural, namespace, name)


def _not_allowed() -> StatusError:
    return StatusError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )
