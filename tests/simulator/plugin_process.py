"""A plugin in a process of its own, spoken to over gRPC as the engine does."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import grpc
from google.protobuf import empty_pb2
from google.protobuf.message import Message

from simulator.home import CHECKOUT
from simulator.plugins.properties import decode, encode
from simulator.plugins.stubs import (
    engine_pb2,
    engine_pb2_grpc,
    provider_pb2,
    status_pb2,
)
from simulator.values import JsonObject

_Answer = TypeVar("_Answer", bound=Message)


class EngineLog(engine_pb2_grpc.EngineServicer):
    """The part of the engine that plugins talk to: it keeps what they log."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, float]] = []

    def Log(  # noqa: N802
        self, request: engine_pb2.LogRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        self.lines.append((request.message, time.monotonic()))
        return empty_pb2.Empty()

    @property
    def messages(self) -> list[str]:
        """What was logged, in order."""
        return [message for message, _ in self.lines]


class CallFailed(Exception):  # noqa: N818 - the protocol's own word
    """The plugin answered with an error; ``partial`` is what it wants kept in state."""

    def __init__(self, error: grpc.RpcError) -> None:
        call = cast(grpc.Call, error)
        super().__init__(call.details())
        self.partial: provider_pb2.ErrorResourceInitFailed | None = None
        for name, value in call.trailing_metadata() or ():
            if name == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(cast(bytes, value))
                detail = provider_pb2.ErrorResourceInitFailed()
                status.details[0].Unpack(detail)
                self.partial = detail


class Plugin:
    """A running resource plugin."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, log: EngineLog) -> None:
        self.process = process
        self.log = log
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")

    def _call(self, method: str, request: Message, answer: type[_Answer]) -> _Answer:
        call = cast(
            Callable[[Message], _Answer],
            self._channel.unary_unary(
                f"/pulumirpc.ResourceProvider/{method}",
                request_serializer=lambda message: message.SerializeToString(),  # pyright: ignore
                response_deserializer=answer.FromString,
            ),
        )
        try:
            return call(request)
        except grpc.RpcError as error:
            raise CallFailed(error) from None

    def handshake(self, engine_address: str) -> None:
        """Handshake."""
        request = provider_pb2.ProviderHandshakeRequest(engine_address=engine_address)
        self._call("Handshake", request, provider_pb2.ProviderHandshakeResponse)

    def configure(self, arguments: Mapping[str, object]) -> None:
        """Configure."""
        request = provider_pb2.ConfigureRequest(args=encode(arguments), acceptSecrets=True)
        self._call("Configure", request, provider_pb2.ConfigureResponse)

    def check(self, urn: str, news: JsonObject, olds: JsonObject | None = None) -> JsonObject:
        """Check; the inputs. A failure is raised as AssertionError."""
        answer = self.check_response(urn, news, olds)
        assert not answer.failures, answer.failures
        return decode(answer.inputs, keep_secrets=True)

    def check_response(
        self, urn: str, news: JsonObject, olds: JsonObject | None = None
    ) -> provider_pb2.CheckResponse:
        """Check; the whole answer."""
        request = provider_pb2.CheckRequest(urn=urn, news=encode(news), olds=encode(olds or {}))
        return self._call("Check", request, provider_pb2.CheckResponse)

    def diff(self, urn: str, old_inputs: JsonObject, news: JsonObject) -> provider_pb2.DiffResponse:
        """Diff."""
        request = provider_pb2.DiffRequest(
            urn=urn, old_inputs=encode(old_inputs), olds=encode(old_inputs), news=encode(news)
        )
        return self._call("Diff", request, provider_pb2.DiffResponse)

    def diff_config(self, olds: JsonObject, news: JsonObject) -> provider_pb2.DiffResponse:
        """DiffConfig."""
        request = provider_pb2.DiffRequest(old_inputs=encode(olds), news=encode(news))
        return self._call("DiffConfig", request, provider_pb2.DiffResponse)

    def create(
        self, urn: str, inputs: JsonObject, *, preview: bool = False, timeout: float = 0
    ) -> tuple[str, JsonObject]:
        """Create; id and outputs."""
        request = provider_pb2.CreateRequest(
            urn=urn, properties=encode(inputs), preview=preview, timeout=timeout
        )
        answer = self._call("Create", request, provider_pb2.CreateResponse)
        return answer.id, decode(answer.properties, keep_secrets=True)

    def update(
        self,
        urn: str,
        resource_id: str,
        olds: JsonObject,
        news: JsonObject,
        *,
        preview: bool = False,
    ) -> JsonObject:
        """Update; the outputs."""
        request = provider_pb2.UpdateRequest(
            urn=urn, id=resource_id, olds=encode(olds), news=encode(news), preview=preview
        )
        answer = self._call("Update", request, provider_pb2.UpdateResponse)
        return decode(answer.properties, keep_secrets=True)

    def delete(self, urn: str, resource_id: str, state: JsonObject) -> None:
        """Delete."""
        request = provider_pb2.DeleteRequest(urn=urn, id=resource_id, properties=encode(state))
        self._call("Delete", request, empty_pb2.Empty)

    def read(
        self,
        urn: str,
        resource_id: str,
        inputs: JsonObject | None = None,
        state: JsonObject | None = None,
    ) -> tuple[str, JsonObject, JsonObject]:
        """Read; id, inputs and outputs."""
        request = provider_pb2.ReadRequest(
            urn=urn, id=resource_id, inputs=encode(inputs or {}), properties=encode(state or {})
        )
        answer = self._call("Read", request, provider_pb2.ReadResponse)
        return answer.id, decode(answer.inputs), decode(answer.properties)

    def invoke(self, token: str, arguments: JsonObject, *, preview: bool = False) -> JsonObject:
        """Invoke; the answer."""
        request = provider_pb2.InvokeRequest(tok=token, args=encode(arguments), preview=preview)
        answer = self._call("Invoke", request, provider_pb2.InvokeResponse)
        return decode(getattr(answer, "return"), keep_secrets=True)

    def cancel(self) -> None:
        """Cancel, as the engine does when its user stops it."""
        self._call("Cancel", empty_pb2.Empty(), empty_pb2.Empty)

    def interrupt(self) -> float:
        """Send SIGINT; the seconds until the process has ended."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)
        return time.monotonic() - begin


@contextmanager
def running(
    module: str, *, cwd: Path, environment: Mapping[str, str] | None = None
) -> Generator[Plugin]:
    """Run the resource plugin in ``module`` while the context lasts."""
    log = EngineLog()
    engine = grpc.server(ThreadPoolExecutor(max_workers=8))
    engine_pb2_grpc.add_EngineServicer_to_server(log, engine)
    engine_port = engine.add_insecure_port("127.0.0.1:0")
    engine.start()
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {module} import main; main()"],
        cwd=cwd,
        env={**(environment or os.environ), "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout:
        plugin = Plugin(process, int(process.stdout.readline()), log)
        plugin.handshake(f"127.0.0.1:{engine_port}")
        try:
            yield plugin
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
            engine.stop(grace=None)


def urn(resource_type: str, name: str = "it") -> str:
    """The URN of a resource in a stack of the test's own."""
    return f"urn:pulumi:dev::test::{resource_type}::{name}"
