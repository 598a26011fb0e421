"""The life of a plugin's process: a gRPC server on loopback that ends with its engine.

The engine reads the port from the first line of standard output, and ends a plugin with SIGINT; one
that stays costs it five seconds. An engine that was killed sends nothing, so the parent is watched.
"""

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

import grpc

_PARALLEL_CALLS = 64
"""The engine works on independent resources at the same time; a waiting one occupies a thread."""

_PARENT_CHECK_SECONDS = 0.5


def serve(
    register: Callable[[grpc.Server], None], on_end: Callable[[], None] | None = None
) -> None:
    """Serve what ``register`` adds until the engine ends, then end the process.

    ``on_end`` runs before the process ends; it must not wait.
    """
    ended = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    engine = os.getppid()

    server = grpc.server(
        ThreadPoolExecutor(max_workers=_PARALLEL_CALLS),
        options=[
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_send_message_length", -1),
        ],
    )
    register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    os.write(1, f"{port}\n".encode())

    while not ended.wait(_PARENT_CHECK_SECONDS):
        if os.getppid() != engine:
            break
    if on_end is not None:
        on_end()
    server.stop(grace=None)
    # Threads that still wait on the simulated cloud must not keep the process.
    os._exit(0)
