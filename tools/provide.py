"""Provides the tools that ``scripts/tools`` names: installed ones, or made here.

Most are built from their Go modules; the Azure CLI is installed from its packages.

Made tools go to a cache of the user's, not of the clone, in a folder named after the version and
the pins, so two clones share them and a changed pin never uses an old build. What is
built is pinned by ``tools/<module>/go.mod`` and ``go.sum``, what is installed by
``tools/<module>/requirements.txt``. No program is downloaded ready-made.
"""

import argparse
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.environment import InstallationError, Packages

HERE: Final = Path(__file__).resolve().parent
PROGRESS_SECONDS: Final = 15.0
GO_ADVICE: Final = "install Go 1.26 or newer (https://go.dev/dl/)"


class ToolError(Exception):
    """A tool can be neither found nor built; the message says what to install."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """How a tool is built from its published Go module."""

    module: Path
    """Folder with ``go.mod`` and ``go.sum``."""
    package: str
    """What to build, as ``go build`` names it."""
    version_of: str
    """The module in ``go.mod`` whose version is the tool's."""
    tags: str = ""
    """Build tags, with commas between them."""
    linker_flags: str = "-s -w"
    """``{version}``, ``{major}`` and ``{minor}`` stand for the version and its first parts."""
    embedded: tuple[str, ...] = ()
    """Files of ``version_of`` that our own ``main.go`` embeds; too large to keep a copy here."""
    minutes: int

    @property
    def pins(self) -> bytes:
        """What another build depends on: the pins, and how it is built."""
        flags = self.linker_flags + self.tags
        return (self.module / "go.sum").read_bytes() + flags.encode()

    @property
    def version(self) -> str:
        """The version that would be built."""
        pinned = re.search(
            rf"^\s*(?:require\s+)?{re.escape(self.version_of)}\s+(\S+)",
            (self.module / "go.mod").read_text(),
            re.MULTILINE,
        )
        if pinned is None:
            raise ToolError(f"{self.module / 'go.mod'} does not require {self.version_of}")
        return pinned.group(1)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One executable: how to recognise a usable one, and how to get it otherwise."""

    name: str
    usable: Callable[[str], bool] = lambda _path: True
    """Whether an installed one will do."""
    folders: Callable[[], Sequence[Path]] = lambda: ()
    """Where to look before PATH."""
    needed: str
    """What would do, in a sentence's words."""
    install: str
    """Where a person gets it."""
    build: Build | Packages | None = None
    """None: it is not made here, only found."""


PULUMI_AT_LEAST: Final = (3, 270)
"""The oldest pulumi whose plugin protocol the program's SDK and the simulator's plugins speak."""


