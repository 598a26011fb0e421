"""A Python language host, for machines without ``pulumi-language-python``.

It runs the program with the Python that its ``Pulumi.yaml`` names, and shows what the program
prints. It also runs plugins written in Python (policy packs, components) as the engine asks for
them. Not here: code generation, templates: those need a real installation of Pulumi.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import IO, cast

import grpc
from google.protobuf import empty_pb2
from typing_extensions import override

from simulator.plugins.environment import Environment, RuntimeOptionsError
from simulator.plugins.serving import serve
from simulator.plugins.stubs import language_pb2, language_pb2_grpc, plugin_pb2

VERSION = "3.272.0"


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Answers the engine for programs written in Python."""

    def __init__(self, engine_address: str) -> None:
        self._engine_address = engine_address
        self._children: set[subprocess.Popen[bytes]] = set()

    def end_children(self) -> None:
        """Interrupt the programs that still run."""
        for child in list(self._children):
            child.send_signal(signal.SIGINT)

    @override
    def Handshake(
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        self._engine_address = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    @override
    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=VERSION)

    @override
    def GetRequiredPlugins(
        self, request: language_pb2.GetRequiredPluginsRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPluginsResponse:
        return language_pb2.GetRequiredPluginsResponse()

    @override
    def GetRequiredPackages(
        self, request: language_pb2.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPackagesResponse:
        return language_pb2.GetRequiredPackagesResponse()

    @override
    def About(
        self, request: language_pb2.AboutRequest, context: grpc.ServicerContext
    ) -> language_pb2.AboutResponse:
        environment = Environment.of(request.info)
        version = environment.ask("import json, sys; print(json.dumps(list(sys.version_info[:3])))")
        return language_pb2.AboutResponse(
            executable=environment.python,
            version=".".join(str(part) for part in cast("list[int]", version)),
        )

    @override
    def GetProgramDependencies(
        self,
        request: language_pb2.GetProgramDependenciesRequest,
        context: grpc.ServicerContext,
    ) -> language_pb2.GetProgramDependenciesResponse:
        found = cast("list[list[str]]", Environment.of(request.info).ask(_DISTRIBUTIONS))
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[
                language_pb2.DependencyInfo(name=name, version=version) for name, version in found
            ]
        )

    @override
    def InstallDependencies(
        self,
        request: language_pb2.InstallDependenciesRequest,
        context: grpc.ServicerContext,
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        directory = request.info.program_directory or request.directory
        try:
            for command in Environment.of(request.info).installation(Path(directory)):
                done = subprocess.run(
                    command,
                    cwd=directory,
                    capture_output=True,
                    check=False,
                    stdin=subprocess.DEVNULL,
                )
                yield language_pb2.InstallDependenciesResponse(
                    stdout=done.stdout, stderr=done.stderr
                )
                if done.returncode != 0:
                    context.abort(grpc.StatusCode.UNKNOWN, f"{shlex.join(command)} failed")
        except RuntimeOptionsError as problem:
            context.abort(grpc.StatusCode.UNKNOWN, str(problem))

    @override
    def Run(
        self, request: language_pb2.RunRequest, context: grpc.ServicerContext
    ) -> language_pb2.RunResponse:
        directory = request.info.program_directory or request.pwd or os.getcwd()
        entry = request.info.entry_point
        settings = {
            "program": str(Path(directory, "" if entry in ("", ".") else entry)),
            "engine": self._engine_address,
            "monitor": request.monitor_address,
            "project": request.project,
            "stack": request.stack,
            "organization": request.organization,
            "parallel": request.parallel,
            "dry_run": request.dryRun,
            "config": dict(request.config),
            "secret_keys": list(request.configSecretKeys),
            "root": request.info.root_directory,
            "arguments": list(request.args),
        }
        try:
            environment = Environment.of(request.info)
            python = environment.python
        except RuntimeOptionsError as problem:
            return language_pb2.RunResponse(error=str(problem))
        child = subprocess.Popen(
            [python, "-u", str(Path(__file__).with_name("program.py"))],
            cwd=request.pwd or directory,
            stdin=subprocess.PIPE,
            env=os.environ | environment.variables | _program_environment(request),
            # Our own standard output and error are the user's; the child inherits them.
        )
        self._children.add(child)
        try:
            child.communicate(json.dumps(settings).encode())
        finally:
            self._children.discard(child)
        if child.returncode == _REPORTED:
            return language_pb2.RunResponse(bail=True)
        if child.returncode != 0:
            return language_pb2.RunResponse(
                error=f"program exited with non-zero exit code: {child.returncode}"
            )
        return language_pb2.RunResponse()

    @override
    def RunPlugin(
        self, request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.RunPluginResponse]:
        program = request.info.program_directory
        entry = request.info.entry_point
        environment = Environment.of(request.info)
        child = subprocess.Popen(
            [
                environment.python,
                "-u",
                str(Path(program, "" if entry in ("", ".") else entry)),
                *request.args,
            ],
            cwd=request.pwd or program,
            env={
                **os.environ,
                **environment.variables,
                **dict(pair.split("=", 1) for pair in request.env),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._children.add(child)
        context.add_callback(child.terminate)  # the engine hangs up when it needs it no longer
        try:
            yield from _stream(child)
            yield language_pb2.RunPluginResponse(exitcode=child.wait())
        finally:
            self._children.discard(child)


_REPORTED = 32
"""The program's exit status that means: failed, and the engine knows why."""


_DISTRIBUTIONS = """
import json
from importlib.metadata import distributions
print(json.dumps([[found.name, found.version] for found in distributions()]))
"""


def _program_environment(request: language_pb2.RunRequest) -> dict[str, str]:
    return {
        "PULUMI_PROJECT": request.project,
        "PULUMI_STACK": request.stack,
        "PULUMI_ORGANIZATION": request.organization,
    }


def _stream(child: subprocess.Popen[bytes]) -> Iterator[language_pb2.RunPluginResponse]:
    """Both streams of ``child`` as they come, until both have ended."""
    chunks: SimpleQueue[language_pb2.RunPluginResponse | None] = SimpleQueue()

    def read(pipe: IO[bytes], name: str) -> None:
        while chunk := os.read(pipe.fileno(), 65536):
            chunks.put(
                language_pb2.RunPluginResponse(stdout=chunk)
                if name == "stdout"
                else language_pb2.RunPluginResponse(stderr=chunk)
            )
        chunks.put(None)

    pipes = [
        (pipe, name) for pipe, name in ((child.stdout, "stdout"), (child.stderr, "stderr")) if pipe
    ]
    for pipe, name in pipes:
        threading.Thread(target=read, args=(pipe, name), daemon=True).start()
    ended = 0
    while ended < len(pipes):
        chunk = chunks.get()
        if chunk is None:
            ended += 1
        else:
            yield chunk


def main() -> None:
    """Serve the language host; the engine starts this with its address as the last argument."""
    host = LanguageHost(sys.argv[-1])
    serve(
        lambda server: language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server),
        on_end=host.end_children,
    )


if __name__ == "__main__":
    main()
