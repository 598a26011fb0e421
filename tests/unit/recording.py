"""A resource monitor in place of the engine that records what a program registers, options and all.

The SDK's own mocks hide the options, let two resources of one URN pass, and leak exports from one
test to the next. Here a program runs against a fresh monitor, and the result is plain data: no
outputs, no protobuf.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from google.protobuf import empty_pb2, json_format
from google.protobuf.message import Message as ProtobufMessage
from pulumi.runtime import mocks, set_all_config, set_mocks
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import ROOT, SETTINGS
from pulumi.runtime.stack import run_in_stack

SIGNATURE = "4dabf18193072939515e22adb298388d"
ENCRYPTED = "1b47061264138c4ac30d75fd1eb44270"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

PROJECT = "gpuobs"
STACK = "dev"


class RefusedError(Exception):
    """Raised by an answer: the function fails."""


@dataclass(frozen=True)
class Secret:
    """A value that the engine encrypts in its state."""

    value: object


@dataclass(frozen=True)
class Registered:
    """One resource as the engine sees it."""

    urn: str
    type: str
    name: str
    custom: bool
    inputs: Mapping[str, Any]
    """camelCase; numbers are floats, secrets :class:`Secret`, unknown values :data:`UNKNOWN`."""
    parent: str
    """Name of the parent; empty for the stack's own."""
    provider: str
    """Name of the explicit provider; empty for the default one."""
    depends_on: frozenset[str]
    """Names of everything it waits for, by option or by property."""
    property_depends_on: Mapping[str, frozenset[str]]
    """Per input, the names of what it comes from."""
    delete_before_replace: bool
    deleted_with: str
    ignore_changes: frozenset[str]
    replace_on_changes: frozenset[str]
    replacement_trigger: object
    protect: bool


@dataclass(frozen=True)
class Call:
    """One invoke."""

    token: str
    arguments: Mapping[str, Any]


Answer = Mapping[str, object]
AnswerResource = Callable[[str, str, Mapping[str, Any]], Answer]
"""(type, name, inputs) -> further outputs; ``id`` among them sets the id."""
AnswerCall = Callable[[str, Mapping[str, Any]], Answer]
"""(token, arguments) -> result."""