def pulumi_is_recent(path: str) -> bool:
    """Whether the pulumi at ``path`` is recent enough."""
    answer = subprocess.run(
        [path, "version"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
    )
    found = re.match(r"v?(\d+)\.(\d+)\.", answer.stdout.strip())
    return found is not None and (int(found[1]), int(found[2])) >= PULUMI_AT_LEAST


def kubernetes_assets() -> Sequence[Path]:
    """The folder of envtest's assets, where there is one (``KUBEBUILDER_ASSETS``)."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    return [Path(folder)] if folder else []


def pulumi_plugins() -> Sequence[Path]:
    """The folders of pulumi's own installed kubernetes plugins (major version 4), newest first."""
    root = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"

    def version(folder: Path) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", folder.name.partition("-v")[2])[:3])

    return sorted(root.glob("resource-kubernetes-v4.*"), key=version, reverse=True)


PULUMI: Final = Tool(
    name="pulumi",
    usable=pulumi_is_recent,
    needed="pulumi " + ".".join(map(str, PULUMI_AT_LEAST)) + " or newer",
    install="https://www.pulumi.com/docs/iac/download-install/",
    build=Build(
        module=HERE / "pulumi",
        package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        version_of="github.com/pulumi/pulumi/pkg/v3",
        linker_flags="-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version={version}",
        minutes=4,
    ),
)

KUBERNETES_PROVIDER: Final = Tool(
    name="pulumi-resource-kubernetes",
    folders=pulumi_plugins,
    needed="Pulumi's kubernetes plugin, version 4",
    install="pulumi plugin install resource kubernetes",
    build=Build(
        module=HERE / "pulumi-resource-kubernetes",
        package=".",
        version_of="github.com/pulumi/pulumi-kubernetes/provider/v4",
        embedded=(
            "cmd/pulumi-resource-kubernetes/schema.json",
            "cmd/pulumi-resource-kubernetes/terraform-mapping.json",
        ),
        minutes=9,
    ),
)

_KUBERNETES_VERSION: Final = "k8s.io/component-base/version"

KUBE_APISERVER: Final = Tool(
    name="kube-apiserver",
    folders=kubernetes_assets,
    needed="kube-apiserver",
    install="https://book.kubebuilder.io/reference/envtest, with KUBEBUILDER_ASSETS set",
    build=Build(
        module=HERE / "kube-apiserver",
        package=".",
        version_of="k8s.io/kubernetes",
        # Clients ask for it: a chart may want a Kubernetes of some version.
        linker_flags=f"-s -w -X {_KUBERNETES_VERSION}.gitVersion={{version}} "
        f"-X {_KUBERNETES_VERSION}.gitMajor={{major}} -X {_KUBERNETES_VERSION}.gitMinor={{minor}}",
        minutes=5,
    ),
)

ETCD: Final = Tool(
    name="etcd",
    folders=kubernetes_assets,
    needed="etcd",
    install="Debian, Ubuntu: apt-get install etcd-server; macOS: brew install etcd",
    build=Build(
        module=HERE / "etcd",
        package=".",
        version_of="go.etcd.io/etcd/server/v3",
        minutes=1,
    ),
)


def _of_prometheus(name: str) -> Tool:
    return Tool(
        name=name,
        needed=name,
        install="Debian, Ubuntu: apt-get install prometheus; macOS: brew install prometheus",
        build=Build(
            module=HERE / "prometheus",
            package=f"github.com/prometheus/prometheus/cmd/{name}",
            version_of="github.com/prometheus/prometheus",
            # It scrapes nothing here, and the clouds' SDKs are most of what there is to compile.
            tags="remove_all_sd",
            minutes=2,
        ),
    )


PROMETHEUS: Final = _of_prometheus("prometheus")
PROMTOOL: Final = _of_prometheus("promtool")


def _client_of_kubernetes(name: str, package: str, version_of: str) -> Tool:
    return Tool(
        name=name,
        # Another version has other commands and arguments, and they are what is wanted of it here.
        usable=lambda _path: False,
        needed=f"the {name} of tools/kubernetes-clients/go.mod",
        install="scripts/tools clients",
        build=Build(
            # The versions are those of the provider's module, so most is compiled already.
            module=HERE / "kubernetes-clients",
            package=package,
            version_of=version_of,
            minutes=1,
        ),
    )


KUBECTL: Final = _client_of_kubernetes("kubectl", ".", "k8s.io/kubectl")
HELM: Final = _client_of_kubernetes("helm", "helm.sh/helm/v3/cmd/helm", "helm.sh/helm/v3")

AZURE_CLI: Final = Tool(
    name="az",
    # Another version has other commands and arguments, and they are what is wanted of it here.
    usable=lambda _path: False,
    needed="the Azure CLI of tools/azcli/requirements.txt",
    install="scripts/tools azcli",
    build=Packages(module=HERE / "azcli", version_of="azure-cli", run="azure.cli", minutes=2),
)

SETS: Final[Mapping[str, tuple[Tool, ...]]] = {
    "pulumi": (PULUMI,),
    "kubernetes": (KUBERNETES_PROVIDER, KUBE_APISERVER, ETCD),
    "prometheus": (PROMETHEUS, PROMTOOL),
    "clients": (KUBECTL, HELM),
    "azcli": (AZURE_CLI,),
}
"""What can be asked for by name."""


def cache_folder() -> Path:
    """The user's cache of built tools."""
    configured = os.environ.get("XDG_CACHE_HOME")
    if configured:
        return Path(configured, "gpuobs")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gpuobs"
    return Path.home() / ".cache" / "gpuobs"


def built_path(tool: Tool) -> Path | None:
    """Where the built ``tool`` is, or would be; None for one that is not built here."""
    return None if tool.build is None else _target(tool, tool.build)


def _target(tool: Tool, build: Build | Packages) -> Path:
    pins = hashlib.sha256(build.pins).hexdigest()[:12]
    return cache_folder() / "tools" / f"{tool.name}-{build.version}-{pins}" / tool.name


def installed(tool: Tool) -> str | None:
    """The path of an installed ``tool``, usable or not; a usable one if there are several."""
    folders = [*map(str, tool.folders()), os.environ.get("PATH", os.defpath)]
    found = [path for folder in folders if (path := shutil.which(tool.name, path=folder))]
    return next(filter(tool.usable, found), next(iter(found), None))


def found(tool: Tool) -> Path | None:
    """The path of a usable ``tool``, installed or built before; None: there is none."""
    there = installed(tool)
    if there and tool.usable(there):
        return Path(there)
    target = built_path(tool)
    return target if target is not None and target.exists() else None


def can_be_built(tool: Tool) -> bool:
    """Whether this machine has what making ``tool`` needs."""
    return isinstance(tool.build, Packages) or (
        tool.build is not None and shutil.which("go") is not None
    )


def _advice(tool: Tool) -> str:
    there = installed(tool)
    seen = f"{there} is too old" if there else "there is none on PATH"
    advice = f"{tool.needed} is needed and {seen}. Install it ({tool.install})"
    if tool.build is None:
        return f"{advice}."
    return f"{advice}, or {GO_ADVICE} and run this again: it will be built."


def provide(tool: Tool) -> Path:
    """The path of a usable ``tool``, built first if need be; progress goes to standard error.

    Raises:
        ToolError: there is none, and it cannot be built.
    """
    return provide_all([tool])[0]


def provide_all(tools: Sequence[Tool]) -> list[Path]:
    """The paths of usable ``tools``; those to be built, as many at once as there are cores.

    Raises:
        ToolError: a build failed; or some can be neither found nor built: then all of them are
            named before any build begins.
    """
    paths = {tool: path for tool in tools if (path := found(tool)) is not None}
    absent = [tool for tool in tools if tool not in paths]
    problems = [_advice(tool) for tool in absent if not can_be_built(tool)]
    if problems:
        raise ToolError("\n".join(problems))
    # Tools of one module share most of what is compiled, so they are built one after another.
    modules: dict[Path, list[tuple[Tool, Build | Packages]]] = {}
    for tool in absent:
        if tool.build is not None:
            modules.setdefault(tool.build.module, []).append((tool, tool.build))
    longest_first = sorted(modules.values(), key=lambda module: -module[0][1].minutes)
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        for built in cores.map(_build_module, longest_first):
            paths.update(built)
    return [paths[tool] for tool in tools]


def _build_module(tools: Sequence[tuple[Tool, Build | Packages]]) -> dict[Tool, Path]:
    paths: dict[Tool, Path] = {}
    for tool, build in tools:
        target = _target(tool, build)
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / "lock").open("w") as lock:
            # Another script may be building it; then its build is ours.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if target.exists():
                pass
            elif isinstance(build, Packages):
                _install(tool, build, target)
            else:
                _build(tool, build, target)
        paths[tool] = target
    return paths


