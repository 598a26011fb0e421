"""A Python that starts warm: each start is a fork of a process that has the imports behind it.

The engine starts every plugin anew for every command, the language host starts the program, and
the command plugin an operation for each step. Each of them is a Python that imports a second's
worth of packages, and that is most of what an engine test costs. :func:`interpreter` makes a folder
like a virtual environment's, whose ``bin/python`` is :mod:`tests.warm.client`: it hands its
arguments, directory, environment and standard streams to :mod:`tests.warm.server`, which forks.

The stacks of such tests have their key from :mod:`tests.warm.keys`.

Every start has the modules as they are right after import: what an earlier run did to them it did
in a process of its own, which is gone. A program outside the checkout imports its own modules.

Only for tests, and not for those that are marked ``as_shipped``: they are about how processes
start and end, or about the whole path as people use it.
"""

import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Final

from simulator.home import CHECKOUT
from tests.warm import keys

START_SECONDS: Final = 120.0
KEYS: Final = "keys"
"""The file with the key service's URL, beside the folder ``bin``."""
_HERE: Final = Path(__file__).parent


@contextmanager
def interpreter(folder: Path) -> Generator[Path]:
    """While it lasts there is a warm Python in ``folder``; its path, in a folder ``bin``.

    Beside ``bin`` is a folder ``sh`` with an ``sh`` that runs ``operations/run`` with the warm
    Python, and anything else as the system's; and a file with the URL of a key service.
    """
    address = folder / "socket"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm.server", str(address)],
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not address.exists() and time.monotonic() < deadline:
            assert server.poll() is None, "the warm Python did not start"
            time.sleep(0.02)
        command = (sys.executable, "-S", "-E", str(_HERE / "client.py"), str(address))
        client = " ".join(map(quote, command))
        python = folder / "bin" / "python"
        _script(python, f'exec {client} "$@"')
        checkout = quote(str(CHECKOUT))
        _script(
            folder / "sh" / "sh",
            f'if [ "$1" = operations/run ] && [ "$PWD" = {checkout} ]; then\n'
            f"  shift\n  PYTHONPATH={checkout}\n  export PYTHONPATH\n"
            f'  exec {client} -m operations "$@"\nfi\nexec /bin/sh "$@"',
        )
        with keys.key_service() as url:
            (folder / KEYS).write_text(url)
            yield python
    finally:
        server.terminate()
        server.wait(timeout=30)


def _script(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
