"""Runs the server of a home, and ends it when nobody has used the home for a while.

A session holds a shared lock on ``<home>/sessions`` while its command runs.
"""

import contextlib
import fcntl
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Final

from simulator import server

IDLE_SECONDS: Final = 30 * 60.0
CHECK_SECONDS: Final = 5.0


def in_use(home: Path) -> bool:
    """Whether a session runs a command on ``home`` now."""
    with (home / "sessions").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return False


def end_when_idle(home: Path, idle_seconds: float = IDLE_SECONDS) -> None:
    """Signal this process to end once ``home`` was unused for ``idle_seconds``, or is gone."""
    last_use = time.monotonic()
    while time.monotonic() - last_use < idle_seconds:
        time.sleep(min(CHECK_SECONDS, idle_seconds))
        with contextlib.suppress(OSError):
            if in_use(home):
                last_use = time.monotonic()
        if not home.exists():
            break
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """``python -m simulator.keeper HOME LATENCY [IDLE_SECONDS]``."""
    home = Path(sys.argv[1])
    idle = float(sys.argv[3]) if len(sys.argv) > 3 else IDLE_SECONDS
    threading.Thread(target=end_when_idle, args=(home, idle), daemon=True).start()
    server.main(home / "azure", float(sys.argv[2]))


if __name__ == "__main__":
    main()
