"""The command line in a process of its own, as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ("AZURE_", "MSI_", "IDENTITY_", "PULUMI_")


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    error: str


def flamegraphs(*arguments: str, env: Mapping[str, str] | None = None, stdin: bytes = b"") -> Done:
    """Run ``python -m flamegraphs`` without any Azure but what ``env`` gives."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    done = subprocess.run(
        [sys.executable, "-m", "flamegraphs", *arguments],
        cwd=ROOT,
        env={**clean, "NO_PROXY": "127.0.0.1", "PYTHONIOENCODING": "utf-8", **(env or {})},
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())
