"""The simulator's process: one TLS port for every service, one plain port for the identity.

The TLS port serves ARM at ``/`` and the other services below a prefix: ``/grafana/<workspace>``,
``/pyroscope/<cluster>``, ``/prometheus/<workspace>``, ``/kubernetes/<cluster>``; ``/simulator/`` is
the control interface (:mod:`simulator.control`). Every request is handled on one event loop by
synchronous services, so nothing is ever half done: time is brought up to date, a fault rule may
strike, the service answers, and what changed is saved.

``<home>/server.json`` appears when the ports are open and tells where everything is;
``<home>/world.json`` is the state, which the next process on the same home goes on with, on the
same ports if they are free.
"""

import argparse
import asyncio
import contextlib
import fcntl
import json
import os
import signal
import ssl
import sys
import time
from collections.abc import Generator
from pathlib import Path

import trustme
from aiohttp import web

from simulator import seed
from simulator.apiserver import provision
from simulator.apiserver.clusters import ApiServers
from simulator.apiserver.process import Certificate
from simulator.apiserver.token_review import review
from simulator.arm.api import ArmService
from simulator.clock import Clock
from simulator.control import Control
from simulator.faults import Effect, FaultPlan, FaultPlanError, Rule, Seen
from simulator.grafana.api import GrafanaService
from simulator.http import MalformedBodyError, Request, Response, Service
from simulator.identity import IDENTITY_HEADER, IdentityService
from simulator.kubernetes.api import KubernetesService
from simulator.prometheus.api import PrometheusService
from simulator.pyroscope.api import PyroscopeService
from simulator.requests import Entry, RequestLog
from simulator.values import JsonObject, as_integer, as_object, merge_patch
from simulator.world import World

HOST = "127.0.0.1"
IDENTITY_PATH = "/identity/token"
TOKEN_REVIEW = "token-review"  # noqa: S105 - the first part of a path
HOLD_CHECK_SECONDS = 0.02
WITHOUT_EFFECT = frozenset({"GET", "HEAD", "OPTIONS"})


def services(world: World) -> dict[str, Service]:
    """Every service of the TLS port by the first part of its paths; ARM's is the empty one."""
    return {
        "": ArmService(world),
        "kubernetes": KubernetesService(world),
        "grafana": GrafanaService(world),
        "pyroscope": PyroscopeService(world),
        "prometheus": PrometheusService(world),
    }


