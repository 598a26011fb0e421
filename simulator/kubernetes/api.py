"""The API server of a simulated AKS cluster, at ``https://127.0.0.1:PORT/kubernetes/<cluster name>``.

Bearer tokens as in the kubeconfigs of ``listClusterUserCredential`` and ``listClusterAdminCredential``; a
cluster with Entra ID takes tokens of the audience ``6dae42f8-4368-4678-94ff-3960e28e3630`` instead of a
user's static one. No token or a wrong one: 401; no right: 403. A stopped cluster does not answer (503).
Errors are Kubernetes ``Status`` objects: ``{"kind": "Status", "status": "Failure", "code", "reason", "message"}``.

Objects, as in the real API (JSON; ``metadata.uid``, ``resourceVersion``, ``creationTimestamp`` are added)::

    GET    /version                                             {"gitVersion": "v1.33.2"}
    POST   /api/v1/namespaces                                    201; 409 AlreadyExists
    GET    /api/v1/namespaces[/<name>]                           200; 404 NotFound
    DELETE /api/v1/namespaces/<name>                             200, then phase Terminating until it is empty
    POST|GET       /apis/<group>/<version>/namespaces/<ns>/<plural>
    GET|PUT|PATCH|DELETE  .../<plural>/<name>                    (core: /api/v1/namespaces/<ns>/<plural>/<name>)

PATCH with ``application/merge-patch+json`` changes what exists; with ``application/apply-patch+yaml`` (a JSON
body) it creates or changes. Plurals served: namespaces, services, configmaps, serviceaccounts, secrets, pods,
events, persistentvolumeclaims, daemonsets, statefulsets, deployments, poddisruptionbudgets, podmonitors.
Anything else is 404. DaemonSets and StatefulSets get their ``status`` when their pods would be ready.

Helm releases (no real API has these; they stand for what the Helm library does on the client's side)::

    PUT    /releases/<namespace>/<name>    body below; install: 202 {release}
                                           404 namespace not found (without createNamespace)
                                           409 "cannot re-use a name that is still in use", also after a failed install
                                           404 chart or version not found
    PUT    ...?upgrade=true                upgrade: 202; 404 "release: not found"; 422 "... is immutable" / "updates to
                                           statefulset spec for fields other than ... are forbidden"
    GET    /releases/<namespace>/<name>    200 {release}; 404
    GET    /releases                       200 [release, ...]
    DELETE /releases/<namespace>/<name>    202 {release, status "uninstalling"}; gone (GET 404) when all objects are,
                                           which for the Service waits for the cloud controller's finalizer

    body    {"chart": "oci://ghcr.io/grafana/helm-charts/pyroscope", "repository": "", "version": "1.15.0",
             "values": {...}, "createNamespace": false, "timeout": 300, "atomic": false, "cleanupOnFail": false,
             "localChart": {"name", "version", "appVersion"}   (only for a chart of the file system)}
    release {"namespace", "name", "chart": "pyroscope", "version", "appVersion", "values", "revision": 1,
             "status": "pending-install" | "pending-upgrade" | "deployed" | "failed" | "uninstalling",
             "message": why it failed or what it waits for, "resources": ["v1/Service/gadget/pyroscope", ...]}

Poll GET until the status is no longer pending (install, upgrade) or until 404 (delete). A failed install stays as a
``failed`` release that must be deleted or upgraded. Waiting is included: ``deployed`` means pods ready and load
balancers addressed; after ``timeout`` simulated seconds without that, it is ``failed``.
"""

from simulator.http import Request, Response
from simulator.world import World


class KubernetesService:
    """The API servers of every cluster."""

    name = "kubernetes"

    def __init__(self, world: World) -> None:
        self._world = world

    def handle(self, request: Request) -> Response:
        """Answer one request; the path begins with the cluster's name."""
        return Response(404)
