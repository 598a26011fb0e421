"""Pulumi's gRPC stubs without the SDK around them.

``import pulumi.runtime.proto`` runs the whole SDK's ``__init__``, which costs every plugin 0.15 s
at every start, and the engine starts each plugin anew for every preview and every update. The
stubs need none of it, so the two parent packages are registered empty before they are imported.
A process that uses the SDK itself must import it first (then nothing is registered).
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def _register_empty(name: str, folder: Path) -> None:
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package


def _without_sdk() -> None:
    if "pulumi" in sys.modules:
        return
    spec = importlib.util.find_spec("pulumi")
    if spec is None or spec.origin is None:
        raise ImportError("the package pulumi is not installed")
    folder = Path(spec.origin).parent
    _register_empty("pulumi", folder)
    _register_empty("pulumi.runtime", folder / "runtime")


_without_sdk()

from pulumi.runtime.proto import (  # noqa: E402
    engine_pb2,
    engine_pb2_grpc,
    language_pb2,
    language_pb2_grpc,
    plugin_pb2,
    provider_pb2,
    provider_pb2_grpc,
    status_pb2,
)

__all__ = [
    "engine_pb2",
    "engine_pb2_grpc",
    "language_pb2",
    "language_pb2_grpc",
    "plugin_pb2",
    "provider_pb2",
    "provider_pb2_grpc",
    "status_pb2",
]
