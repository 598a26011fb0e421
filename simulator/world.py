"""The state of the simulated Azure, and how time changes it.

A :class:`World` holds plain JSON-able state and no rule of any service. Services register what
must happen when one of their operations is due (:meth:`World.register`) and controllers that bring
the world into line with what was asked for (:meth:`World.control`). :meth:`World.advance` runs both
in the order of simulated time, so that a step started by another step begins when that one ended,
however late anybody looks.

What follows from the state (does a request reach Pyroscope, do profiles flow, who holds a role) is
answered by :mod:`simulator.signals` and :mod:`simulator.arm.roles`.
"""

import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final

from pydantic import ConfigDict, Field, TypeAdapter

from simulator.clock import Clock
from simulator.faults import NEVER_ENDS, OperationFault
from simulator.values import JsonObject, as_object, as_text

TENANT_ID = "72f988bf-0000-4000-8000-2d7cd011db47"
"""The simulated directory."""

KEPT_OPERATIONS = 500
"""How many ended operations can still be asked for."""
KEPT_STEPS = 5000
"""How many steps the timeline goes back."""


@dataclass
class Resource:
    """An ARM resource."""

    id: str
    """As its creator wrote it; keys of ``World.resources`` are lower case."""
    type: str
    """As its service documents it, e.g. ``Microsoft.Dashboard/grafana``."""
    body: JsonObject
    """What a GET tells, without id, name and type."""
    hidden: JsonObject = field(default_factory=dict[str, object])
    """What the service knows and does not tell."""

    @property
    def key(self) -> str:
        """Its key in ``World.resources``."""
        return self.id.lower()

    @property
    def name(self) -> str:
        """The last part of its id."""
        return self.id.rsplit("/", 1)[-1]

    @property
    def properties(self) -> JsonObject:
        """``properties`` of the body, made if missing."""
        found = self.body.get("properties")
        if not isinstance(found, dict):
            self.body["properties"] = found = dict[str, object]()
        return as_object(found)  # pyright: ignore[reportUnknownArgumentType]

    @property
    def state(self) -> str:
        """``properties.provisioningState``; empty for types without one."""
        return as_text(self.properties.get("provisioningState"))


@dataclass
class Operation:
    """Something a service or controller does that takes time."""

    id: str
    handler: str
    """Who finishes it; see :meth:`World.register`."""
    kind: str
    """The handler's word for it: create, update, delete, refresh, ..."""
    target: str
    """Key of what it works on: a resource's, or the handler's own."""
    started: float
    seconds: float
    """Simulated seconds it takes; the latency of that service, whatever the factor."""
    status: str = "InProgress"
    error: JsonObject | None = None
    details: JsonObject = field(default_factory=dict[str, object])
    forced: bool = False
    """A fault rule decided its outcome: ``error`` is set before it is finished."""

    @property
    def due(self) -> float:
        """When it ends, in simulated seconds."""
        return self.started + self.seconds

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.status == "InProgress"

    @property
    def ends(self) -> bool:
        """Whether it will end by itself: a fault rule may have let it run for ever."""
        return self.running and self.details.get("outcome") != NEVER_ENDS


@dataclass
class Principal:
    """A user, application or managed identity of the directory."""

    id: str
    kind: str
    """``User``, ``ServicePrincipal`` or ``Group``."""
    name: str = ""
    replicated: bool = True
    """Whether every part of Entra ID knows it: a new identity takes a while."""
    members: tuple[str, ...] = ()
    """Of a group: the ids of who is in it, groups among them."""


@dataclass
class GrafanaState:
    """The content of one Grafana workspace, as its HTTP API tells it."""

    data_sources: list[JsonObject] = field(default_factory=list[JsonObject])
    dashboards: list[JsonObject] = field(default_factory=list[JsonObject])
    folders: list[JsonObject] = field(default_factory=list[JsonObject])
    other: JsonObject = field(default_factory=dict[str, object])
    """Whatever else Grafana keeps (versions, id counters)."""


@dataclass
class ClusterState:
    """The content of one cluster's API server."""

    objects: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Manifests by ``<apiVersion>/<Kind>/<namespace>/<name>``; namespaces are among them."""
    releases: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Helm releases by ``<namespace>/<name>``."""
    events: list[JsonObject] = field(default_factory=list[JsonObject])
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    """Bearer tokens of the kubeconfigs, ``user`` and ``admin``."""
    frontends: dict[str, str] = field(default_factory=dict[str, str])
    """Addresses of load balancer frontends by ``<namespace>/<service>``."""
    addresses: dict[str, str] = field(default_factory=dict[str, str])
    """Those of them that the Services have been informed of."""
    gpu_pools: list[str] = field(default_factory=list[str])
    """Node pools whose nodes offer GPUs to pods."""
    server_url: str = ""
    """Of the real API server that stands for this cluster with the same ``objects``; else empty."""

    def of_kind(self, kind: str, namespace: str | None = None) -> list[JsonObject]:
        """The objects of ``kind``, in one namespace or in all."""
        return [
            manifest
            for manifest in self.objects.values()
            if manifest.get("kind") == kind
            and namespace
            in (None, as_text(as_object(manifest.get("metadata")).get("namespace"), ""))
        ]

    @property
    def namespaces(self) -> list[str]:
        """The names of the namespaces, also of those that are terminating."""
        return sorted(
            as_text(as_object(manifest.get("metadata")).get("name"))
            for manifest in self.of_kind("Namespace")
        )

    @property
    def services(self) -> list[JsonObject]:
        """The manifests of the Services."""
        return self.of_kind("Service")


