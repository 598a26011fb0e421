"""Provides the tools that ``scripts/tools`` names: installed ones, or built from their Go modules.

Built tools go to a cache of the user's, not of the clone, in a folder named after the version and
the pins, so two clones share them and a changed pin never uses an old build. What is
built is pinned by ``tools/<module>/go.mod`` and ``go.sum``. Nothing is downloaded ready-made.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
    linker_flags: str = "-s -w"
    """``{version}``, ``{major}`` and ``{minor}`` stand for the version and its first parts."""
    embedded: tuple[str, ...] = ()
    """Files of ``version_of`` that our own ``main.go`` embeds; too large to keep a copy here."""
    minutes: int

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
    build: Build | None = None
    """None: it is not built here, only installed."""


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
    install="Debian, Ubuntu: apt-get install etcd-server; Fedora: dnf install etcd; "
    "macOS: brew install etcd",
)

SETS: Final[Mapping[str, tuple[Tool, ...]]] = {
    "pulumi": (PULUMI,),
    # etcd first: where it is missing, nobody waits for the builds to be told.
    "kubernetes": (ETCD, KUBE_APISERVER, KUBERNETES_PROVIDER),
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
    build = tool.build
    if build is None:
        return None
    pinned = (build.module / "go.sum").read_bytes() + build.linker_flags.encode()
    pins = hashlib.sha256(pinned).hexdigest()[:12]
    return cache_folder() / "tools" / f"{tool.name}-{build.version}-{pins}" / tool.name


def installed(tool: Tool) -> str | None:
    """The path of an installed ``tool``, usable or not; a usable one if there are several."""
    folders = [*map(str, tool.folders()), os.environ.get("PATH", os.defpath)]
    found = [path for folder in folders if (path := shutil.which(tool.name, path=folder))]
    return next(filter(tool.usable, found), next(iter(found), None))


def provide(tool: Tool) -> Path:
    """The path of a usable ``tool``, built first if need be; progress goes to standard error.

    Raises:
        ToolError: there is none, and it cannot be built.
    """
    found = installed(tool)
    if found and tool.usable(found):
        return Path(found)
    seen = f"{found} is too old" if found else "there is none on PATH"
    target = built_path(tool)
    if tool.build is None or target is None:
        raise ToolError(f"{tool.needed} is needed and {seen}. Install it ({tool.install}).")
    if target.exists():
        return target
    if shutil.which("go") is None:
        raise ToolError(
            f"{tool.needed} is needed and {seen}. Install it ({tool.install}), "
            f"or {GO_ADVICE} and run this again: it will be built."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "lock").open("w") as lock:
        # Another script may be building it; then its build is ours.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _build(tool, tool.build, target)
    return target


def _build(tool: Tool, build: Build, target: Path) -> None:
    say(
        f"building {tool.name} {build.version} from its Go module "
        f"(about {build.minutes} minutes, once for this machine)"
    )
    partial = target.with_suffix(f".{os.getpid()}.partial")
    command = ["go", "build", "-trimpath"]
    major, minor, *_ = build.version.removeprefix("v").split(".")
    flags = build.linker_flags.format(version=build.version, major=major, minor=minor)
    command += ["-ldflags", flags]
    command += ["-o", str(partial), build.package]
    begin = time.monotonic()
    try:
        with _Progress(tool.name, begin), tempfile.TemporaryDirectory() as scratch:
            folder = _gathered(build, Path(scratch)) if build.embedded else build.module
            _go(folder, command)
    except _GoError as error:
        partial.unlink(missing_ok=True)
        tail = "\n".join(str(error).strip().splitlines()[-15:])
        raise ToolError(
            f"building {tool.name} {build.version} failed:\n{tail}\n"
            f"Install {tool.needed} instead ({tool.install}), or mend the cause "
            f"(a Go older than {build.module / 'go.mod'} asks for, no network, no disk space)."
        ) from error
    partial.replace(target)
    say(f"built {tool.name} {build.version} in {time.monotonic() - begin:.0f} s: {target}")


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


class _Progress:
    """Says now and then that a build still runs."""

    def __init__(self, name: str, begin: float) -> None:
        self._name = name
        self._begin = begin
        self._done = threading.Event()

    def __enter__(self) -> None:
        threading.Thread(target=self._tell, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._done.set()

    def _tell(self) -> None:
        while not self._done.wait(PROGRESS_SECONDS):
            say(f"still building {self._name} ({time.monotonic() - self._begin:.0f} s)")


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
        paths = [provide(tool) for name in given.names or ["pulumi"] for tool in SETS[name]]
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