class Dispatcher:
    """Hands requests to the services, with faults and delays, and keeps the world on disk."""

    def __init__(self, world: World, plan: FaultPlan, file: Path, log: RequestLog) -> None:
        self._world = world
        self._log = log
        self._file = file
        self._services = services(world)
        self._identity = IdentityService(world)
        self.control = Control(world, plan, log)
        self.api_servers: ApiServers | None = None
        """Where real API servers stand for the clusters."""

    async def answer_tls(self, raw: web.Request) -> web.StreamResponse:
        """A request on the TLS port."""
        path = raw.rel_url.raw_path
        prefix = path.split("/", 2)[1].lower()
        if prefix == TOKEN_REVIEW:
            return _sent(review(self._world, path.rsplit("/", 1)[-1], await self._read(raw, path)))
        if prefix == "simulator":
            return self._answer_control(await self._read(raw, path[len("/simulator") :]))
        service = self._services.get(prefix)
        if service is None or prefix == "":
            return await self._answer(raw, self._services[""], path)
        return await self._answer(raw, service, path[len(prefix) + 1 :] or "/")

    async def answer_identity(self, raw: web.Request) -> web.StreamResponse:
        """A request on the identity's port."""
        if raw.path != IDENTITY_PATH:
            return web.Response(status=404)
        return await self._answer(raw, self._identity, raw.path)

    def save(self) -> None:
        """Write the world to its file."""
        self._world.save(self._file)

    async def _answer(self, raw: web.Request, service: Service, path: str) -> web.StreamResponse:
        request = await self._read(raw, path)
        self._world.calls += 1
        url = raw.rel_url
        seen = Seen(
            service=service.name,
            method=request.method,
            path=url.raw_path,
            query=url.raw_query_string,
            caller=request.headers.get("user-agent", ""),
            phase=self.control.phase,
        )
        rule = self.control.plan.strike(seen)
        began = self._world.clock.now()
        response = await self._respond(service, request, rule)
        self._log.add(
            Entry(
                at=round(began, 3),
                phase=seen.phase,
                service=seen.service,
                method=seen.method,
                path=seen.path,
                query=seen.query,
                caller=seen.caller,
                status=response.status if response else 0,
                fault=rule.kind if rule else "",
                answer=_text(response) if response and self.control.logs_answers else "",
            )
        )
        if response is None:
            return _cut(raw)
        if rule is not None and rule.then.cut is not None:
            return await _cut_short(raw, response, rule.then.cut)
        return _sent(response)

    async def _respond(
        self, service: Service, request: Request, rule: Rule | None
    ) -> Response | None:
        """What is answered, with the fault of ``rule``; None: the connection is to be cut."""
        effect = rule.then if rule else Effect()
        instead = (
            None
            if effect.status is None
            else Response(effect.status, effect.body, dict(effect.headers))
        )
        if effect.drop == "before":
            return None
        if instead is not None and not effect.acted:
            return instead
        if effect.delay is not None:
            await self._delay(effect.delay)
        await asyncio.sleep(effect.wait)
        if self.api_servers is not None:
            await self.api_servers.prepare(request)
        response = self._act(service, request, effect)
        if effect.patch is not None:
            response.body = merge_patch(_decoded(response.body), effect.patch)
        if effect.encoding:
            response.headers["Content-Encoding"] = effect.encoding
        await self._hold(effect.hold)
        return None if effect.drop == "after" else instead or response

    async def _hold(self, seconds: float) -> None:
        """Wait so long by the wall clock, or until there is another plan."""
        plan, until = self.control.plan, time.monotonic() + seconds
        while plan is self.control.plan and time.monotonic() < until:
            await asyncio.sleep(min(HOLD_CHECK_SECONDS, seconds))

    async def _delay(self, seconds: float) -> None:
        clock = self._world.clock
        if clock.factor == 0:
            clock.jump(clock.now() + seconds)
        else:
            await asyncio.sleep(seconds * clock.factor)

    def _act(self, service: Service, request: Request, effect: Effect) -> Response:
        changed = self._world.advance()
        self._world.outcome = effect.operation
        try:
            response = service.handle(request)
        except MalformedBodyError as error:
            message = {"error": {"code": "InvalidRequestContent", "message": str(error)}}
            response = Response(400, message)
        finally:
            self._world.outcome = None
        if request.method not in WITHOUT_EFFECT:
            self._world.touch()
            changed = True
        if changed:
            self.save()
        return response

    def _answer_control(self, request: Request) -> web.StreamResponse:
        self._world.advance()
        response = self.control.handle(request)
        if request.method not in WITHOUT_EFFECT:
            self._world.touch()
            self.save()
        return _sent(response)

    @staticmethod
    async def _read(raw: web.Request, path: str) -> Request:
        pairs = tuple((key, value) for key, value in raw.rel_url.query.items())
        return Request(
            method=raw.method.upper(),
            path=path,
            query=dict(pairs),
            headers={name.lower(): value for name, value in raw.headers.items()},
            body=await raw.read(),
            pairs=pairs,
        )


def _decoded(body: object) -> object:
    if isinstance(body, bytes):
        with contextlib.suppress(ValueError):
            return json.loads(body)
    return body


def _text(response: Response) -> str:
    return response.encoded().decode("utf-8", "replace")


def _sent(response: Response) -> web.Response:
    headers = dict(response.headers)
    body = response.encoded()
    if body and not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = "application/json; charset=utf-8"
    return web.Response(status=response.status, body=body, headers=headers)


async def _cut_short(raw: web.Request, response: Response, share: float) -> web.StreamResponse:
    """Send the answer up to this share of its body, and cut the connection."""
    whole = _sent(response)
    body = response.encoded()
    short = web.StreamResponse(status=response.status, headers=whole.headers)
    short.content_length = max(len(body), 1)
    await short.prepare(raw)
    await short.write(body[: int(len(body) * share)])
    return _cut(raw)


def _cut(raw: web.Request) -> web.StreamResponse:
    if raw.transport is not None:
        raw.transport.abort()
    return web.Response(status=500)


# --- the process -----------------------------------------------------------------------------


