"""The objects of Pyroscope's release: which ones somebody has changed, and putting them back.

Neither Helm nor Pulumi's provider compares what was rendered with what is there; Helm does so only
when a value changes (helm.sh/helm/v3: pkg/kube/client.go). What it rendered is in its own record of
the revision, so that is what the live objects are held against, and nothing is rendered again.

What differs is decided by the API server: it is asked what it would make of the rendered object
(``dryRun=All``), with its own defaults and spellings. Fields that the chart does not set are left
alone, but lists are the chart's as a whole: a container that was added goes.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

from contract.agent import NAMESPACE, PYROSCOPE_SERVICE
from contract.json import Document, as_object, is_list, is_object
from contract.messages.release import DriftedObject, RepairedRelease, RepairRequest
from operations.clock import GIVE_UP_AFTER, say
from operations.comparison import changes, holds
from operations.errors import ExitCode, OperationError
from operations.kubernetes import Kubernetes
from operations.namespace import RELEASE_NAME, RELEASE_NAMESPACE
from operations.session import Session

DEADLINE = 120.0
"""Seconds for an API server that is busy."""

_PATHS: Final[Mapping[tuple[str, str], str]] = {
    ("v1", "ConfigMap"): "configmaps",
    ("v1", "Service"): "services",
    ("v1", "ServiceAccount"): "serviceaccounts",
    ("apps/v1", "Deployment"): "deployments",
    ("apps/v1", "StatefulSet"): "statefulsets",
    ("policy/v1", "PodDisruptionBudget"): "poddisruptionbudgets",
    ("rbac.authorization.k8s.io/v1", "Role"): "roles",
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): "rolebindings",
}
"""What is looked at: the kinds of the public chart. Secrets are not read."""
_OF_THE_SERVER: Final = frozenset({"managedFields", "resourceVersion", "generation"})
"""What of ``metadata`` changes with every change."""
_SHOWN: Final = 5
"""Fields of an object that are named."""
_THREADS: Final = 4


@dataclass(frozen=True)
class _Rendered:
    """An object as Helm rendered it."""

    path: str
    manifest: Mapping[str, object]

    @property
    def name(self) -> str:
        return f"{self.manifest.get('kind')} {NAMESPACE}/{self.path.rpartition('/')[2]}"


def drifted(api: Kubernetes, manifest: str) -> tuple[DriftedObject, ...]:
    """The objects that are not as ``manifest``, Helm's of the deployed revision, says.

    Raises FORBIDDEN, UNREACHABLE, BUSY; REJECTED where the API server would not take an object.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        found = pool.map(partial(_drifted, api), _rendered(manifest))
        return tuple(one for one in found if one is not None)


def _drifted(api: Kubernetes, rendered: _Rendered) -> DriftedObject | None:
    found = api.find(rendered.path, f"look at {rendered.name}")
    if found is None:
        return DriftedObject(path=rendered.path, name=rendered.name, seen=uuid.uuid4().hex)
    fields = _differing(api, rendered, found)
    if not fields:
        return None
    return DriftedObject(
        path=rendered.path,
        name=rendered.name,
        seen=found.text("metadata", "resourceVersion"),
        fields=tuple(fields[:_SHOWN]),
        further=len(fields[_SHOWN:]),
        restarts=any(one.startswith("spec.template.") for one in fields),
    )


def repair(request: RepairRequest, session: Session) -> RepairedRelease:
    """Put back what still differs of the objects that the request names.

    Raises:
        OperationError: NOT_FOUND where Helm has no deployed revision; REJECTED, FORBIDDEN,
            UNREACHABLE, BUSY.
    """
    from operations.release import deployed_manifest

    def attempt() -> tuple[str, ...]:
        api = Kubernetes(session, request.cluster_id, admin=request.admin)
        manifest = deployed_manifest(api)
        return tuple(_put_back(api, _rendered(manifest), {one.path for one in request.objects}))

    done = session.clock.poll(
        attempt,
        what="the objects of the release to be put back",
        within=session.within(DEADLINE),
        give_up_after=GIVE_UP_AFTER,
    )
    return RepairedRelease(put_back=done)


def _put_back(api: Kubernetes, manifest: Iterable[_Rendered], paths: set[str]) -> Iterator[str]:
    for rendered in manifest:
        if rendered.path not in paths:
            continue
        found = api.find(rendered.path, f"look at {rendered.name}")
        if found is None:
            say(f"{rendered.name} is gone: made again")
            collection = rendered.path.rpartition("/")[0]
            api.create(collection, _with_owner(rendered.manifest), f"make {rendered.name}")
        elif fields := _differing(api, rendered, found):
            say(f"{rendered.name}: put back {', '.join(fields[:_SHOWN])}")
            api.merge(rendered.path, rendered.manifest, f"put back {rendered.name}")
        else:
            continue  # an upgrade has done so meanwhile
        yield rendered.name


def _differing(api: Kubernetes, rendered: _Rendered, found: Document) -> list[str]:
    """The fields that the API server would change to have ``found`` as it was rendered."""
    if holds(found.fields, rendered.manifest):
        return []
    action = f"compare {rendered.name} with what Helm rendered"
    wanted = api.merge(rendered.path, rendered.manifest, action, dry_run=True)
    return sorted(changes(_comparable(found), _comparable(wanted)))


def _comparable(one: Document) -> Mapping[str, object]:
    metadata = {
        key: value
        for key, value in as_object(one.value("metadata")).items()
        if key not in _OF_THE_SERVER
    }
    return {
        **{key: value for key, value in one.fields.items() if key != "status"},
        "metadata": metadata,
    }


def _rendered(manifest: str) -> Iterator[_Rendered]:
    """The objects of a manifest that are looked at."""
    for one in _documents(manifest):
        version, kind = one.text("apiVersion"), one.text("kind")
        plural, name = _PATHS.get((version, kind)), one.text("metadata", "name")
        # One of another namespace may be shared.
        here = one.text("metadata", "namespace") in ("", NAMESPACE)
        if plural is not None and name and here:
            root = "/api/v1" if version == "v1" else f"/apis/{version}"
            path = f"{root}/namespaces/{NAMESPACE}/{plural}/{name}"
            yield _Rendered(path, one.fields)


def _documents(manifest: str) -> Iterator[Document]:
    import yaml  # in use only where a release is looked at

    class Loader(yaml.SafeLoader):
        """Without dates, which Kubernetes' JSON does not have."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        found = cast("list[object]", list(yaml.load_all(manifest, Loader)))
    except yaml.YAMLError as error:
        raise OperationError(
            ExitCode.REJECTED, "Helm's record of the release could not be read.", why=str(error)
        ) from error
    return (Document(_whole(one)) for one in found)


def _whole(value: object) -> object:
    """Numbers as Kubernetes takes them: ``1.048576e+08``, as Go writes it, is a whole one."""
    if is_object(value):
        return {key: _whole(one) for key, one in value.items()}
    if is_list(value):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _with_owner(manifest: Mapping[str, object]) -> Mapping[str, object]:
    """With what Helm knows its own objects by (pkg/action/validate.go)."""
    metadata = as_object(manifest.get("metadata"))
    annotations = {
        **as_object(metadata.get("annotations")),
        RELEASE_NAME: PYROSCOPE_SERVICE,
        RELEASE_NAMESPACE: NAMESPACE,
    }
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