@dataclass(kw_only=True)
class Kept:
    """What is kept of a world between two processes, in the shape of its file."""

    # For all that is in it as well: a field that is not understood is an error.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    clock: float
    """Simulated seconds."""
    resources: list[Resource]
    operations: list[Operation]
    principals: list[Principal]
    registrations: dict[str, str]
    grafanas: dict[str, GrafanaState]
    clusters: dict[str, ClusterState]
    timeline: list[JsonObject]
    settings: JsonObject
    signing_key: Annotated[str, Field(alias="signingKey")]
    calls: int


_KEPT: Final = TypeAdapter(Kept)

Finish = Callable[[Operation], None]
"""Ends an operation: changes the world, and sets ``error`` where it failed."""


class World:
    """All state of the simulated Azure."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock(0)
        self.resources: dict[str, Resource] = {}
        self.operations: dict[str, Operation] = {}
        self.principals: dict[str, Principal] = {}
        self.registrations: dict[str, str] = {}
        """Registration state by resource provider namespace (documented casing)."""
        self.grafanas: dict[str, GrafanaState] = {}
        self.clusters: dict[str, ClusterState] = {}
        self.timeline: list[JsonObject] = []
        self.settings: JsonObject = {}
        """Switches of the control API: the caller's object id, quotas."""
        self.signing_key = secrets.token_hex(32)
        self.calls = 0
        self.arm_url = ""
        """``https://127.0.0.1:PORT``; every endpoint of a simulated service begins with it."""
        self.identity_url = ""
        self.ca_pem = ""
        """The authority that vouches for the TLS port, as PEM."""
        self.outcome: OperationFault | None = None
        """What a fault rule wants of the operation that the present call starts."""
        self.removers: dict[str, Callable[[Resource], JsonObject | None]] = {}
        """By type (lower case): undo a resource's effects, or answer the error that forbids it."""
        self._now = self.clock.now()
        self._handlers: dict[str, Finish] = {}
        self._controllers: list[Callable[[], None]] = []
        self._changed = True

    # --- time ------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Simulated seconds; while an operation is finished, the time at which it ended."""
        return self._now

    def register(self, handler: str, finish: Finish) -> None:
        """``finish`` ends the operations of ``handler``."""
        self._handlers[handler] = finish

    def control(self, controller: Callable[[], None]) -> None:
        """Run ``controller`` after every change; it must do nothing if all is as it should be."""
        self._controllers.append(controller)

    def touch(self) -> None:
        """Something changed: the controllers must look, and the state must be saved."""
        self._changed = True

    def start(
        self, handler: str, kind: str, target: str, seconds: float, **details: object
    ) -> Operation:
        """Begin an operation that takes ``seconds`` of simulated time."""
        operation = Operation(
            str(uuid.uuid4()), handler, kind, target.lower(), self._now, seconds, details=details
        )
        if self.outcome is not None:
            operation.error = dict(self.outcome.error)
            operation.details["outcome"] = self.outcome.status
            operation.forced = True
            self.outcome = None
        self.operations[operation.id] = operation
        self.touch()
        return operation

    def running(self, target: str, *kinds: str) -> Operation | None:
        """The running operation on ``target`` (of one of ``kinds``), if there is one."""
        target = target.lower()
        for operation in self.operations.values():
            concerns = operation.running and operation.target == target
            if concerns and (not kinds or operation.kind in kinds):
                return operation
        return None

    def cancel(self, operation: Operation) -> None:
        """End an operation without finishing it: what it worked on is gone."""
        operation.status = "Canceled"
        self.touch()

    def rewind(self) -> None:
        """Take the time of a clock that was put in place of another."""
        self._now = self.clock.now()
        self.touch()

    def advance(self) -> bool:
        """Do everything that is due; whether anything changed since the last call."""
        changed = self._changed
        while True:
            self._settle()
            pending = [item for item in self.operations.values() if item.ends]
            if not pending:
                break
            due = min(pending, key=lambda item: item.due)
            if self.clock.factor == 0:
                self.clock.jump(due.due)
            elif due.due > self.clock.now():
                break
            self._now = max(self._now, due.due)
            self._finish(due)
            changed = True
        self._now = max(self._now, self.clock.now())
        return changed

    def _settle(self) -> None:
        for _ in range(100):
            if not self._changed:
                return
            self._changed = False
            for controller in self._controllers:
                controller()
        raise RuntimeError("the simulator's controllers do not come to rest")

    def _finish(self, operation: Operation) -> None:
        finish = self._handlers.get(operation.handler)
        if finish is not None:
            finish(operation)
        if operation.error:
            operation.status = as_text(operation.details.get("outcome"), "Failed")
        else:
            operation.status = "Succeeded"
        self.timeline.append(
            {
                "handler": operation.handler,
                "kind": operation.kind,
                "target": operation.target,
                "started": round(operation.started, 3),
                "seconds": operation.seconds,
                "status": operation.status,
            }
        )
        self._forget()
        self.touch()

    def _forget(self) -> None:
        """Drop the oldest of what has ended: nobody polls it any more."""
        ended = [item for item in self.operations.values() if not item.running]
        for operation in ended[:-KEPT_OPERATIONS]:
            del self.operations[operation.id]
        del self.timeline[:-KEPT_STEPS]

    # --- resources -------------------------------------------------------------------------

    def of_type(self, type_name: str) -> list[Resource]:
        """The resources of a type, compared without case."""
        wanted = type_name.lower()
        return [item for item in self.resources.values() if item.type.lower() == wanted]

    def below(self, resource_id: str) -> list[Resource]:
        """The resources below an id, deepest first."""
        prefix = resource_id.lower() + "/"
        found = [item for key, item in self.resources.items() if key.startswith(prefix)]
        return sorted(found, key=lambda item: -item.id.count("/"))

    def get(self, resource_id: str) -> Resource | None:
        """The resource with this id, compared without case."""
        return self.resources.get(resource_id.lower())

    def put(self, resource: Resource) -> Resource:
        """Add or replace a resource."""
        self.resources[resource.key] = resource
        self.touch()
        return resource

    def drop(self, resource_id: str) -> None:
        """Forget a resource and all below it, and end what runs on them."""
        for item in [*self.below(resource_id), *filter(None, [self.get(resource_id)])]:
            self.resources.pop(item.key, None)
            for operation in self.operations.values():
                concerns = operation.running and operation.target == item.key
                if concerns and operation.kind != "delete":
                    self.cancel(operation)
        self.touch()

    # --- by name ---------------------------------------------------------------------------

    def cluster_named(self, name: str) -> tuple[str, ClusterState] | None:
        """Id (lower case) and state of the cluster whose API server has this name in its URL."""
        for key, state in self.clusters.items():
            if key.rsplit("/", 1)[-1] == name.lower():
                return key, state
        return None

    def grafana_named(self, name: str) -> tuple[str, GrafanaState] | None:
        """Id (lower case) and content of the Grafana workspace of this name."""
        for key, state in self.grafanas.items():
            if key.rsplit("/", 1)[-1] == name.lower():
                return key, state
        return None

    # --- keeping ---------------------------------------------------------------------------

    def kept(self) -> Kept:
        """All state; shared with this world, not copied."""
        return Kept(
            clock=self.clock.now(),
            resources=list(self.resources.values()),
            operations=list(self.operations.values()),
            principals=list(self.principals.values()),
            registrations=self.registrations,
            grafanas=self.grafanas,
            clusters=self.clusters,
            timeline=self.timeline,
            settings=self.settings,
            signing_key=self.signing_key,
            calls=self.calls,
        )

    def take(self, kept: Kept) -> None:
        """Go on from ``kept`` in place of all that is here; the clock's factor stays."""
        self.clock = Clock(self.clock.factor, kept.clock)
        self.resources = {item.key: item for item in kept.resources}
        self.operations = {item.id: item for item in kept.operations}
        self.principals = {item.id: item for item in kept.principals}
        self.registrations = kept.registrations
        self.grafanas = kept.grafanas
        self.clusters = kept.clusters
        self.timeline = kept.timeline
        self.settings = kept.settings
        self.signing_key = kept.signing_key
        self.calls = kept.calls
        self.rewind()

    def save(self, file: Path) -> None:
        """Write all state to ``file``, whole or not at all."""
        partial = file.with_suffix(".partial")
        partial.write_bytes(self.to_bytes())
        partial.replace(file)

    def to_bytes(self) -> bytes:
        """All state, as JSON."""
        return _KEPT.dump_json(self.kept(), by_alias=True)

    def take_bytes(self, state: bytes) -> None:
        """Go on from what :meth:`to_bytes` gave.

        Raises:
            ValueError: it holds something else; the message says where.
        """
        self.take(_KEPT.validate_json(state))

    @classmethod
    def load(cls, file: Path, factor: float) -> "World":
        """The world that was saved to ``file``, with a clock of this factor.

        Raises:
            OSError: the file cannot be read.
            ValueError: it holds something else; the message says where.
        """
        world = cls(Clock(factor))
        world.take_bytes(file.read_bytes())
        return world