@contextlib.contextmanager
def _alone(home: Path) -> Generator[None]:
    """Hold the home's lock; the system frees it however this process ends."""
    with (home / "server.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SystemExit(f"another simulator is running on {home}") from error
        yield


def _certificate(home: Path) -> ssl.SSLContext:
    """The server's side of TLS; authority and certificate are made once for a home."""
    authority, own = home / "ca.pem", home / "server.pem"
    if not (authority.exists() and own.exists()):
        made = trustme.CA()
        certificate = made.issue_cert(HOST, "localhost")
        own.touch(mode=0o600)
        own.write_bytes(
            certificate.private_key_pem.bytes()
            + b"".join(part.bytes() for part in certificate.cert_chain_pems)
        )
        made.cert_pem.write_to_path(authority)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(own)
    return context


def _previous(file: Path) -> JsonObject:
    try:
        return as_object(json.loads(file.read_text()))
    except (OSError, ValueError):
        return {}


def _world(file: Path, latency: float) -> World:
    if file.exists():
        try:
            return World.load(file, latency)
        except (OSError, ValueError) as error:
            raise SystemExit(
                f"the simulator's state {file} is damaged or of another version ({error}); "
                "scripts/simulate --reset forgets it"
            ) from error
    world = World(Clock(latency))
    seed.plant(world)
    return world


async def _listen(runner: web.AppRunner, port: int, tls: ssl.SSLContext | None) -> int:
    """Open the wanted port, or any if it is taken or 0; the port opened."""
    site = web.TCPSite(runner, HOST, port, ssl_context=tls)
    try:
        await site.start()
    except OSError:
        site = web.TCPSite(runner, HOST, 0, ssl_context=tls)
        await site.start()
    server = site._server  # pyright: ignore[reportPrivateUsage] - aiohttp tells the port nowhere else
    return int(server.sockets[0].getsockname()[1])  # type: ignore[union-attr]


async def _serve(home: Path, latency: float, plan: FaultPlan, parent: int | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    tls = _certificate(home)
    world = _world(home / "world.json", latency)
    log = RequestLog(home)
    dispatcher = Dispatcher(world, plan, home / "world.json", log)
    runners: list[web.AppRunner] = []
    ports: list[int] = []
    previous = _previous(home / "ports.json")
    for handler, name, context in (
        (dispatcher.answer_tls, "tls", tls),
        (dispatcher.answer_identity, "identity", None),
    ):
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", handler)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        runners.append(runner)
        ports.append(await _listen(runner, as_integer(previous.get(name)), context))
    world.ca_pem = (home / "ca.pem").read_text()
    world.arm_url = f"https://{HOST}:{ports[0]}"
    world.identity_url = f"http://{HOST}:{ports[1]}{IDENTITY_PATH}"
    world.advance()
    dispatcher.save()
    dispatcher.api_servers = _api_servers(home, world, dispatcher)
    if dispatcher.api_servers is not None:
        await dispatcher.api_servers.start_known()
    _write(home / "ports.json", {"tls": ports[0], "identity": ports[1]})
    _write(
        home / "server.json",
        {
            "pid": os.getpid(),
            "armUrl": world.arm_url,
            "controlUrl": f"{world.arm_url}/simulator",
            "identityEndpoint": world.identity_url,
            "identityHeader": IDENTITY_HEADER,
            "caFile": str(home / "ca.pem"),
            "latency": latency,
        },
    )
    watch = asyncio.create_task(_watch(parent, stop)) if parent else None
    await stop.wait()
    if watch:
        watch.cancel()
    (home / "server.json").unlink(missing_ok=True)
    if dispatcher.api_servers is not None:
        await dispatcher.api_servers.stop()
    dispatcher.save()
    for runner in runners:
        await runner.cleanup()
    log.close()


def _api_servers(home: Path, world: World, dispatcher: Dispatcher) -> ApiServers | None:
    """The real API servers, if this home's clusters are such."""
    programs = provision.programs(home)
    if programs is None:
        return None
    own = home / "server.pem"
    return ApiServers(
        world,
        home / "clusters",
        programs=programs,
        certificate=Certificate(certificate_file=own, key_file=own, authority_file=home / "ca.pem"),
        token_review_url=lambda name: f"{world.arm_url}/{TOKEN_REVIEW}/{name}",
        changed=dispatcher.save,
    )


async def _watch(parent: int, stop: asyncio.Event) -> None:
    """Stop when the process that wanted this simulator is gone."""
    while True:
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            stop.set()
        await asyncio.sleep(1)


def _write(file: Path, document: JsonObject) -> None:
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1))
    partial.replace(file)


def main(
    home: Path, latency: float = 0.01, faults: Path | None = None, parent: int | None = None
) -> None:
    """Serve the simulated Azure kept in ``home`` until SIGINT, SIGTERM or the parent's end.

    Args:
        home: folder of its state; made if missing.
        latency: wall seconds for one simulated second; 0: everything is due at once.
        faults: a fault plan (:mod:`simulator.faults`).
        parent: process id whose end also ends the simulator.

    Raises:
        SystemExit: another simulator runs on ``home``, or the fault plan is wrong; with the reason.
    """
    home = home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    try:
        plan = FaultPlan.read(faults) if faults else FaultPlan()
    except FaultPlanError as error:
        raise SystemExit(f"fault plan: {error}") from error
    with _alone(home):
        asyncio.run(_serve(home, latency, plan, parent))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulator.server", description=__doc__)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--latency", type=float, default=0.01)
    parser.add_argument("--faults", type=Path)
    parser.add_argument("--parent", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    if given.latency < 0:
        sys.exit("--latency is a factor of at least 0")
    main(given.home, given.latency, given.faults, given.parent)
