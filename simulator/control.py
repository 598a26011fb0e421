"""The control interface of the simulator, for tests, ``scripts/simulate`` and reports.

- ``GET inspect``: everything there is, sorted (the shape ``scripts/simulate --inspect`` prints).
- ``GET timeline``: every operation and controller step with its simulated start and seconds.
- ``GET faults``: the fault rules that struck, and those never used.
- ``GET world`` and ``POST world``: all state, to go back to it later (on the same server: the
  addresses and the authority in it are this one's).
- ``POST settings``: change, while it runs, ``latency`` (factor), ``faults`` (a plan), ``caller``
  (object id of the identity that tokens are given to; empty: none), ``principals``
  (``[{id, kind, name, members}]``, added), ``registrations`` (``{namespace: state}``), ``quota``
  (``{region/family: {limit, used}}``), ``kubeconfigs`` (``{cluster name: text}``, given out instead
  of the simulated one), ``extensionChart`` (``{namespace: whether the extension's chart carries it,
  release: name of its Helm release}``), ``subscriptions`` (``{id: tenant id}``: more of them, or
  foreign ones; the caller owns those of the home tenant), ``takenNames`` (names that somebody
  outside of this world has where names are unique), ``privateNetwork`` (whether callers are in a
  network in which a Grafana without public access answers), ``eligible`` (``[{principal, role,
  scope}]``: roles by GUID that wait to be activated), ``ownGrafanas`` (Grafanas that are not
  Azure's, by name: :func:`simulator.grafana.own.make`), ``phase`` (a word that the log of requests
  and fault rules know the calls from now on by), ``answers`` (whether that log has the bodies of
  the answers, with the tokens in them).
- ``POST advance`` ``{"seconds"}``: let simulated time pass.
- ``POST services/<cluster>``: a JSON list of Service manifests observed in a real cluster of that
  name; the answer is what the cloud controller wants of each
  (:mod:`simulator.kubernetes.cloud_controller`).
- ``POST credentials/<cluster>``: new tokens for the kubeconfigs of the cluster of that name; the
  old ones are refused from now on (``az aks rotate-certs``).
- ``POST autoscale`` ``{"pool": <id>, "count"}``: the cluster autoscaler brings a pool to so many
  nodes (:func:`simulator.arm.types.agent_pools.autoscale`).
- ``POST reset``: forget everything and start again as at first.
"""

from simulator import seed
from simulator.arm.api import ArmService
from simulator.arm.errors import ArmError
from simulator.arm.types import agent_pools
from simulator.clock import Clock
from simulator.faults import FaultPlan, FaultPlanError
from simulator.grafana import own
from simulator.http import Request, Response
from simulator.kubernetes import cloud_controller
from simulator.requests import RequestLog
from simulator.values import (
    JsonObject,
    as_integer,
    as_number,
    as_object,
    as_objects,
    as_text,
    text_map,
    texts,
)
from simulator.world import GrafanaState, Principal, World


