"""Stands where a Python would: hands its start to the server, passes on signals, ends as the job.

It runs without site and with as few imports as can be: a start of it is a start of a plugin.
"""

import marshal
import os
import select
import signal
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket

PARENT_CHECK_SECONDS = 0.5


def main() -> None:
    """Run ``client.py SOCKET ARGUMENTS...`` as ``python ARGUMENTS...``."""
    parent = os.getppid()
    jobs: list[int] = []
    early: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        if not jobs:
            early.append(number)
            return
        try:  # noqa: SIM105 - contextlib is one import more
            os.kill(jobs[0], number)
        except ProcessLookupError:
            pass  # it has just ended, and its status is on the way

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    server = socket(AF_UNIX, SOCK_STREAM)
    server.connect(sys.argv[1])
    start = marshal.dumps((sys.argv[2:], os.getcwd(), dict(os.environ)))
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))
    server.sendmsg([len(start).to_bytes(4, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    server.sendall(start)
    jobs.append(int.from_bytes(_read(server, 4), "big"))
    for number in early:
        pass_on(number, None)
    while not select.select([server], [], [], PARENT_CHECK_SECONDS)[0]:
        if os.getppid() != parent:
            os._exit(1)  # the server sees it, and ends the job
    status = int.from_bytes(_read(server, 4), "big", signed=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _read(server: socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = server.recv(size - len(data))
        if not more:
            os._exit(1)
        data += more
    return data


if __name__ == "__main__":
    main()