@dataclass
class Recorded:
    """What a program registered."""

    resources: list[Registered] = field(default_factory=list[Registered])
    calls: list[Call] = field(default_factory=list[Call])
    exports: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Registered outputs of components, by name."""
    reads: dict[str, str] = field(default_factory=dict[str, str])
    """Ids of the resources that are only read, by name."""

    def of_type(self, kind: str) -> list[Registered]:
        """All resources of a type."""
        return [one for one in self.resources if one.type == kind]

    def only(self, kind: str) -> Registered:
        """The one resource of a type."""
        found = self.of_type(kind)
        assert len(found) == 1, f"{len(found)} resources of type {kind}: {[r.name for r in found]}"
        return found[0]

    def named(self, name: str) -> Registered:
        """The one resource of a name."""
        found = [one for one in self.resources if one.name == name]
        assert len(found) == 1, f"{len(found)} resources named {name} in {self.names}"
        return found[0]

    @property
    def names(self) -> list[str]:
        """All names."""
        return [one.name for one in self.resources]

    def call(self, token: str) -> Call:
        """The one invoke of a function."""
        found = [one for one in self.calls if one.token == token]
        assert len(found) == 1, f"{len(found)} calls of {token}"
        return found[0]

    def waits_for(self, name: str) -> frozenset[str]:
        """Everything that must exist before ``name``, directly or through others and parents."""
        by_name = {one.name: one for one in self.resources}
        seen: set[str] = set()
        todo = [name]
        while todo:
            one = by_name.get(todo.pop())
            for other in [*one.depends_on, one.parent] if one else ():
                if other and other not in seen:
                    seen.add(other)
                    todo.append(other)
        return frozenset(seen)


def record(
    program: Callable[[], object],
    *,
    answer_resource: AnswerResource | None = None,
    answer_call: AnswerCall | None = None,
    config: Mapping[str, str] | None = None,
    secret_config: Sequence[str] = (),
    preview: bool = False,
    project: str = PROJECT,
    stack: str = STACK,
) -> Recorded:
    """Run ``program`` to its end, every output resolved, and tell what it registered."""
    monitor = _Monitor(answer_resource, answer_call, preview=preview)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        ROOT.set(None)
        set_all_config(dict(config or {}), list(secret_config))
        set_mocks(_NoMocks(), project, stack, preview, monitor=monitor)
        ROOT.set(None)
        loop.run_until_complete(run_in_stack(lambda: _without_value(program)))
    finally:
        ROOT.set(None)
        set_all_config({}, [])
        # What a program that failed still waited for.
        settings = cast("Any", SETTINGS)
        settings.rpc_manager.clear()
        settings.outputs.clear()
        _abandon(loop)
        asyncio.set_event_loop(None)
    return monitor.recorded


def _abandon(loop: asyncio.AbstractEventLoop) -> None:
    """Close ``loop`` with all that a failed program still waited for: left to the garbage
    collector, it would be reported as never awaited in whatever test runs by then."""
    waiting = asyncio.all_tasks(loop)
    for task in waiting:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*waiting, return_exceptions=True))
    # The program's one failure is also the failure of everything that waited; it was raised.
    loop.set_exception_handler(lambda _loop, _context: None)
    loop.close()


def _without_value(program: Callable[[], object]) -> None:
    program()


class _NoMocks(mocks.Mocks):
    """Never asked: the monitor answers itself."""

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, object], None]:
        raise AssertionError(args.token)

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, object]]:
        raise AssertionError(args.typ)


class _Monitor(mocks.MockMonitor):
    def __init__(
        self,
        answer_resource: AnswerResource | None,
        answer_call: AnswerCall | None,
        *,
        preview: bool,
    ) -> None:
        super().__init__(_NoMocks())
        self.recorded = Recorded()
        self._answer_resource = answer_resource or _no_outputs
        self._answer_call = answer_call or _no_result
        self._preview = preview
        self._names: dict[str, str] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the SDK's name
        urn = self.make_urn(request.parent, request.type, request.name)
        response = resource_pb2.RegisterResourceResponse(urn=urn)
        if request.type == "pulumi:pulumi:Stack":
            self._names[urn] = ""
            return response
        assert urn not in self._names, f"two resources have the URN {urn}"
        self._names[urn] = request.name
        registered = self._registered(urn, request)
        self.recorded.resources.append(registered)
        if not request.custom:
            return response
        answered = dict(self._answer_resource(registered.type, registered.name, registered.inputs))
        state = {**_dictionary(request.object), **_encoded(answered)}
        identity = "" if self._preview else str(answered.pop("id", f"{request.name}-id"))
        state.pop("id", None)
        if self._preview:
            state = {**state, **dict.fromkeys(answered, UNKNOWN)}
        response.id = identity
        json_format.ParseDict(state, response.object)
        return response

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 - the SDK's name
        urn = self.make_urn(request.parent, request.type, request.name)
        assert urn not in self._names, f"two resources have the URN {urn}"
        self._names[urn] = request.name
        self.recorded.reads[request.name] = request.id
        return resource_pb2.ReadResourceResponse(urn=urn, properties=request.properties)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 - the SDK's name
        values = _decoded(_dictionary(request.outputs))
        name = self._names[request.urn]
        if name:
            self.recorded.outputs[name] = cast("dict[str, Any]", values)
        else:
            self.recorded.exports = cast("dict[str, Any]", values)
        return empty_pb2.Empty()

    def Invoke(self, request: Any) -> Any:  # noqa: N802 - the SDK's name
        arguments = cast("dict[str, Any]", _decoded(_dictionary(request.args)))
        self.recorded.calls.append(Call(request.tok, arguments))
        response = resource_pb2.ResourceInvokeResponse()
        try:
            result = _encoded(dict(self._answer_call(request.tok, arguments)))
        except RefusedError as refused:
            cast("Any", response).failures.add(property="", reason=str(refused))
        else:
            json_format.ParseDict(result, getattr(response, "return"))
        return response

    def _registered(self, urn: str, request: Any) -> Registered:
        return Registered(
            urn=urn,
            type=request.type,
            name=request.name,
            custom=request.custom,
            inputs=cast("dict[str, Any]", _decoded(_dictionary(request.object))),
            parent=self._names.get(request.parent, ""),
            provider=self._provider(request.provider),
            depends_on=self._named(request.dependencies),
            property_depends_on={
                key: self._named(found.urns)
                for key, found in request.propertyDependencies.items()
                if found.urns
            },
            delete_before_replace=request.deleteBeforeReplace,
            deleted_with=self._names.get(request.deletedWith, ""),
            ignore_changes=frozenset(request.ignoreChanges),
            replace_on_changes=frozenset(request.replaceOnChanges),
            replacement_trigger=_decoded(json_format.MessageToDict(request.replacement_trigger))
            if request.HasField("replacement_trigger")
            else None,
            protect=request.protect,
        )

    def _named(self, urns: Sequence[str]) -> frozenset[str]:
        return frozenset(self._names[urn] for urn in urns)

    def _provider(self, reference: str) -> str:
        return self._names.get(reference.rpartition("::")[0], "") if reference else ""


def _no_outputs(_type: str, _name: str, _inputs: Mapping[str, Any]) -> Answer:
    return {}


def _no_result(_token: str, _arguments: Mapping[str, Any]) -> Answer:
    return {}


def _dictionary(message: ProtobufMessage) -> dict[str, object]:
    return json_format.MessageToDict(message)


def _decoded(value: object) -> object:
    if isinstance(value, dict):
        mapping = cast("dict[str, object]", value)
        if mapping.get(SIGNATURE) == ENCRYPTED:
            return Secret(_decoded(mapping["value"]))
        return {key: _decoded(item) for key, item in mapping.items()}
    if isinstance(value, list):
        return [_decoded(item) for item in cast("list[object]", value)]
    return value


def _encoded(value: object) -> Any:
    """As JSON; what a test answers is plain, so that a strange value fails here."""
    return json.loads(json.dumps(value))
