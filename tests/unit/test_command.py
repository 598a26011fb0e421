"""``python -m gpuobs``: one help, one table of exit statuses, one clear message a failure."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flamegraphs import errors
from flamegraphs.errors import FlameGraphError
from gpuobs import VERSION, cli, reference
from gpuobs.statuses import Status, of_operation, of_profile
from gpuobs.verb import Verb
from operations.errors import ExitCode, OperationError

ROOT = Path(__file__).parents[2]
NAMES = [verb.name for verb in cli.VERBS]


def gpuobs(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command as a person runs it."""
    return subprocess.run(
        [sys.executable, "-m", "gpuobs", *arguments],
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# ---- help ----


def test_the_help_names_every_verb_and_every_exit_status() -> None:
    help_text = cli.parser().format_help()
    for verb in cli.VERBS:
        assert f"  {verb.name} " in help_text
        assert verb.summary in help_text
    for status in Status:
        assert f"{status:>3}  {status.meaning}" in help_text


@pytest.mark.parametrize("verb", cli.VERBS, ids=NAMES)
def test_every_verb_explains_itself_with_examples_that_are_understood(verb: Verb) -> None:
    printed = reference.help_text(verb.name, "--help")
    examples = [line.strip() for line in printed.splitlines() if line.startswith("  python -m ")]
    assert len(examples) >= len(verb.examples) > 0
    assert printed.startswith(f"usage: python -m gpuobs {verb.name} {verb.usage}\n")


@pytest.mark.parametrize("verb", cli.VERBS, ids=NAMES)
def test_every_verb_reads_a_stack(verb: Verb) -> None:
    assert "--stack NAME" in reference.help_text(verb.name, "--help")


@pytest.mark.parametrize("name", ["check", "hotspots", "diff"])
def test_what_a_machine_may_read_is_written_as_json(name: str) -> None:
    assert "--json" in reference.help_text(name, "--help")


def test_the_documentation_shows_the_help_of_every_verb() -> None:
    page = reference.page()
    assert reference.PAGE.read_text(encoding="utf-8") == page
    for name in NAMES:
        assert reference.help_text(name, "--help").rstrip() in page


def test_the_command_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["--version"])
    assert left.value.code == Status.DONE
    assert capsys.readouterr().out == f"gpuobs {VERSION}\n"


