"""Keeping the namespace that the agent's extension and Pyroscope share.

The stack makes the namespace before the extension, and what the extension is made of is Azure's.
Two things can go wrong, and each is met without knowing which chart the extension has:

- Its chart may carry the namespace. Helm then refuses the install ("invalid ownership metadata"),
  unless the namespace carries the label and the annotations of the release's own objects
  (helm: pkg/action/validate.go). The kubernetes provider cannot write that label: it writes
  ``pulumi`` there (pulumi-kubernetes: provider/pkg/metadata/labels.go).
- A namespace that Helm took over goes with the release, and everything in it. Helm reads
  ``helm.sh/resource-policy: keep`` from the chart when it uninstalls (pkg/action/uninstall.go), and
  from the live object only when an upgrade drops it (pkg/kube/client.go). So a
  ValidatingAdmissionPolicy refuses to delete the namespace as long as Pyroscope's Service is in it,
  whoever asks. Its parameter is that Service; where it is gone, deleting is allowed.

Nothing here fails a deployment: where neither is possible, the extension's own install tells.
"""

from collections.abc import Callable, Mapping

from contract.agent import NAMESPACE
from contract.messages.leftovers import STACK_MARK
from contract.messages.namespace import KeptNamespace, NamespaceRequest
from operations.azure import is_absent
from operations.clock import GIVE_UP_AFTER, say
from operations.comparison import holds
from operations.errors import ExitCode, OperationError
from operations.kubernetes import Kubernetes
from operations.session import Session

DEADLINE = 120.0
"""Seconds for an API server that is busy."""

MANAGED_BY = "app.kubernetes.io/managed-by"
RELEASE_NAME = "meta.helm.sh/release-name"
RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
RESOURCE_POLICY = "helm.sh/resource-policy"

_ADMISSION = "admissionregistration.k8s.io/v1"


def keep(request: NamespaceRequest, session: Session) -> KeptNamespace:
    """Mark the namespace for the extension's release, and protect it while Pyroscope is in it."""

    def attempt() -> None:
        api = Kubernetes(session, request.cluster_id, admin=request.admin)
        if marks := _marks(request):
            path, name = _path(request.namespace), request.namespace
            api.merge(path, {"metadata": marks}, f"mark the namespace {name}")
        for path, manifest in _protection(request).items():
            api.apply(path, manifest, f"protect the namespace {request.namespace}")

    problem = _attempted(attempt, f"the namespace {request.namespace} to be protected", session)
    if problem is None:
        return KeptNamespace(namespace=request.namespace, protected=True)
    note = (
        f"the namespace {request.namespace} is not protected from being deleted with Pyroscope in "
        f"it: {problem.sentence()}"
    )
    say(f"note: {note}")
    return KeptNamespace(namespace=request.namespace, protected=False, note=note)


def release(request: NamespaceRequest, session: Session) -> KeptNamespace:
    """Take the protection away again; that it is gone already, or its cluster, is no failure."""

    def attempt() -> None:
        api = Kubernetes(session, request.cluster_id, admin=request.admin)
        remove_protection(api, request.namespace)

    problem = _attempted(attempt, f"the namespace {request.namespace} to be released", session)
    note = "" if problem is None else problem.sentence()
    if problem is not None and not is_absent(problem):
        say(f"note: the protection of the namespace {request.namespace} stays: {note}")
    return KeptNamespace(namespace=request.namespace, protected=False, note=note)


def remove_protection(api: Kubernetes, namespace: str = NAMESPACE) -> None:
    """Take the protection of ``namespace`` away, as far as it is there."""
    for path in reversed(_paths(namespace)):
        api.delete(path, f"take the protection of the namespace {namespace} away")


def is_kept(api: Kubernetes, request: NamespaceRequest) -> bool:
    """Whether it is marked and protected as :func:`keep` leaves it; so is one that is not there.

    Raises FORBIDDEN, UNREACHABLE, BUSY.
    """
    namespace = api.find(_path(request.namespace), f"look at the namespace {request.namespace}")
    if namespace is None:
        return True
    return holds(namespace.value("metadata"), _marks(request)) and all(
        (found := api.find(path, "look at its protection")) is not None
        and holds(found.fields, manifest)
        for path, manifest in _protection(request).items()
    )


def _attempted(attempt: Callable[[], None], what: str, session: Session) -> OperationError | None:
    """Why ``attempt`` did not work in the end."""
    try:
        session.clock.poll(
            attempt,
            what=what,
            within=session.within(DEADLINE),
            give_up_after={**GIVE_UP_AFTER, ExitCode.NOT_FOUND: 0.0, ExitCode.FORBIDDEN: 0.0},
        )
    except OperationError as error:
        return error
    return None


def _marks(request: NamespaceRequest) -> Mapping[str, object]:
    """What of its metadata says whose it is: this stack's, and of the extension's Helm release.

    With the second Helm takes the namespace for an object of that release.
    """
    annotations: dict[str, str] = {}
    if request.stack_mark is not None:
        annotations[STACK_MARK] = request.stack_mark
    if request.release is None:
        return {"annotations": annotations} if annotations else {}
    annotations |= {
        RELEASE_NAME: request.release,
        RELEASE_NAMESPACE: request.namespace,
        RESOURCE_POLICY: "keep",
    }
    return {"labels": {MANAGED_BY: "Helm"}, "annotations": annotations}


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}"


def _protection(request: NamespaceRequest) -> dict[str, Mapping[str, object]]:
    """The policy and its binding, by their paths, in the order in which they are made."""
    name = _protection_name(request.namespace)
    policy = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "v1", "kind": "Service"},
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["DELETE"],
                        "resources": ["namespaces"],
                        "resourceNames": [request.namespace],
                    }
                ]
            },
            "validations": [
                {
                    "expression": "false",
                    "message": f"{request.namespace} holds {request.service} with its profiles, "
                    "disk and private link; `pulumi destroy` removes them, and then the namespace",
                    "reason": "Forbidden",
                }
            ],
        },
    }
    binding = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "paramRef": {
                "name": request.service,
                "namespace": request.namespace,
                "parameterNotFoundAction": "Allow",
            },
        },
    }
    return dict(zip(_paths(request.namespace), (policy, binding), strict=True))


def _protection_name(namespace: str) -> str:
    return f"gpuobs-keep-{namespace}"


def _paths(namespace: str) -> tuple[str, str]:
    root, name = f"/apis/{_ADMISSION}", _protection_name(namespace)
    return (
        f"{root}/validatingadmissionpolicies/{name}",
        f"{root}/validatingadmissionpolicybindings/{name}",
    )
