"""The throw-away stack: the real program, in a project and a state of the run's own."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from simulator.values import JsonObject, as_object, as_objects, as_text, bury, dig
from tests.engine.simulation import Outcome, read_events

ROOT: Final = Path(__file__).resolve().parents[2]
STACK: Final = "live"


@dataclass
class ThrowAwayStack:
    """``pulumi`` on the checkout's program, with everything it writes below ``folder``."""

    folder: Path
    settings: dict[str, object]
    """Section to its value, as in a stack file."""
    say: Callable[[str], None]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    secrets_provider: str = "passphrase"
    """Who keeps the key of the state's secrets, as ``pulumi stack init`` takes it."""

    def prepare(self) -> None:
        """Write the project and initialise the stack.

        Raises:
            RuntimeError: pulumi refused.
        """
        for name in ("project", "state"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self._project / "Pulumi.yaml").write_text(yaml.safe_dump(self._project_file()))
        self._write_stack_file()
        answer = self._pulumi("stack", "init", STACK, "--secrets-provider", self.secrets_provider)
        if answer.status and "already exists" not in answer.output:
            raise RuntimeError(answer.output)

    def change(self, section: str, value: object) -> None:
        """Give a section of the stack file another value."""
        self.settings[section] = value
        self._write_stack_file()

    def preview(self, *arguments: str) -> Outcome:
        """``pulumi preview``."""
        return self._run("preview", *arguments)

    def up(self, *arguments: str) -> Outcome:
        """``pulumi up``."""
        return self._run("up", "--yes", "--skip-preview", *arguments)

    def refresh(self, *arguments: str) -> Outcome:
        """``pulumi refresh``."""
        return self._run("refresh", "--yes", "--skip-preview", *arguments)

    def destroy(self, *arguments: str) -> Outcome:
        """``pulumi destroy``."""
        return self._run("destroy", "--yes", "--skip-preview", *arguments)

    def resources(self) -> list[JsonObject]:
        """The resources in state, as the file backend keeps them (``pulumi stack export``)."""
        project = as_text(self._project_file()["name"])
        file = self.folder / "state" / ".pulumi" / "stacks" / project / f"{STACK}.json"
        return as_objects(dig(json.loads(file.read_text()), "checkpoint", "latest", "resources"))

    def output(self, name: str) -> str:
        """One output of the stack, as JSON (``pulumi stack output NAME --json``).

        Raises:
            LookupError: the stack has no such output.
            ValueError: nothing is deployed.
        """
        (stack,) = [one for one in self.resources() if one["type"] == "pulumi:pulumi:Stack"]
        return json.dumps(as_object(stack.get("outputs"))[name])

    def run(self, *command: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """Run one of the project's own commands, in the checkout."""
        return subprocess.run(
            command,
            cwd=ROOT,
            env=dict(self.environment),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def _project(self) -> Path:
        return self.folder / "project"

    def _project_file(self) -> JsonObject:
        """The checkout's, run in place with the Python that runs this.

        In a simulated Azure it is that of the session, which names the plugins and their Python.
        """
        home = self.environment.get("SIM_HOME")
        folder = Path(home) / "project" if home else ROOT
        project = as_object(yaml.safe_load((folder / "Pulumi.yaml").read_text()))
        project["main"] = os.path.relpath(ROOT, self._project)
        if not home:
            bury(project, sys.prefix, "runtime", "options", "virtualenv")
        return project

    def _write_stack_file(self) -> None:
        file = self._project / f"Pulumi.{STACK}.yaml"
        document = as_object(yaml.safe_load(file.read_text())) if file.exists() else {}
        document["config"] = {f"gpuobs:{name}": value for name, value in self.settings.items()}
        file.write_text(yaml.safe_dump(document, sort_keys=False))

    def _run(self, command: str, *arguments: str) -> Outcome:
        log = self.folder / "events.json"
        log.unlink(missing_ok=True)
        self.say(f"pulumi {command} {' '.join(arguments)}".strip())
        done = self._pulumi(
            command, "--stack", STACK, "--non-interactive", "--event-log", str(log), *arguments
        )
        events = log.read_text().splitlines() if log.exists() else []
        return read_events(done, [as_object(json.loads(line)) for line in events if line])

    def _pulumi(self, *arguments: str) -> Outcome:
        """Run pulumi; what it says is shown as it comes.

        Ctrl-C is passed on to it, so that it ends in good order before the interruption goes on.
        """
        environment = {
            **self.environment,
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "throw-away",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DEBUG_COMMANDS": "true",  # --event-log belongs to the hidden flags
        }
        process = subprocess.Popen(
            ["pulumi", "--cwd", str(self._project), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # The terminal's Ctrl-C is for us to pass on.
            start_new_session=True,
        )
        lines: list[str] = []

        def read() -> None:
            for line in process.stdout or ():
                lines.append(line)
                self.say(f"  {line.rstrip()}")

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            status = process.wait()
        except KeyboardInterrupt:
            self.say("interrupted: waiting for pulumi to stop")
            process.send_signal(2)
            process.wait()
            raise
        finally:
            reader.join(timeout=10)
            if process.stdout:
                process.stdout.close()
        return Outcome(status, "".join(lines))
