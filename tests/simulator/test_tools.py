"""``scripts/tools``: a usable tool is found, one that is missing is built once from its pins."""

import hashlib
import re
import stat
import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tools import provide
from tools.environment import Packages, interpreter
from tools.provide import PULUMI, PULUMI_AT_LEAST, ToolError, built_path, main, pulumi_is_recent

assert isinstance(PULUMI.build, provide.Build)
BUILD = PULUMI.build
ROOT = Path(__file__).parents[2]
ADVICE = "https://www.pulumi.com/docs/iac/download-install/"


def target() -> Path:
    path = built_path(PULUMI)
    assert path is not None
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing but a shell: its PATH's first folder, which the test fills."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def executable(file: Path, script: str) -> Path:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def go(machine: Path, note: Path, after: str = "") -> None:
    """A ``go`` that notes its arguments and makes the file that ``-o`` names."""
    script = f"""echo "$PWD: $*" >> {note}
while [ $# -gt 1 ]; do [ "$1" = -o ] && target=$2; shift; done
printf '#!/bin/sh\\necho v9.9.9\\n' > "$target"; chmod +x "$target"
{after}"""
    executable(machine / "go", script)


def test_the_project_asks_for_the_pulumi_that_the_tools_provide() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    least = ".".join(map(str, PULUMI_AT_LEAST))
    assert project["requiredPulumiVersion"] == f">={least}.0"


@pytest.mark.parametrize(
    ("printed", "recent"),
    [
        ("v3.270.0", True),
        ("v3.274.1", True),
        ("v4.0.0", True),
        ("3.271.2-dev", True),
        ("v3.269.9", False),
        ("v2.400.0", False),
        ("no version", False),
    ],
)
def test_a_pulumi_is_recent_enough_from_3_270_on(machine: Path, printed: str, recent: bool) -> None:
    assert pulumi_is_recent(str(executable(machine / "pulumi", f"echo {printed}"))) is recent


