"""A resource provider in plain Python, and the gRPC service that the engine calls.

A provider subclasses :class:`Provider` and overrides what it has; :func:`run` serves it. Errors
meant for the person at the terminal are :class:`ProviderError`; a resource that exists but did not
become what it should is :class:`PartialError`, which keeps it in state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NoReturn, TypeVar

import grpc
from google.protobuf import any_pb2, empty_pb2, struct_pb2
from typing_extensions import override

from simulator.plugins.properties import Object, decode, encode
from simulator.plugins.serving import serve
from simulator.plugins.stubs import (
    engine_pb2,
    engine_pb2_grpc,
    plugin_pb2,
    provider_pb2,
    provider_pb2_grpc,
    status_pb2,
)


class ProviderError(Exception):
    """The call failed for the reason in the message; nothing is kept."""


class PartialError(Exception):
    """The resource exists but failed: the engine keeps it in state and retries it next time."""

    def __init__(
        self, message: str, *, resource_id: str, properties: Object, inputs: Object
    ) -> None:
        super().__init__(message)
        self.resource_id = resource_id
        self.properties = properties
        self.inputs = inputs


class Kind(Enum):
    """How one property differs, in the protocol's own words."""

    ADD = provider_pb2.PropertyDiff.Kind.ADD
    ADD_REPLACE = provider_pb2.PropertyDiff.Kind.ADD_REPLACE
    DELETE = provider_pb2.PropertyDiff.Kind.DELETE
    DELETE_REPLACE = provider_pb2.PropertyDiff.Kind.DELETE_REPLACE
    UPDATE = provider_pb2.PropertyDiff.Kind.UPDATE
    UPDATE_REPLACE = provider_pb2.PropertyDiff.Kind.UPDATE_REPLACE

    @property
    def replaces(self) -> bool:
        """Whether this difference can only be met by another resource."""
        return self.name.endswith("_REPLACE")


@dataclass(frozen=True)
class Difference:
    """What an update would change, by property path (``tags.owner``, ``zones[1]``)."""

    properties: Mapping[str, Kind] = field(default_factory=dict[str, Kind])
    delete_before_replace: bool = False
    replaces_anyway: tuple[str, ...] | None = None
    """Overrides which properties replace, for a provider's own configuration."""