def _build(tool: Tool, build: Build, target: Path) -> None:
    minutes = "a minute" if build.minutes == 1 else f"{build.minutes} minutes"
    say(
        f"building {tool.name} {build.version} from its Go module "
        f"(about {minutes}, once for this machine)"
    )
    partial = target.with_suffix(f".{os.getpid()}.partial")
    # The linker drops what debuggers read, and making it is a fifth of the compiler's work.
    command = ["go", "build", "-trimpath", "-gcflags=all=-dwarf=false"]
    if build.tags:
        command += ["-tags", build.tags]
    major, minor, *_ = build.version.removeprefix("v").split(".")
    flags = build.linker_flags.format(version=build.version, major=major, minor=minor)
    command += ["-ldflags", flags]
    command += ["-o", str(partial), build.package]
    begin = time.monotonic()
    try:
        with _progress(tool.name), tempfile.TemporaryDirectory() as scratch:
            folder = _gathered(build, Path(scratch)) if build.embedded else build.module
            _go(folder, command)
    except _GoError as error:
        partial.unlink(missing_ok=True)
        raise ToolError(
            f"building {tool.name} {build.version} failed:\n{_end_of(error)}\n"
            f"Install {tool.needed} instead ({tool.install}), or fix the cause "
            f"(a Go older than {build.module / 'go.mod'} asks for, no network, no disk space)."
        ) from error
    partial.replace(target)
    say(f"built {tool.name} {build.version} in {time.monotonic() - begin:.0f} s: {target}")