def test_a_recent_pulumi_on_path_is_used(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = executable(machine / "pulumi", "echo v3.280.0")
    assert main([]) == 0
    assert capsys.readouterr().out == f"{found}\n"


def test_without_pulumi_and_go_one_message_says_what_to_install(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(
        "scripts/tools: pulumi 3.270 or newer is needed and there is none on PATH."
    )
    assert ADVICE in err
    assert "Go 1.26" in err


def test_an_old_pulumi_is_named_in_the_message(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = executable(machine / "pulumi", "echo v3.100.0")
    assert main([]) == 1
    assert f"{found} is too old" in capsys.readouterr().err


def test_a_missing_pulumi_is_built_from_the_pinned_module_and_kept(
    machine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = tmp_path / "note"
    go(machine, note)
    assert main([]) == 0
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert out == f"{target()}\n" * 2
    (call,) = note.read_text().splitlines()
    assert call.startswith(f"{BUILD.module}: build -trimpath -gcflags=all=-dwarf=false -ldflags ")
    assert f"version.Version={BUILD.version}" in call
    assert call.endswith(BUILD.package)
    assert f"building pulumi {BUILD.version}" in err


def test_the_cache_is_the_users_and_keyed_by_version_and_pins(
    machine: Path, tmp_path: Path
) -> None:
    path = target()
    assert path.is_relative_to(tmp_path / "cache")
    assert BUILD.version in path.parent.name
    (tmp_path / "go.mod").write_text((BUILD.module / "go.mod").read_text())
    (tmp_path / "go.sum").write_text("other pins\n")
    other = replace(PULUMI, build=replace(BUILD, module=tmp_path))
    assert built_path(other) != path


def modules(tool: provide.Tool) -> dict[str, str]:
    """The modules that a tool is built from, with their versions."""
    assert isinstance(tool.build, provide.Build)
    text = (tool.build.module / "go.mod").read_text()
    return dict(re.findall(r"^\s*(?:require )?(\S+\.\S+) (v\S+)", text, re.MULTILINE))


def test_kubectl_and_helm_share_with_the_provider_what_is_compiled_for_it() -> None:
    provider = modules(provide.KUBERNETES_PROVIDER)
    shared = {
        name: version for name, version in modules(provide.KUBECTL).items() if name in provider
    }
    assert len(shared) > 100
    assert shared == {name: provider[name] for name in shared}


def test_calls_at_the_same_time_build_once(machine: Path, tmp_path: Path) -> None:
    note = tmp_path / "note"
    go(machine, note, after="sleep 0.3")
    with ThreadPoolExecutor(max_workers=3) as pool:
        paths = set(pool.map(provide.provide, [PULUMI] * 3))
    assert paths == {target()}
    assert len(note.read_text().splitlines()) == 1


def test_a_failed_build_says_why_and_leaves_nothing_behind(machine: Path, tmp_path: Path) -> None:
    go(machine, tmp_path / "note", after="echo no space left on device; exit 1")
    with pytest.raises(ToolError, match="no space left on device") as failure:
        provide.provide(PULUMI)
    assert ADVICE in str(failure.value)
    assert [file.name for file in target().parent.iterdir()] == ["lock"]


def test_all_that_is_missing_is_named_before_anything_is_built(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(machine))
    executable(machine / "etcd", "exit 0")
    assert main(["kubernetes", "prometheus"]) == 1
    err = capsys.readouterr().err
    for needed in ("kubernetes plugin, version 4", "kube-apiserver", "prometheus", "promtool"):
        assert f"{needed} is needed" in err
    assert "etcd is needed" not in err
    assert "building" not in err


def test_modules_are_built_at_the_same_time_and_the_tools_of_one_after_another(
    machine: Path, tmp_path: Path
) -> None:
    note, shown = tmp_path / "note", tmp_path / "shown"
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if sorted(re.findall(r"(\w+) \(\d+ s\)", text)) == ["promtool", "pulumi"]:
            shown.touch()

    # The builds go on until the line that names both has been shown, however busy the machine is.
    wait = f"n=0; until [ -e {shown} ] || [ $n -gt 600 ]; do /bin/sleep 0.05; n=$((n + 1)); done"
    go(machine, note, after=f"{wait}; echo done >> {note}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(machine))
        patch.setattr("os.cpu_count", lambda: 2)
        patch.setattr(provide, "PROGRESS_SECONDS", 0.1)
        patch.setattr(provide, "say", say)
        tools = [PULUMI, provide.PROMTOOL, provide.PROMETHEUS]
        paths = provide.provide_all(tools)
    assert paths == [built_path(tool) for tool in tools]
    assert shown.exists(), said
    lines = [line.rpartition("/")[2] for line in note.read_text().splitlines()]
    assert sorted(lines[:2]) == ["promtool", "pulumi"]
    assert lines.index("prometheus") > lines.index("done")


def test_a_build_that_fails_does_not_spoil_the_others(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(machine))
    go(machine, tmp_path / "note", after='case "$PWD" in *prometheus) exit 1;; esac')
    with pytest.raises(ToolError, match="building promtool"):
        provide.provide_all([PULUMI, provide.PROMTOOL])
    assert target().exists()


def test_print_env_is_shell_text_that_puts_the_tools_on_path(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    executable(machine / "pulumi", "echo v3.280.0")
    assert main(["--print-env"]) == 0
    text = capsys.readouterr().out
    script = f"{text}\necho $PATH"
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.startswith(f"{machine}:")


def test_an_unknown_name_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["helm"])
    assert "unknown name 'helm'; known: pulumi" in capsys.readouterr().err


def wheel(folder: Path, name: str) -> Path:
    """A package with one module that says its name and its arguments."""
    file = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{name}.py", f"import sys\nprint({name!r}, sys.argv[1:])\n")
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Name: {name}\nVersion: 1.0\n")
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{name}-1.0.dist-info/WHEEL", tags)
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return file


def pinned(folder: Path, file: Path) -> provide.Tool:
    """A tool that is the package in ``file``, pinned with its hash."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    (folder / "requirements.txt").write_text(f"hello==1.0 --hash=sha256:{digest}\n")
    packages = Packages(module=folder, version_of="hello", run="hello", minutes=1)
    return replace(provide.AZURE_CLI, name="hello", needed="hello", build=packages)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the package index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tmp_path


def test_a_tool_of_python_packages_is_installed_once_into_an_environment_of_its_own(
    machine: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = pinned(index, wheel(index, "hello"))
    command = provide.provide(tool)
    assert provide.provide(tool) == command
    assert capsys.readouterr().err.count("installing hello 1.0") == 1
    shown = subprocess.run([command, "a b"], capture_output=True, text=True, check=True).stdout
    assert shown == "hello ['a b']\n"
    assert interpreter(command).exists()


def test_a_package_that_is_not_the_pinned_one_is_refused_and_leaves_no_command(
    machine: Path, index: Path
) -> None:
    file = wheel(index, "hello")
    tool = pinned(index, file)
    wheel(index, "other").replace(file)
    with pytest.raises(ToolError, match=r"installing hello 1\.0 failed"):
        provide.provide(tool)
    path = built_path(tool)
    assert path is not None
    assert not path.exists()