@dataclass(frozen=True)
class Checked:
    """The inputs as they will be used, and what is wrong with them as (property, reason)."""

    inputs: Object
    failures: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Urn:
    """A resource's address: project, stack, parents, type and name."""

    text: str

    @property
    def type(self) -> str:
        """The type token, without the types of the parents."""
        return self.text.split("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        """The name the program gave."""
        return self.text.split("::", 3)[3]


class Severity(Enum):
    """How loudly the engine shows a line."""

    DEBUG = engine_pb2.DEBUG
    INFO = engine_pb2.INFO
    WARNING = engine_pb2.WARNING
    ERROR = engine_pb2.ERROR


class Provider:
    """What a provider answers; every method may raise :class:`ProviderError`."""

    version = "0.0.0"
    keeps_secrets = False
    """True: secrets arrive as ``Secret``. False: the engine itself marks every output secret whose
    input of the same name is."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        """Set when the user stops the engine: whatever waits should give up."""
        self._engine: engine_pb2_grpc.EngineStub | None = None

    def connect(self, engine_address: str) -> None:
        """Remember where the engine listens, for :meth:`log`."""
        channel = grpc.insecure_channel(engine_address)
        self._engine = engine_pb2_grpc.EngineStub(channel)

    def log(self, severity: Severity, message: str, urn: str = "") -> None:
        """Show ``message`` beside the resource ``urn``."""
        if self._engine is not None:
            request = engine_pb2.LogRequest(severity=severity.value, message=message, urn=urn)
            self._engine.Log(request)  # pyright: ignore[reportUnknownMemberType] - its stub lacks it

    # --- the provider itself ------------------------------------------------------------------

    def check_config(self, news: Object) -> Checked:
        """Validate the provider's own arguments."""
        return Checked(news)

    def diff_config(self, olds: Object, news: Object) -> Difference:
        """Whether changed arguments mean another provider (then its resources are replaced)."""
        return Difference()

    def configure(self, arguments: Object) -> None:
        """Take the provider's own arguments; called once."""

    def invoke(self, token: str, arguments: Object, preview: bool) -> Object:
        """Run the function ``token``."""
        raise ProviderError(f"unknown function {token!r}")

    # --- resources ----------------------------------------------------------------------------

    def check(self, urn: Urn, olds: Object, news: Object, seed: bytes) -> Checked:
        """Validate inputs and add defaults."""
        return Checked(news)

    def diff(
        self, urn: Urn, resource_id: str, olds: Object, old_inputs: Object, news: Object
    ) -> Difference:
        """What going from the old inputs to ``news`` would change."""
        raise NotImplementedError

    def create(
        self, urn: Urn, inputs: Object, *, timeout: float, preview: bool
    ) -> tuple[str, Object]:
        """Make the resource; its id and outputs."""
        raise NotImplementedError

    def read(
        self, urn: Urn, resource_id: str, inputs: Object | None, state: Object
    ) -> tuple[str, Object, Object]:
        """The live resource as (id, inputs, outputs); an empty id if it is gone.

        ``inputs`` is None for an import.
        """
        raise NotImplementedError

    def update(
        self,
        urn: Urn,
        resource_id: str,
        olds: Object,
        old_inputs: Object,
        news: Object,
        *,
        timeout: float,
        preview: bool,
    ) -> Object:
        """Change the resource in place; its outputs."""
        raise NotImplementedError

    def delete(
        self, urn: Urn, resource_id: str, state: Object, inputs: Object, *, timeout: float
    ) -> None:
        """Remove the resource; one that is gone already is no error."""
        raise NotImplementedError


_Answer = TypeVar("_Answer")


class _Service(provider_pb2_grpc.ResourceProviderServicer):
    """Translates the engine's calls for one provider."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def _decode(self, struct: struct_pb2.Struct) -> Object:
        return decode(struct, keep_secrets=self._provider.keeps_secrets)

    def _run(self, context: grpc.ServicerContext, work: Callable[[], _Answer]) -> _Answer:
        try:
            return work()
        except PartialError as failure:
            self._abort_partially(context, failure)
        except ProviderError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))

    @staticmethod
    def _abort_partially(context: grpc.ServicerContext, failure: PartialError) -> NoReturn:
        detail = any_pb2.Any()
        detail.Pack(
            provider_pb2.ErrorResourceInitFailed(
                id=failure.resource_id,
                properties=encode(failure.properties),
                inputs=encode(failure.inputs),
                reasons=[str(failure)],
            )
        )
        code = grpc.StatusCode.UNKNOWN
        status = status_pb2.Status(code=2, message=str(failure), details=[detail])
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(code, str(failure))

    # --- the plugin ---------------------------------------------------------------------------

    @override
    def Handshake(
        self,
        request: provider_pb2.ProviderHandshakeRequest,
        context: grpc.ServicerContext,
    ) -> provider_pb2.ProviderHandshakeResponse:
        self._provider.connect(request.engine_address)
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=self._provider.keeps_secrets,
            accept_resources=False,
            accept_outputs=False,
        )

    @override
    def Attach(
        self, request: plugin_pb2.PluginAttach, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        self._provider.connect(request.address)
        return empty_pb2.Empty()

    @override
    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=self._provider.version)

    @override
    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        self._provider.cancelled.set()
        return empty_pb2.Empty()

    @override
    def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        checked = self._run(context, lambda: self._provider.check_config(decode(request.news)))
        if not checked.failures:
            # Unchanged, so that what is secret in the request stays so.
            return provider_pb2.CheckResponse(inputs=request.news)
        return _check_response(checked)

    @override
    def DiffConfig(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        olds, news = decode(request.old_inputs), decode(request.news)
        if not olds:
            olds = decode(request.olds)
        return _diff_response(self._run(context, lambda: self._provider.diff_config(olds, news)))

    @override
    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConfigureResponse:
        self._run(context, lambda: self._provider.configure(decode(request.args)))
        return provider_pb2.ConfigureResponse(
            acceptSecrets=self._provider.keeps_secrets,
            acceptResources=False,
            acceptOutputs=False,
            supportsPreview=True,
        )

    @override
    def Invoke(
        self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.InvokeResponse:
        answer = self._run(
            context,
            lambda: self._provider.invoke(request.tok, decode(request.args), request.preview),
        )
        response = provider_pb2.InvokeResponse()
        # The field's name is a keyword in Python.
        getattr(response, "return").CopyFrom(encode(answer))
        return response

    # --- resources ----------------------------------------------------------------------------

    @override
    def Check(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        return _check_response(
            self._run(
                context,
                lambda: self._provider.check(
                    Urn(request.urn),
                    self._decode(request.olds),
                    self._decode(request.news),
                    request.randomSeed,
                ),
            )
        )

    @override
    def Diff(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        return _diff_response(
            self._run(
                context,
                lambda: self._provider.diff(
                    Urn(request.urn),
                    request.id,
                    self._decode(request.olds),
                    self._decode(request.old_inputs),
                    self._decode(request.news),
                ),
            )
        )

    @override
    def Create(
        self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CreateResponse:
        resource_id, properties = self._run(
            context,
            lambda: self._provider.create(
                Urn(request.urn),
                self._decode(request.properties),
                timeout=request.timeout,
                preview=request.preview,
            ),
        )
        return provider_pb2.CreateResponse(id=resource_id, properties=encode(properties))

    @override
    def Read(
        self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ReadResponse:
        known = len(request.inputs.fields) > 0
        resource_id, inputs, properties = self._run(
            context,
            lambda: self._provider.read(
                Urn(request.urn),
                request.id,
                self._decode(request.inputs) if known else None,
                self._decode(request.properties),
            ),
        )
        if not resource_id:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(
            id=resource_id, inputs=encode(inputs), properties=encode(properties)
        )

    @override
    def Update(
        self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.UpdateResponse:
        properties = self._run(
            context,
            lambda: self._provider.update(
                Urn(request.urn),
                request.id,
                self._decode(request.olds),
                self._decode(request.old_inputs),
                self._decode(request.news),
                timeout=request.timeout,
                preview=request.preview,
            ),
        )
        return provider_pb2.UpdateResponse(properties=encode(properties))

    @override
    def Delete(
        self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        self._run(
            context,
            lambda: self._provider.delete(
                Urn(request.urn),
                request.id,
                self._decode(request.properties),
                self._decode(request.old_inputs),
                timeout=request.timeout,
            ),
        )
        return empty_pb2.Empty()


def _check_response(checked: Checked) -> provider_pb2.CheckResponse:
    return provider_pb2.CheckResponse(
        inputs=encode(checked.inputs),
        failures=[
            provider_pb2.CheckFailure(property=name, reason=reason)
            for name, reason in checked.failures
        ],
    )


def _diff_response(difference: Difference) -> provider_pb2.DiffResponse:
    changes = difference.properties
    if not changes:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)
    replaces = difference.replaces_anyway
    if replaces is not None:
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME,
            diffs=sorted(changes),
            replaces=list(replaces),
        )
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME,
        diffs=sorted({_top(path) for path in changes}),
        replaces=sorted(path for path, kind in changes.items() if kind.replaces),
        deleteBeforeReplace=difference.delete_before_replace,
        hasDetailedDiff=True,
        detailedDiff={
            path: provider_pb2.PropertyDiff(kind=kind.value, inputDiff=True)
            for path, kind in changes.items()
        },
    )


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def run(provider: Provider) -> None:
    """Serve ``provider`` until the engine ends; does not return."""
    service = _Service(provider)
    serve(
        lambda server: provider_pb2_grpc.add_ResourceProviderServicer_to_server(service, server),
        on_end=provider.cancelled.set,
    )
