"""Provides a Python environment with everything in requirements.txt and requirements-dev.txt.

``scripts/lib.sh`` runs it, with any Python, where no environment carries the stamp of the present
pins. An active environment that has everything is used as it is; otherwise ``.venv`` in the
checkout is made or brought up to date, every download checked against its hash. Prints the path of
the interpreter; progress goes to standard error.

Only the standard library: nothing is installed yet.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = (ROOT / "requirements.txt", ROOT / "requirements-dev.txt")
STAMP = ".gpuobs-requirements"

# Run by the environment in question, which has pip and with it the rules of markers.
MISSING = """
import json, re, sys
from importlib import metadata
from pip._vendor.packaging.requirements import Requirement
missing = []
for name in sys.argv[1:]:
    for line in open(name, encoding="utf-8"):
        line = line.split("#")[0].strip().rstrip("\\\\").strip()
        if not re.match(r"[A-Za-z0-9]", line):
            continue
        wanted = Requirement(line)
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        try:
            found = metadata.version(wanted.name)
        except metadata.PackageNotFoundError:
            found = ""
        if not found or not wanted.specifier.contains(found, prereleases=True):
            missing.append(line)
print(json.dumps(missing))
"""


def say(text: str) -> None:
    """A line for the person at the terminal."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def interpreter(environment: Path) -> Path:
    """The environment's Python."""
    return environment / "bin" / "python"


def missing(environment: Path) -> list[str] | None:
    """The requirements that ``environment`` lacks; None if it cannot be asked."""
    answer = subprocess.run(
        [interpreter(environment), "-c", MISSING, *REQUIREMENTS],
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(answer.stdout) if answer.returncode == 0 else None


def is_recent(environment: Path) -> bool:
    """Whether the environment's Python is one that the project runs on."""
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    answer = subprocess.run([interpreter(environment), "-c", code], check=False)
    return answer.returncode == 0


def bring_up_to_date(environment: Path) -> None:
    """Make ``environment`` if it is missing, and install what it lacks."""
    begin = time.monotonic()
    if not interpreter(environment).exists() or not is_recent(environment):
        say(f"making the Python environment {environment}")
        venv.EnvBuilder(with_pip=True, clear=True).create(environment)
    say("installing the pinned packages (a minute or two the first time)")
    command = [interpreter(environment), "-m", "pip", "install", "--quiet", "--require-hashes"]
    command += ["--disable-pip-version-check"]
    for file in REQUIREMENTS:
        command += ["-r", file]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        sys.exit(f"installing the packages failed (see above); {environment} is incomplete")
    say(f"installed in {time.monotonic() - begin:.0f} s")


def main(stamp: str) -> None:
    """Find or make the environment, mark it with ``stamp``, and print its interpreter."""
    active = os.environ.get("VIRTUAL_ENV")
    if active and interpreter(Path(active)).exists() and missing(Path(active)) == []:
        environment = Path(active)
    else:
        environment = ROOT / ".venv"
        with REQUIREMENTS[0].open() as lock:
            # Another script may be installing: then there is nothing left to do.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not interpreter(environment).exists() or missing(environment) != []:
                bring_up_to_date(environment)
    (environment / STAMP).write_text(f"{stamp}\n")
    print(interpreter(environment))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
