"""``alerts`` as it is called."""

from pathlib import Path

import pytest
import yaml

from gpuobs.cli import main
from gpuobs.statuses import Status


def test_without_a_stack_the_rules_are_written_with_no_pulumi_and_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    file = tmp_path / "rules.yaml"
    choices = ("--threshold", "leak=2.5", "--on", "nearCapacity", "--off", "restarted")
    assert main(["alerts", "--output", str(file), "--cluster", "aks", *choices]) == Status.DONE
    (group,) = yaml.safe_load(file.read_text())["groups"]
    rules = {rule.get("alert"): rule for rule in group["rules"]}
    assert ">= 2.5" in rules["GpuMemoryLeak"]["expr"]
    assert 'cluster="aks"' in rules["GpuMemoryLeak"]["expr"]
    assert "GpuMemoryNearCapacity" in rules
    assert "PyroscopeRestartedWithProfilesInMemory" not in rules
    assert "dashboard" not in rules["GpuMemoryLeak"]["annotations"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--on", "leeks"], "is no alert; known: leak"),
        (["--threshold", "leak=0"], "no number from 0.05 to 1000"),
        (["--threshold", "leak"], "no number"),
        (["--threshold", "restarted=1"], "has no threshold"),
    ],
)
def test_an_alert_or_threshold_that_there_is_not_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["alerts", *arguments])
    assert left.value.code == Status.USAGE
    assert said in capsys.readouterr().err