class Control:
    """Answers the control interface."""

    def __init__(self, world: World, plan: FaultPlan, log: RequestLog) -> None:
        self._world = world
        self._log = log
        self.plan = plan
        self.phase = ""
        self.logs_answers = False

    def handle(self, request: Request) -> Response:
        """Answer one request; the path is without ``/simulator``."""
        what, *rest = request.segments or ("",)
        match request.method, what:
            case "GET", "inspect":
                return Response(200, inspect(self._world))
            case "GET", "timeline":
                return Response(200, self._world.timeline)
            case "GET", "faults":
                return Response(200, self.plan.report())
            case "GET", "world":
                return Response(200, self._world.to_bytes())
            case "POST", "world":
                return self._go_back(request.body)
            case "POST", "settings":
                return self._settings(request.json_object())
            case "POST", "advance":
                seconds = as_number(request.json_object().get("seconds"))
                self._world.clock.jump(self._world.clock.now() + seconds)
                self._world.advance()
                return Response(200, {"now": self._world.now})
            case "POST", "services" if len(rest) == 1:
                return self._services(rest[0], as_objects(request.json()))
            case "POST", "credentials" if len(rest) == 1:
                return self._rotate(rest[0])
            case "POST", "autoscale":
                return self._autoscale(request.json_object())
            case "POST", "reset":
                self._reset()
                return Response(200, {})
            case _:
                return _wrong(f"no {request.method} {what!r} here")

    def _settings(self, document: JsonObject) -> Response:
        world = self._world
        for key, value in document.items():
            match key:
                case "latency":
                    world.clock.change_factor(max(0.0, as_number(value)))
                case "faults":
                    try:
                        self.plan = FaultPlan.parse(value)
                    except FaultPlanError as error:
                        return _wrong(str(error))
                case "phase":
                    self.phase = as_text(value)
                case "answers":
                    self.logs_answers = value is True
                case "principals":
                    for item in as_objects(value):
                        new = Principal(
                            as_text(item.get("id")),
                            as_text(item.get("kind"), "ServicePrincipal"),
                            as_text(item.get("name")),
                            members=tuple(texts(item.get("members"))),
                        )
                        world.principals[new.id] = new
                case "ownGrafanas":
                    for name, document_of_it in as_object(value).items():
                        own.make(world, name, as_object(document_of_it))
                case "registrations":
                    world.registrations.update(text_map(value))
                case (
                    "caller"
                    | "quota"
                    | "kubeconfigs"
                    | "extensionChart"
                    | "subscriptions"
                    | "takenNames"
                    | "flushSeconds"
                    | "privateNetwork"
                    | "eligible"
                ):
                    world.settings[key] = value
                    if key == "subscriptions":
                        seed.own(world, text_map(value))
                case _:
                    return _wrong(f"unknown setting {key!r}")
        return Response(200, {})

    def _go_back(self, state: bytes) -> Response:
        try:
            self._world.take_bytes(state)
        except ValueError as error:
            return _wrong(str(error))
        return Response(200, {})

    def _services(self, cluster: str, manifests: list[JsonObject]) -> Response:
        found = self._world.cluster_named(cluster)
        if found is None:
            return _wrong(f"no cluster {cluster!r}")
        outcomes = cloud_controller.reconcile(self._world, found[0], manifests)
        return Response(200, [outcome.to_json() for outcome in outcomes])

    def _rotate(self, cluster: str) -> Response:
        found = self._world.cluster_named(cluster)
        if found is None:
            return _wrong(f"no cluster {cluster!r}")
        found[1].tokens.clear()  # made anew when somebody asks
        return Response(200, {})

    def _autoscale(self, document: JsonObject) -> Response:
        try:
            agent_pools.autoscale(
                self._world, as_text(document.get("pool")), as_integer(document.get("count"))
            )
        except ArmError as error:
            return _wrong(error.message)
        return Response(200, {})

    def _reset(self) -> None:
        fresh = World(Clock(self._world.clock.factor))
        seed.plant(fresh)
        self._world.take(fresh.kept())
        self.plan = FaultPlan()
        self.phase = ""
        self._log.clear()


def inspect(world: World) -> JsonObject:
    """Everything in the world, in a form that can be compared: sorted, and without secrets."""
    arm = ArmService(world)
    return {
        "resources": {
            item.id: arm.shown(item)
            for item in sorted(world.resources.values(), key=lambda item: item.key)
        },
        "grafana": {
            key.rsplit("/", 1)[-1]: _grafana(state) for key, state in sorted(world.grafanas.items())
        },
        "kubernetes": {
            key: {
                "namespaces": state.namespaces,
                "releases": [
                    {
                        name: release.get(name)
                        for name in ("namespace", "name", "chart", "version", "status", "values")
                    }
                    for _, release in sorted(state.releases.items())
                ],
                "services": [
                    _service(manifest, state.addresses)
                    for manifest in sorted(state.services, key=cloud_controller.key_of)
                ],
                "objects": [_object(manifest) for _, manifest in sorted(state.objects.items())],
            }
            for key, state in sorted(world.clusters.items())
        },
        "calls": world.calls,
    }


def _grafana(state: GrafanaState) -> JsonObject:
    return {
        "dataSources": _sorted(state.data_sources),
        "dashboards": _sorted(state.dashboards),
        "folders": _sorted(state.folders),
    }


def _sorted(items: list[JsonObject]) -> list[JsonObject]:
    return sorted(items, key=lambda item: as_text(item.get("uid")))


def _object(manifest: JsonObject) -> JsonObject:
    """The manifest without what the API server adds to it."""
    shown = {key: value for key, value in manifest.items() if key != "status"}
    added = ("uid", "creationTimestamp", "resourceVersion", "managedFields")
    metadata = as_object(manifest.get("metadata"))
    return {**shown, "metadata": {key: metadata[key] for key in metadata if key not in added}}


def _service(manifest: JsonObject, addresses: dict[str, str]) -> JsonObject:
    metadata = as_object(manifest.get("metadata"))
    spec = as_object(manifest.get("spec"))
    return {
        "namespace": metadata.get("namespace"),
        "name": metadata.get("name"),
        "type": spec.get("type"),
        "annotations": as_object(metadata.get("annotations")),
        "ports": spec.get("ports"),
        "address": addresses.get(cloud_controller.key_of(manifest)),
    }


def _wrong(message: str) -> Response:
    return Response(400, {"error": {"code": "BadRequest", "message": message}})
