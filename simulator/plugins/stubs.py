"""Pulumi's gRPC stubs without the SDK around them.

``import pulumi.runtime.proto`` runs the whole SDK's ``__init__``, which costs every plugin 0.15 s
at every start, and the engine starts each plugin anew for every preview and every update. The
stubs need none of it, so the two parent packages stand there empty while they are imported, and
are forgotten again: a later ``import pulumi`` in the same process is the real one.
"""

import importlib.util
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


@contextmanager
def _empty_parents() -> Generator[None]:
    spec = importlib.util.find_spec("pulumi")
    if spec is None or spec.origin is None:
        raise ImportError("the package pulumi is not installed")
    folder = Path(spec.origin).parent
    registered: list[str] = []
    for name, path in (("pulumi", folder), ("pulumi.runtime", folder / "runtime")):
        if name not in sys.modules:
            package = ModuleType(name)
            package.__path__ = [str(path)]
            sys.modules[name] = package
            registered.append(name)
    try:
        yield
    finally:
        for name in registered:
            del sys.modules[name]


with _empty_parents():
    from pulumi.runtime.proto import (
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
