"""Pulumi's project of a home: runs the checkout's program in place and leaves the checkout clean.

The real engine would write an encryption salt into every stack file, and warn about every plugin
that it finds only on PATH. So the project folder is one of the home's own: its ``Pulumi.yaml``
points at the program and names the plugins, and the stack files in it are copies.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

import yaml

from simulator.home import CHECKOUT, Home, SessionError
from simulator.values import JsonObject, as_object, as_text, bury, dig

PASSPHRASE: Final = "simulated"  # noqa: S105 - guards a simulated secret
PLUGINS: Final = {
    "azure-native": "simulator.plugins.azure_native.provider",
    "command": "simulator.plugins.command",
    "kubernetes": "simulator.plugins.kubernetes.provider",
}
LANGUAGE_HOST: Final = "simulator.plugins.language"
_KEY: Final = re.compile(r"^(?:encryptionsalt|secretsprovider|encryptedkey):.*$", re.MULTILINE)
"""What the engine writes into a stack file about the key of its secrets."""


@dataclass(frozen=True)
class Plugins:
    """Which plugins the engine gets from us; those left out are installed ones."""

    providers: Mapping[str, str]
    language_host: bool

    @classmethod
    def choose(
        cls, pulumi: Path, *, installed: bool = True, kubernetes: str | None = None
    ) -> "Plugins":
        """Ours, except an installed language host and command plugin where there are some.

        Args:
            pulumi: the pulumi in use; a language host lies beside it in real installations.
            installed: False: ours always.
            kubernetes: folder of a real ``pulumi-resource-kubernetes`` to use instead of ours.
        """
        providers = dict.fromkeys(PLUGINS, "")
        if kubernetes is not None:
            providers["kubernetes"] = kubernetes
        command = _installed_command() if installed else None
        if command is not None:
            providers["command"] = str(command)
        beside = pulumi.resolve().parent / "pulumi-language-python"
        host = beside.exists() or shutil.which("pulumi-language-python") is not None
        return cls(providers, language_host=not (installed and host))


def _installed_command() -> Path | None:
    """The folder of an installed command plugin, the newest if there are several."""
    on_path = shutil.which("pulumi-resource-command")
    if on_path:
        return Path(on_path).parent
    root = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"
    found = [folder for folder in root.glob("resource-command-v1.*") if folder.is_dir()]
    found = [folder for folder in found if (folder / "pulumi-resource-command").exists()]
    return max(found, key=_version, default=None)


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", folder.name))


class Project:
    """The project folder of a home."""

    def __init__(
        self,
        home: Home,
        pulumi: Path,
        plugins: Plugins,
        *,
        python: Path | None = None,
        program: Path = CHECKOUT,
        stack_files: Path | None = None,
        chart: str | None = None,
        secrets_provider: str | None = None,
    ) -> None:
        """See the class.

        Args:
            home: where the project folder is.
            pulumi: the real one.
            plugins: which plugins the engine gets.
            python: see :class:`simulator.session.Options`.
            program: folder of the program and its ``Pulumi.yaml``.
            stack_files: folder that the stack files are copied from; None: the program's.
            chart: folder, from the program's, of a chart that takes the place of the public one in
                stack files that name none.
            secrets_provider: see :class:`simulator.session.Options`.
        """
        self._secrets_provider = secrets_provider
        self._chart = chart
        self._home = home
        self._pulumi = pulumi
        self._plugins = plugins
        self._python = python
        self._program = program
        self._stack_files = stack_files or program

    @property
    def environment(self) -> dict[str, str]:
        """Pulumi's variables: state, plugins and settings of this home, no calls to pulumi.com."""
        return {
            "PULUMI_HOME": str(self._home.path / "pulumi"),
            "PULUMI_BACKEND_URL": f"file://{self._home.path / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        }

    def prepare(self) -> None:
        """Write the project folder, the plugins' launchers and the shim of ``pulumi``."""
        for folder in ("state", "pulumi", "project", "salts", "bin"):
            (self._home.path / folder).mkdir(parents=True, exist_ok=True)
        self._write_launchers()
        self._write_project_file()
        # Wherever one stands inside a session, pulumi works on this project.
        _write_script(
            self._home.bin / "pulumi",
            f'exec {quote(str(self._pulumi))} --cwd {quote(str(self._home.project))} "$@"',
        )
        self._copy_stack_files()

    def initialise_stacks(self, environment: Mapping[str, str]) -> None:
        """Initialise the stacks that have a file and no state yet.

        Raises:
            SessionError: pulumi refused.
        """
        name = as_text(as_object(_read_yaml(self._program / "Pulumi.yaml")).get("name"))
        states = self._home.path / "state" / ".pulumi" / "stacks" / name
        for file in self._own_stack_files():
            stack = _stack_of(file)
            if any((states / f"{stack}.json{end}").exists() for end in ("", ".gz")):
                continue
            command = [str(self._pulumi), "stack", "init", "--no-select", stack]
            if self._secrets_provider is not None:
                command += ["--secrets-provider", self._secrets_provider]
            answer = subprocess.run(
                command,
                cwd=self._home.project,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if answer.returncode != 0:
                raise SessionError(f"cannot initialise stack {stack!r}:\n{answer.stdout.strip()}")
            self._keep_key(stack)

    def _write_launchers(self) -> None:
        folder = self._home.path / "plugins"
        for name, module in PLUGINS.items():
            self._write_launcher(folder / name / f"pulumi-resource-{name}", module)
        self._write_launcher(folder / "python" / "pulumi-language-python", LANGUAGE_HOST)

    def _write_launcher(self, file: Path, module: str) -> None:
        # Not PYTHONPATH: the commands that a plugin runs must not see it.
        code = (
            f"import sys; sys.path.insert(0, {str(CHECKOUT)!r}); from {module} import main; main()"
        )
        python = quote(str(self._python or sys.executable))
        _write_script(file, f'exec {python} -c {quote(code)} "$@"')

    def _write_project_file(self) -> None:
        """The program's own project file, run in place, with every plugin named.

        A plugin that is only found on PATH costs four warning lines a command.
        """
        project = as_object(_read_yaml(self._program / "Pulumi.yaml"))
        option = ("runtime", "options", "virtualenv")
        virtualenv = dig(project, *option)
        if virtualenv is not None:
            bury(project, self._virtualenv(as_text(virtualenv)), *option)
        plugins: JsonObject = {
            "providers": [
                {"name": name, "path": path or str(self._home.path / "plugins" / name)}
                for name, path in self._plugins.providers.items()
            ]
        }
        if self._plugins.language_host:
            path = str(self._home.path / "plugins" / "python")
            plugins["languages"] = [{"name": "python", "path": path}]
        project["main"] = os.path.relpath(self._program, self._home.project)
        project["plugins"] = plugins
        _write(self._home.project / "Pulumi.yaml", yaml.safe_dump(project, sort_keys=False))

    def _virtualenv(self, named: str) -> str:
        """The program's virtual environment; where it is not there, the one that runs us.

        Absolute, for a relative path would start at the home's project folder.
        """
        if self._python is not None:
            return str(self._python.parent.parent)
        own = self._program / named
        return str(own) if (own / "bin" / "python").exists() else sys.prefix

    def _own_stack_files(self) -> list[Path]:
        return sorted(
            file
            for file in self._stack_files.glob("Pulumi.*.yaml")
            if re.fullmatch(r"Pulumi\.[\w.-]+\.yaml", file.name)
        )

    def _copy_stack_files(self) -> None:
        """Copy the stack files, each with the key of its stack here.

        The engine writes a key (a passphrase's salt) into every stack file without one; a copy
        takes it.
        """
        wanted = {file.name for file in self._own_stack_files()}
        for file in self._home.project.glob("Pulumi.*.yaml"):
            if file.name not in wanted:
                file.unlink()
        for file in self._own_stack_files():
            text = file.read_text()
            if self._chart is not None:
                text = with_chart(text, self._chart)
            if not _KEY.search(text):
                key = self._key_file(_stack_of(file))
                if key.exists():
                    text = f"{key.read_text().strip()}\n{text}"
            _write(self._home.project / file.name, text)

    def _keep_key(self, stack: str) -> None:
        copy = (self._home.project / f"Pulumi.{stack}.yaml").read_text()
        lines = [line.group(0) for line in _KEY.finditer(copy)]
        if lines:
            _write(self._key_file(stack), "\n".join(lines) + "\n")

    def _key_file(self, stack: str) -> Path:
        return self._home.path / "salts" / f"{stack}.yaml"


def with_chart(stack_file: str, path: str) -> str:
    """The stack file with the Pyroscope chart at ``path``.

    Unchanged if it names a chart itself, or has none, as the server is there already.
    """
    document = as_object(yaml.safe_load(stack_file))
    if dig(document, "config", "gpuobs:pyroscope", "existing"):
        return stack_file
    chart = ("config", "gpuobs:pyroscope", "chart")
    if as_object(dig(document, *chart)).keys() & {"oci", "repository", "path"}:
        return stack_file
    bury(document, path, *chart, "path")
    return yaml.safe_dump(document, sort_keys=False)


def _stack_of(file: Path) -> str:
    return file.name.removeprefix("Pulumi.").removesuffix(".yaml")


def _read_yaml(file: Path) -> object:
    try:
        return yaml.safe_load(file.read_text())
    except OSError as error:
        raise SessionError(f"{file} cannot be read: {error.strerror}") from error


def _write_script(file: Path, line: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    _write(file, f"#!/bin/sh\n{line}\n", mode=0o755)


def _write(file: Path, text: str, mode: int = 0o644) -> None:
    """Write all or nothing: another session may be reading."""
    if file.exists() and file.read_text() == text:
        return
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    partial.write_text(text)
    partial.chmod(mode)
    partial.replace(file)