def test_help_imports_nothing_that_a_verb_alone_needs() -> None:
    code = (
        "import sys\n"
        "from gpuobs.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pydantic', 'httpx', 'azure', 'ssl', 'google.protobuf', 'subprocess',\n"
        "         'grafana_foundation_sdk', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---- output ----


@pytest.mark.parametrize(
    "arguments",
    ["alerts", "dashboard", "hotspots FILE", "explain FILE", "explain FILE --json"],
)
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_an_output_that_takes_nothing_is_one_line_and_no_defect(
    tmp_path: Path, arguments: str, where: str
) -> None:
    if "full" in where and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    file = tmp_path / "a.folded"
    file.write_text("main;f 5\n")
    command = f"{sys.executable} -m gpuobs {arguments.replace('FILE', str(file))} {where}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == Status.FAILED
    assert done.stderr.startswith("error: standard output: cannot be written: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", ["--help", "hotspots --help", "--version"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_help_that_a_full_disk_does_not_take_is_one_line(arguments: str, unbuffered: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m gpuobs {arguments} >/dev/full"],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == Status.FAILED
    assert done.stderr == "error: standard output: cannot be written: No space left on device.\n"


def test_a_closed_output_that_nothing_is_written_to_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "a.folded").write_text("main;f 5\n")
    render = f"{sys.executable} -m gpuobs render {tmp_path}/a.folded -o {tmp_path}/a.svg"
    done = subprocess.run(
        ["sh", "-c", f"{render} >&-"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (Status.DONE, "")


@pytest.mark.parametrize("json_or_text", [[], ["--json"]])
@pytest.mark.parametrize("verb", ["hotspots", "explain"])
def test_what_a_file_calls_things_reaches_the_terminal_as_escapes(
    tmp_path: Path, verb: str, json_or_text: list[str]
) -> None:
    file = tmp_path / "a.folded"
    file.write_text("main;f\x1b[31m\u202egnp 5\n", encoding="utf-8")
    done = gpuobs(verb, str(file), *json_or_text)
    assert done.returncode == Status.DONE
    assert done.stdout.replace("\n", "").isprintable()
    assert "u202egnp" in done.stdout


# ---- exit statuses ----


@pytest.mark.parametrize("kind", list(ExitCode))
def test_a_failure_of_the_operations_keeps_its_number(kind: ExitCode) -> None:
    renamed = {"OK": "DONE", "UNEXPECTED": "FAILED", "BAD_REQUEST": "USAGE"}
    assert of_operation(kind) == kind.value
    assert of_operation(kind).name == renamed.get(kind.name, kind.name)


def every_kind(of: type[FlameGraphError]) -> list[type[FlameGraphError]]:
    return [of, *(kind for one in of.__subclasses__() for kind in every_kind(one))]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (FlameGraphError, Status.FAILED),
        (errors.UsageError, Status.USAGE),
        (errors.UnreachableError, Status.UNREACHABLE),
        (errors.NotAuthorisedError, Status.FORBIDDEN),
        (errors.NotSignedInError, Status.NOT_AUTHENTICATED),
        (errors.TypeAbsentError, Status.NO_PROFILE_TYPE),
        (errors.NoSamplesError, Status.NO_SAMPLES),
        (errors.NotAProfileError, Status.NOT_A_PROFILE),
        (errors.GrowthOverLimitError, Status.GROWTH),
    ],
)
def test_a_failure_of_the_profile_reader_has_its_place_in_the_table(
    kind: type[FlameGraphError], status: Status
) -> None:
    assert of_profile(kind("why")) is status


def test_no_failure_of_the_profile_reader_is_without_a_status_of_its_own() -> None:
    # What a format defines for itself is a special case, with the status of what it is a case of.
    kinds = [kind for kind in every_kind(FlameGraphError) if kind.__module__ == errors.__name__]
    statuses = [of_profile(kind("why")) for kind in kinds]
    assert len(set(statuses)) == len(statuses) == 9


# ---- failures, as a person sees them ----


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], int]:
    """Runs the command with a verb that fails; the exit status."""

    def run(failure: BaseException) -> int:
        def fail(options: argparse.Namespace) -> Status:
            raise failure

        verb = Verb("check", "fail", "", lambda parser: None, fail, ())
        monkeypatch.setattr(cli, "VERBS", (verb,))
        return cli.main(["check"])

    return run


@pytest.mark.parametrize(
    ("failure", "status", "words"),
    [
        (
            OperationError(ExitCode.FORBIDDEN, "It is refused.", why="a role", fix="get it"),
            Status.FORBIDDEN,
            "error: It is refused.\n  why: a role\n  fix: get it\n",
        ),
        (errors.NoSamplesError("No samples."), Status.NO_SAMPLES, "error: No samples.\n"),
        (KeyboardInterrupt(), Status.INTERRUPTED, "error: interrupted\n"),
        (ModuleNotFoundError("no", name="azure.core"), Status.FAILED, "pip install -r"),
        (RuntimeError("a defect"), Status.FAILED, "GPUOBS_DEBUG=1"),
    ],
)
def test_a_failure_is_one_message_without_a_traceback(
    failing: Callable[[BaseException], int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    status: Status,
    words: str,
) -> None:
    monkeypatch.delenv("GPUOBS_DEBUG", raising=False)
    assert failing(failure) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.startswith("error: ")
    assert "Traceback" not in said.err


def test_a_defect_shows_its_traceback_on_request(
    failing: Callable[[BaseException], int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPUOBS_DEBUG", "1")
    assert failing(RuntimeError("a defect")) == Status.FAILED
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "VERB"),
        (["chekc"], "invalid choice"),
        (["check", "--wait", "soon"], "number of seconds"),
        (["check", "--wait", "nan"], "number of seconds"),
        (["check", "--window", "1441"], "from 1 to 1440"),
        (["check", "--stac", "dev"], "unrecognized arguments: --stac"),
        (["hotspots"], "Name a file, or a source"),
    ],
)
def test_a_command_line_that_is_not_understood_is_explained(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = cli.main(arguments)
    except SystemExit as left:
        status = left.code
    assert status == Status.USAGE
    assert words in capsys.readouterr().err


def test_a_damaged_file_has_the_status_of_the_one_table() -> None:
    done = gpuobs("hotspots", "-", stdin="%PDF-1.7\n")
    assert done.returncode == Status.NOT_A_PROFILE
    assert done.stderr.startswith("error: standard input: ")


def test_growth_over_the_limit_has_the_status_of_the_one_table(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("main;a 100\n")
    (tmp_path / "b").write_text("main;a 200\n")
    done = gpuobs("diff", str(tmp_path / "a"), str(tmp_path / "b"), "--fail-on-growth", "10%")
    assert done.returncode == Status.GROWTH
    assert "Whole: 100 -> 200" in done.stdout


@pytest.mark.parametrize("arguments", ["--help", "dashboard"])
def test_a_reader_that_has_seen_enough_is_no_error(arguments: str) -> None:
    command = f"{sys.executable} -m gpuobs {arguments} | head -c 1"
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert len(done.stdout) == 1
    assert done.stderr == ""


# ---- the verbs that are not the profile reader's ----


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Lets ``pulumi`` answer these outputs for the stack ``dev``."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def answer(outputs: object) -> None:
        (tmp_path / "outputs").write_text(json.dumps(outputs))
        command = tmp_path / "pulumi"
        command.write_text(
            f"#!/bin/sh\ncase \"$*\" in *'--stack dev') cat '{tmp_path}/outputs';; *) exit 1;; esac"
        )
        command.chmod(0o755)

    return answer


def written(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert cli.main(arguments) == Status.DONE
    return json.loads(capsys.readouterr().out)


def test_the_dashboard_without_a_stack_is_the_one_for_an_import_by_hand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("dashboard", "--prometheus-uid", "managed-prometheus")
    golden = ROOT / "tests" / "dashboards" / "golden.json"
    assert written(capsys, *arguments) == json.loads(golden.read_text())


def test_the_dashboard_of_a_stack_has_its_uids_unless_others_are_given(
    outputs: Callable[[object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    outputs({"dashboardUrl": "https://g/d/mine", "dataSourceUids": {"pyroscope": "p"}})
    text = json.dumps(dashboard := written(capsys, "dashboard", "--stack", "dev"))
    assert dashboard["uid"] == "mine"
    assert '"p"' in text
    assert "mem_alloc_bytes_total" not in text
    other = written(capsys, "dashboard", "--stack", "dev", "--uid", "other", "--title", "Mine")
    assert (other["uid"], other["title"]) == ("other", "Mine")


def test_a_dashboard_is_written_to_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "dashboard.json"
    assert cli.main(["dashboard", "--output", str(file)]) == Status.DONE
    assert capsys.readouterr().out == ""
    assert json.loads(file.read_text())["uid"] == "AdvancedGPUObservability"
    assert cli.main(["dashboard", "--output", str(tmp_path)]) == Status.USAGE
    assert "cannot be written" in capsys.readouterr().err


def test_a_stack_of_an_earlier_version_is_to_be_deployed_anew(
    outputs: Callable[[object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    outputs({"grafanaEndpoint": "https://g"})
    assert cli.main(["check", "--stack", "dev"]) == Status.NOT_FOUND
    said = capsys.readouterr().err
    assert "Stack dev has no output signalCheck." in said
    assert "`pulumi up --stack dev`" in said


def test_a_check_that_another_version_wrote_is_not_taken_for_one_of_this(
    outputs: Callable[[object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    outputs({"signalCheck": {"endpoint": "https://g", "pyroscopeUid": "p", "tenants": []}})
    assert cli.main(["check", "--stack", "dev"]) == Status.REJECTED
    said = capsys.readouterr().err
    assert "signalCheck of stack dev is not understood" in said
    assert "tenants" in said
