"""``alerts`` as it is called."""

from pathlib import Path

import pytest
import yaml

from contract.json import Document
from contract.outputs import UPLOAD_MINUTES_OUTPUT
from gpuobs.cli import main
from gpuobs.statuses import Status
from operations import stack_outputs
from operations.stack_outputs import StackOutputs


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
    ("outputs", "both"),
    [
        ({}, ("[3h]", "[85m]")),
        ({UPLOAD_MINUTES_OUTPUT: 40}, ("[80m]", "[40m]")),
        ({UPLOAD_MINUTES_OUTPUT: 30}, ("[1h]", "[30m]")),
    ],
)
def test_a_stacks_file_looks_back_as_far_as_its_profiles_take_to_blob(
    outputs: dict[str, object],
    both: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = Document({"dashboardUrl": "https://g/d/x", **outputs})

    def read(stack: str) -> StackOutputs:
        return StackOutputs(stack, document)

    monkeypatch.setattr(stack_outputs, "read", read)
    file = tmp_path / "rules.yaml"
    assert main(["alerts", "--stack", "prod", "--output", str(file)]) == Status.DONE
    (group,) = yaml.safe_load(file.read_text())["groups"]
    rules = {rule.get("alert"): rule["expr"] for rule in group["rules"]}
    assert both[0] in rules["PyroscopeUploadsMissing"]
    assert both[1] in rules["PyroscopeRestartedWithProfilesInMemory"]


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
