import subprocess
import sys
from pathlib import Path

import pytest

from tests.flamegraphs.command import ROOT


@pytest.mark.parametrize("name", ["profile_pb2.py", "profile_pb2.pyi"])
def test_the_generated_reader_is_in_step_with_its_schema(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT}"]
    command += [f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    subprocess.run([*command, str(ROOT / "flamegraphs" / "profile.proto")], check=True)
    again = (tmp_path / "flamegraphs" / name).read_text()
    assert again == (ROOT / "flamegraphs" / name).read_text(), (
        "run: python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. flamegraphs/profile.proto"
    )
