"""Which plugins a session uses: installed ones where there are some, unless that is not wanted."""

from pathlib import Path

import pytest

from simulator.project import Plugins


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a pulumi and nothing else installed."""
    (tmp_path / "bin").mkdir()
    pulumi = tmp_path / "bin" / "pulumi"
    pulumi.touch(mode=0o755)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    return pulumi


def install_command(machine: Path, *versions: str) -> Path:
    folder = machine
    for version in versions:
        folder = machine.parent.parent / "home" / "plugins" / f"resource-command-v{version}"
        folder.mkdir(parents=True)
        (folder / "pulumi-resource-command").touch(mode=0o755)
    return folder


def test_where_nothing_is_installed_all_plugins_are_the_simulators(machine: Path) -> None:
    chosen = Plugins.choose(machine)
    assert set(chosen.providers) == {"azure-native", "command", "kubernetes"}
    assert set(chosen.providers.values()) == {""}
    assert chosen.language_host


def test_an_installed_command_plugin_is_used(machine: Path) -> None:
    folder = install_command(machine, "1.9.0", "1.10.0")
    assert Plugins.choose(machine).providers["command"] == str(folder)


def test_a_language_host_beside_pulumi_is_used(machine: Path) -> None:
    machine.with_name("pulumi-language-python").touch(mode=0o755)
    assert not Plugins.choose(machine).language_host


def test_installed_plugins_are_left_alone_where_that_is_wanted(machine: Path) -> None:
    install_command(machine, "1.2.1")
    machine.with_name("pulumi-language-python").touch(mode=0o755)
    chosen = Plugins.choose(machine, installed=False)
    assert chosen.providers["command"] == ""
    assert chosen.language_host


def test_azure_native_is_always_the_simulators(machine: Path) -> None:
    folder = machine.parent.parent / "home" / "plugins" / "resource-azure-native-v3.29.0"
    folder.mkdir(parents=True)
    (folder / "pulumi-resource-azure-native").touch(mode=0o755)
    assert Plugins.choose(machine).providers["azure-native"] == ""


def test_a_real_kubernetes_plugin_is_used_where_it_is_asked_for(machine: Path) -> None:
    assert Plugins.choose(machine, kubernetes="/tools").providers["kubernetes"] == "/tools"