def _install(tool: Tool, packages: Packages, target: Path) -> None:
    begin = time.monotonic()
    say(
        f"installing {tool.name} {packages.version} "
        f"(about {packages.minutes} minutes, once for this machine)"
    )
    try:
        with _progress(tool.name):
            packages.install(target)
    except InstallationError as error:
        raise ToolError(
            f"installing {tool.name} {packages.version} failed:\n{_end_of(error)}\n"
            "Fix the cause (no network, no disk space) and run this again."
        ) from error
    say(f"installed {tool.name} {packages.version} in {time.monotonic() - begin:.0f} s: {target}")


def _gathered(build: Build, folder: Path) -> Path:
    """``folder``, with the program and the files of the module that it embeds."""
    for file in build.module.iterdir():
        shutil.copy(file, folder)
    found = _go(folder, ["go", "mod", "download", "-json", build.version_of])
    module = Path(json.loads(found)["Dir"])
    for name in build.embedded:
        # copyfile: the module's own files are read-only, and so would be their copies.
        shutil.copyfile(module / name, folder / Path(name).name)
    return folder


def _end_of(error: Exception) -> str:
    """The last lines of what a program printed, where it says why."""
    return "\n".join(str(error).strip().splitlines()[-15:])


class _GoError(Exception):
    """Go failed; the text is all it printed."""


def _go(folder: Path, command: Sequence[str]) -> str:
    """Run Go in ``folder``; its standard output."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise _GoError(done.stdout + done.stderr)
    return done.stdout


_running: Final[dict[str, float]] = {}
"""When each build that runs began."""


@contextmanager
def _progress(name: str) -> Generator[None]:
    """Say now and then which builds still run: all of them in one line."""
    _running[name] = time.monotonic()
    done = threading.Event()

    def tell() -> None:
        while not done.wait(PROGRESS_SECONDS):
            running = dict(_running)
            # The one that began first speaks for all.
            if next(iter(running), None) == name:
                say("still building " + ", ".join(map(_age, running.items())))

    def _age(build: tuple[str, float]) -> str:
        return f"{build[0]} ({time.monotonic() - build[1]:.0f} s)"

    threading.Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        done.set()
        del _running[name]


def say(text: str) -> None:
    """A line for the person at the terminal."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> int:
    """``scripts/tools``: provide the named sets of tools and say where they are."""
    parser = argparse.ArgumentParser(
        prog="scripts/tools",
        description="Provides the tools that the other scripts need, and says where they are.",
    )
    parser.add_argument(
        "--print-env",
        action="store_true",
        help='print shell text that puts the tools on PATH: eval "$(scripts/tools --print-env)"',
    )
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help=f"of {', '.join(SETS)}; default: pulumi"
    )
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in SETS]
    if unknown:
        parser.error(f"unknown name {unknown[0]!r}; known: {', '.join(SETS)}")
    try:
        paths = provide_all([tool for name in given.names or ["pulumi"] for tool in SETS[name]])
    except ToolError as error:
        say(f"scripts/tools: {error}")
        return 1
    if given.print_env:
        folders = os.pathsep.join(dict.fromkeys(str(path.parent) for path in paths))
        print(f'export PATH={shlex.quote(folders)}{os.pathsep}"$PATH"')  # noqa: T201
    else:
        for path in paths:
            print(path)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
