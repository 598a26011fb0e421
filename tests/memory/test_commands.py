"""``ledger`` and ``explain`` as they are called."""

import json
from pathlib import Path

import pytest

from gpuobs.cli import main
from gpuobs.statuses import Status
from simulator.pyroscope.profile import observations

GROWING = "x;Module > forward;torch.empty 70000000\n"


@pytest.fixture
def vllm(tmp_path: Path) -> str:
    """What the agent recorded of the simulated vLLM server in its first hour."""
    lines = [
        f"{';'.join(seen.stack)} {seen.bytes}"
        for seen in observations(0, 3600)
        if seen.process.pod == "vllm-0"
    ]
    file = tmp_path / "vllm.folded"
    file.write_text("\n".join(lines))
    return str(file)


def test_the_recorded_server_is_its_kv_cache_at_its_configured_size(
    vllm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", vllm]) == Status.DONE
    page = capsys.readouterr().out
    assert "Verdict: the configured size." in page
    assert "KV cache: 55.1 GB, by GPUModelRunner._allocate_kv_cache_tensors" in page
    assert "--gpu-memory-utilization" in page
    assert "gpu_memory_utilization: not known" in page


def test_nine_tenths_of_the_recorded_server_are_not_other(
    vllm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", vllm, "--json"]) == Status.DONE
    (found,) = json.loads(capsys.readouterr().out)
    sizes = {part["part"]: part["bytes"] for part in found["parts"]}
    assert sizes.get("other", 0) <= 0.1 * sum(sizes.values())
    assert found["verdict"] == "configured"
    assert {"KV cache", "weights", "activations"} <= sizes.keys()


def test_the_pods_arguments_are_read_from_its_specification(
    vllm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "pod.json"
    container = {"name": "vllm", "image": "vllm", "args": ["--gpu-memory-utilization=0.85"]}
    spec.write_text(json.dumps({"spec": {"containers": [container]}}))
    assert main(["explain", vllm, "--pod-spec", str(spec)]) == Status.DONE
    page = capsys.readouterr().out
    assert "gpu_memory_utilization: 0.85, from the arguments of container vllm" in page
    assert "(now 0.85)" in page


def test_ci_learns_from_the_status_that_there_is_too_little_to_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small.folded"
    small.write_text("a;b 1000\n")
    assert main(["explain", str(small)]) == Status.DONE
    assert main(["explain", str(small), "--fail-on-growth"]) == Status.NO_SAMPLES
    assert "too little data" in capsys.readouterr().out


def test_a_vocabulary_of_ones_own_is_used_and_a_wrong_one_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile, words = tmp_path / "p.folded", tmp_path / "words.txt"
    profile.write_text(GROWING)
    words.write_text("our layers: Module\\.forward\n")
    assert main(["explain", str(profile), "--vocabulary", str(words)]) == Status.DONE
    assert "our layers" in capsys.readouterr().out
    words.write_text("our layers\n")
    assert main(["explain", str(profile), "--vocabulary", str(words)]) == Status.USAGE
    assert "line 1 is not of the form PART: PATTERN" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain"], "Name a source"),
        (["ledger"], "Name a source"),
        (["explain", "FILE", "--stack", "dev"], "not both"),
        (["explain", "FILE", "--pod-spec", "FILE"], "is no pod"),
    ],
)
def test_what_is_missing_or_too_much_on_the_command_line_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    file = tmp_path / "p.folded"
    file.write_text(GROWING)
    given = [str(file) if one == "FILE" else one for one in arguments]
    assert main(given) == Status.USAGE
    assert said in capsys.readouterr().err


def test_a_prometheus_that_does_not_answer_is_unreachable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["ledger", "--prometheus", "http://127.0.0.1:9"]) == Status.UNREACHABLE
    assert "gives no answer" in capsys.readouterr().err
