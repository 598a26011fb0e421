"""The real pulumi on a simulated Azure, for tests: run a command, then ask what it did.

``Simulation.up("dev")`` and its like answer an :class:`Outcome`, whose steps come from the engine's
own event log: in the order in which the engine finished them, each with its operation.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from simulator import session
from simulator.home import Home
from simulator.session import Options
from simulator.values import JsonObject, as_list, as_number, as_object, as_objects, as_text, dig
from tests import warm
from tests.engine import initial_stacks

STACK_TYPE = "pulumi:pulumi:Stack"
SECRET = "4dabf18193072939515e22adb298388d"  # noqa: S105
"""The key under which the state marks a value as secret (Pulumi, ``resource.SecretSig``)."""
SAME = frozenset({"same", "read", "refresh", "read-discard", "discard"})
"""Operations that change nothing."""


@dataclass(frozen=True)
class Step:
    """One thing the engine did, or in a preview would do, to one resource.

    ``op`` is the engine's word: ``create``, ``update``, ``delete``, ``same``, ``refresh``, and for
    replacements ``create-replacement``, ``replace``, ``delete-replaced``.
    """

    op: str
    urn: str
    diffs: tuple[str, ...] = ()
    """The input properties that differ."""
    failed: bool = False
    seconds: float = 0.0
    """Wall time from its beginning to its end, in whole seconds."""

    @property
    def type(self) -> str:
        """The type token, without the parents' types."""
        return self.urn.split("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        """The resource's name in the program."""
        return self.urn.split("::", 3)[3]

    def __str__(self) -> str:
        return f"{self.op} {self.name}"


@dataclass(frozen=True)
class Outcome:
    """What one pulumi command did."""

    status: int
    output: str
    """Standard output and error as the user sees them."""
    steps: tuple[Step, ...] = ()
    diagnostics: tuple[str, ...] = field(default=(), repr=False)
    """Warnings and errors, one a line."""

    @property
    def ok(self) -> bool:
        """Whether the command succeeded."""
        return self.status == 0

    @property
    def changes(self) -> list[Step]:
        """The steps that changed something, in order; providers and the stack itself left out."""
        return [
            step
            for step in self.steps
            if step.op not in SAME and not step.type.startswith("pulumi:") and not step.failed
        ]

    def ops(self) -> dict[str, str]:
        """The changing operation by resource name; a replacement counts as ``replace``."""
        found: dict[str, str] = {}
        for step in self.changes:
            replaced = "replace" in step.op
            if replaced or found.get(step.name) != "replace":
                found[step.name] = "replace" if replaced else step.op
        return found

    def order(self, *ops: str) -> list[str]:
        """The names of the resources with one of these operations, in order."""
        return [step.name for step in self.changes if step.op in ops]

    def step(self, name: str) -> Step:
        """The last step of the resource ``name``; whether it changed or not."""
        found = [step for step in self.steps if step.name == name]
        assert found, f"no step for {name!r} in {sorted({step.name for step in self.steps})}"
        return found[-1]


class Simulation:
    """Stacks of the checkout's program (or of a test's own) on one simulated Azure."""

    def __init__(self, home: Home, options: Options) -> None:
        self.home = home
        self._extra: dict[str, str] = {}
        if options.python is not None:
            options = replace(options, secrets_provider=warm.keys.PROVIDER)
        self._options = options
        self._session = session.prepare(home, options)
        self._project = as_text(as_object(_yaml(options.program / "Pulumi.yaml")).get("name"))
        if options.python is not None:
            folder = options.python.parents[1]
            self._extra["PATH"] = os.pathsep.join([str(folder / "sh"), self.environment["PATH"]])
            self._extra |= warm.keys.environment((folder / warm.KEYS).read_text())

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a command inside the session."""
        return {**self._session.environment, **self._extra}

    def set_variables(self, **variables: str) -> None:
        """Set environment variables for every command from now on."""
        self._extra |= variables

    @property
    def azure(self) -> session.Azure:
        """The simulated Azure's control interface."""
        return self._session.azure

    def of_program(
        self,
        folder: Path,
        source: str,
        *,
        stacks: Mapping[str, object],
        runtime: object = "python",
    ) -> "Simulation":
        """The same Azure and stacks' home with another program, for tests of the simulator itself.

        Args:
            folder: where the program is written.
            source: ``__main__.py``.
            stacks: name to configuration.
            runtime: ``runtime`` of its ``Pulumi.yaml``.
        """
        project = yaml.safe_dump({"name": "example", "runtime": runtime})
        (folder / "Pulumi.yaml").write_text(project)
        (folder / "__main__.py").write_text(source)
        for stack, config in stacks.items():
            (folder / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump({"config": config}))
        home = Home(self.home.path)
        return Simulation(home, replace(self._options, program=folder, stack_files=folder))

    # --- pulumi -------------------------------------------------------------------------------

    def up(self, stack: str = "dev", *arguments: str, check: bool = True) -> Outcome:
        """``pulumi up``; with ``check`` a failure fails the test."""
        return self._update("up", stack, "--yes", "--skip-preview", *arguments, check=check)

    def preview(self, stack: str = "dev", *arguments: str, check: bool = True) -> Outcome:
        """``pulumi preview``."""
        return self._update("preview", stack, *arguments, check=check)

    def refresh(self, stack: str = "dev", *arguments: str, check: bool = True) -> Outcome:
        """``pulumi refresh``."""
        return self._update("refresh", stack, "--yes", "--skip-preview", *arguments, check=check)

    def destroy(self, stack: str = "dev", *arguments: str, check: bool = True) -> Outcome:
        """``pulumi destroy``."""
        return self._update("destroy", stack, "--yes", "--skip-preview", *arguments, check=check)

    def outputs(self, stack: str = "dev") -> JsonObject:
        """The stack's outputs, secrets shown."""
        for resource in self.state(stack):
            if resource["type"] == STACK_TYPE and SECRET not in json.dumps(resource):
                return as_object(resource.get("outputs"))
        found = self.pulumi("stack", "output", "--json", "--show-secrets", "--stack", stack)
        assert found.ok, found.output
        return as_object(json.loads(found.output))

    def state(self, stack: str = "dev") -> list[JsonObject]:
        """The resources in state, secrets encrypted.

        As the backend keeps it: what ``pulumi stack export`` shows, without starting it.
        """
        text = initial_stacks.state_file(self.home, self._project, stack).read_text()
        return as_objects(dig(json.loads(text), "checkpoint", "latest", "resources"))

    def pulumi(self, *arguments: str) -> Outcome:
        """Any pulumi command; the stacks are there, and their files as they are now."""
        self._prepare()
        answer = self.run("pulumi", *arguments)
        return Outcome(answer.returncode, answer.stdout + answer.stderr)

    def _prepare(self) -> None:
        files = (self._options.stack_files or self._options.program).glob("Pulumi.*.yaml")
        provider = self._options.secrets_provider or ""
        stacks = [(self._project, file.name.split(".", 1)[1][:-5], provider) for file in files]
        missing = initial_stacks.copy(self.home, stacks)
        self._session.project.prepare()
        self._session.project.initialise_stacks(self.environment)
        initial_stacks.keep(self.home, missing)

    def run(self, *command: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """Run any command inside the session, in the checkout."""
        return subprocess.run(
            command,
            cwd=self._options.program,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """Start a command inside the session, to be interrupted or killed."""
        self._prepare()
        return subprocess.Popen(
            command,
            cwd=self._options.program,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def _update(self, command: str, stack: str, *arguments: str, check: bool) -> Outcome:
        log = self.home.path / f"events-{os.getpid()}.json"
        log.unlink(missing_ok=True)
        self._extra["PULUMI_DEBUG_COMMANDS"] = "true"  # --event-log belongs to the hidden flags
        done = self.pulumi(
            command, "--stack", stack, "--non-interactive", "--event-log", str(log), *arguments
        )
        events = log.read_text().splitlines() if log.exists() else []
        outcome = read_events(done, [as_object(json.loads(line)) for line in events])
        if check:
            assert outcome.ok, outcome.output
        return outcome

    # --- Azure --------------------------------------------------------------------------------

    def inspect(self) -> JsonObject:
        """Everything in the simulated Azure (``scripts/simulate --inspect``)."""
        return as_object(self.azure.control("GET", "inspect"))

    def resources(self) -> dict[str, JsonObject]:
        """The ARM resources by id."""
        return {
            key: as_object(value) for key, value in as_object(self.inspect()["resources"]).items()
        }

    def control(self, method: str, what: str, body: object = None) -> object:
        """Call the control interface (:mod:`simulator.control`)."""
        return self.azure.control(method, what, body)

    def faults(self, *rules: JsonObject) -> None:
        """Apply this fault plan; without rules: none."""
        self.control("POST", "settings", {"faults": list(rules)})

    def latency(self, factor: float) -> None:
        """Run with this factor from now on."""
        self.control("POST", "settings", {"latency": factor})
        self._extra |= {"SIM_LATENCY": str(factor), "GPUOBS_TIME_SCALE": str(factor)}

    # --- stack files --------------------------------------------------------------------------

    def stack_file(
        self, stack: str, edits: Mapping[str, object] | None = None, *, like: str | None = None
    ) -> Path:
        """Change the module's own copy of a stack file.

        Args:
            stack: which one; made if missing.
            edits: section and path to a new value, e.g.
                ``{"pyroscope.privateLink.name": "other", "gpuPool.enabled": False}``; None deletes.
            like: start anew from the checkout's file of this stack, and not from the copy as it is.
        """
        folder = self._options.stack_files
        assert folder is not None
        target = folder / f"Pulumi.{stack}.yaml"
        source = self._options.program / f"Pulumi.{like}.yaml" if like else target
        document = as_object(_yaml(source)) if source.exists() else {}
        config = as_object(document.setdefault("config", {}))
        for path, value in (edits or {}).items():
            section, *keys = path.split(".")
            _edit(config, [f"gpuobs:{section}", *keys], value)
        target.write_text(yaml.safe_dump(document, sort_keys=False))
        return target


def _yaml(file: Path) -> object:
    return yaml.safe_load(file.read_text())


def _edit(document: JsonObject, keys: Sequence[str], value: object) -> None:
    for key in keys[:-1]:
        below = as_object(document.get(key))
        document[key] = below
        document = below
    if value is None:
        document.pop(keys[-1], None)
    else:
        document[keys[-1]] = value


def read_events(done: Outcome, events: Sequence[JsonObject]) -> Outcome:
    """``done`` with the steps and diagnostics of the engine's event log."""
    steps: list[Step] = []
    diagnostics: list[str] = []
    begun: dict[str, float] = {}
    for event in events:
        now = as_number(event.get("timestamp"))
        started = as_object(as_object(event.get("resourcePreEvent")).get("metadata"))
        begun.setdefault(as_text(started.get("urn")), now)
        for kind in ("resourcePreEvent", "resOutputsEvent", "resOpFailedEvent"):
            if kind not in event:
                continue
            body = as_object(event[kind])
            # Only a preview is over when it is planned.
            planned = bool(body.get("planning")) == (kind == "resourcePreEvent")
            if planned or kind == "resOpFailedEvent":
                step = _step(as_object(body.get("metadata")), kind == "resOpFailedEvent")
                steps.append(replace(step, seconds=now - begun.get(step.urn, now)))
        message = as_object(event.get("diagnosticEvent"))
        if as_text(message.get("severity")) in ("warning", "error"):
            diagnostics.append(as_text(message.get("message")).strip())
    return replace(done, steps=tuple(steps), diagnostics=tuple(diagnostics))


def _step(metadata: JsonObject, failed: bool) -> Step:
    return Step(
        op=as_text(metadata.get("op")),
        urn=as_text(metadata.get("urn")),
        diffs=tuple(as_text(item) for item in as_list(metadata.get("diffs"))),
        failed=failed,
    )
