"""What is in a cluster already, as its API server says: for the survey.

Facts only, and whatever could not be read is left out: a cluster whose API server does not answer
from here is surveyed as one that could not be looked into.
"""

import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from contract.agent import AGENT_DAEMON_SET, NAMESPACE, PYROSCOPE_SERVICE
from contract.json import Document, as_object, as_text
from contract.messages.leftovers import Leftover
from contract.messages.namespace import NamespaceRequest
from contract.messages.release import DriftedObject
from contract.messages.survey import DevicePluginFacts, InsideFacts, Presence, ReleaseRecord
from contract.microservices import ServerMode, service_name
from operations.errors import OperationError
from operations.kubernetes import Kubernetes
from operations.leftovers import marked
from operations.namespace import RELEASE_NAME, is_kept
from operations.release import LINK_NAME, latest_records, records
from operations.release_objects import drifted
from operations.session import Session

_PLUGIN_IMAGE = "k8s-device-plugin"
"""Part of the name of NVIDIA's image, in NVIDIA's registry, Microsoft's and mirrors of them."""
_OPERATOR_DEFINITION = "clusterpolicies.nvidia.com"
"""The GPU Operator's own kind (its chart: deployments/gpu-operator/crds)."""

_CONSTRAINTS = "/apis/constraints.gatekeeper.sh/v1beta1"
_NEEDED = ("noprivilege", "blockhostnamespace", "hostfilesystem", "allowedcapabilities")
"""Parts of the names of Azure Policy's constraint templates on what the agent's pods are."""

_API_SERVER = "the cluster's API server"

T = TypeVar("T")


def look_inside(session: Session, cluster_id: str, mark: str, *, admin: bool) -> InsideFacts:
    """The facts, with what carries ``mark``; ``UNREACHABLE`` where the server does not answer."""

    def look() -> tuple[Kubernetes, Document | None]:
        api = Kubernetes(session, cluster_id, admin=admin)
        return api, api.find(f"/api/v1/namespaces/{NAMESPACE}", "look up the namespace")

    try:
        api, namespace = session.clock.look(look, _API_SERVER)
    except OperationError:
        return InsideFacts(presence=Presence.UNREACHABLE)
    with ThreadPoolExecutor(4) as pool:
        plugins = pool.submit(_device_plugins, api)
        operator = pool.submit(_has_operator, api)
        policies = pool.submit(_denying_policies, api)
        own = pool.submit(_marked, api, mark)
        if namespace is None:
            releases, link, agent = (), "", None
        else:
            releases, link, agent = _records(api), _link_name(api), _agent(api)
        return InsideFacts(
            presence=Presence.FOUND,
            namespace=namespace is not None,
            release_records=releases,
            private_link_name=link,
            agent_by_hand=agent is not None
            and not agent.text("metadata", "annotations", RELEASE_NAME),
            marked=own.result(),
            namespace_empty=namespace is not None and not (releases or link or agent),
            device_plugins=plugins.result(),
            gpu_operator=operator.result(),
            policies=policies.result(),
        )


def look_at_deployed(
    session: Session, cluster_id: str, kept: NamespaceRequest | None, *, admin: bool
) -> InsideFacts:
    """What Helm has not finished of the release, and what was changed by hand.

    That is of the release, and of the namespace, which this stack has ``kept`` like this.
    """
    pending: tuple[ReleaseRecord, ...] = ()
    unkept = ""

    def look() -> tuple[DriftedObject, ...]:
        nonlocal pending, unkept
        api = Kubernetes(session, cluster_id, admin=admin)
        if kept is not None and not _unless_refused(partial(is_kept, api, kept), True):
            unkept = uuid.uuid4().hex
        pending, manifest = latest_records(api)
        return drifted(api, manifest)

    try:
        found, problem = session.clock.look(look, _API_SERVER), ""
    except OperationError as error:
        found, problem = (), error.sentence()
    return InsideFacts(
        presence=Presence.NOT_ASKED,
        release_records=pending,
        drifted=found,
        drift_problem=problem,
        unkept=unkept,
    )


def _unless_refused(probe: Callable[[], T], otherwise: T) -> T:
    try:
        return probe()
    except OperationError:
        return otherwise


def _records(api: Kubernetes) -> tuple[ReleaseRecord, ...]:
    return _unless_refused(lambda: records(api), ())


def _link_name(api: Kubernetes) -> str:
    """Name of the Private Link Service, of the one server's Service or of the query front end's."""
    for mode in ServerMode:
        path = f"/api/v1/namespaces/{NAMESPACE}/services/{service_name(PYROSCOPE_SERVICE, mode)}"
        found = _unless_refused(partial(api.find, path, "look up Pyroscope's Service"), None)
        if found and (name := found.text("metadata", "annotations", LINK_NAME)):
            return name
    return ""


def _agent(api: Kubernetes) -> Document | None:
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/{AGENT_DAEMON_SET}"
    return _unless_refused(lambda: api.find(path, "look up the agent"), None)


def _marked(api: Kubernetes, mark: str) -> tuple[Leftover, ...]:
    return tuple(_unless_refused(lambda: marked(api, mark), [])) if mark else ()


def _device_plugins(api: Kubernetes) -> tuple[DevicePluginFacts, ...]:
    def probe() -> Iterable[Document]:
        return api.get("/apis/apps/v1/daemonsets", "list the DaemonSets").children("items")

    return tuple(
        _device_plugin(one)
        for one in _unless_refused(probe, ())
        if any(
            _PLUGIN_IMAGE in container.text("image")
            for container in one.children("spec", "template", "spec", "containers")
        )
    )


def _device_plugin(daemon_set: Document) -> DevicePluginFacts:
    metadata, pod = daemon_set.child("metadata"), daemon_set.child("spec", "template", "spec")
    return DevicePluginFacts(
        name=f"{metadata.text('namespace')}/{metadata.text('name')}",
        node_selector=_texts(pod.value("nodeSelector")),
        tolerations=tuple(_texts(one.fields) for one in pod.children("tolerations")),
        has_affinity=bool(pod.child("affinity")),
    )


def _texts(value: object) -> dict[str, str]:
    return {key: text for key, one in as_object(value).items() if (text := as_text(one))}


def _has_operator(api: Kubernetes) -> bool:
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{_OPERATOR_DEFINITION}"
    found = _unless_refused(lambda: api.find(path, "look for the GPU Operator"), None)
    return found is not None


def _denying_policies(api: Kubernetes) -> tuple[str, ...]:
    """Constraints that deny, and do not leave the agent's namespace out."""

    def kinds() -> list[str]:
        found = api.find(_CONSTRAINTS, "list the policies") or Document({})
        names = (one.text("name") for one in found.children("resources"))
        return [one for one in names if "/" not in one and any(part in one for part in _NEEDED)]

    found: list[str] = []
    for kind in _unless_refused(kinds, []):
        path = f"{_CONSTRAINTS}/{kind}"
        listed = _unless_refused(lambda path=path: api.get(path, "list policies"), Document({}))
        for one in listed.children("items"):
            excluded = one.texts("spec", "match", "excludedNamespaces")
            if one.text("spec", "enforcementAction") == "deny" and NAMESPACE not in excluded:
                found.append(one.text("metadata", "name"))
    return tuple(sorted(found))
