"""``scripts/live``: it asks, cleans up after itself, and no test makes it reach a real Azure."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simulator import seed
from tests.engine.simulation import Simulation
from tests.live.check import Phase, Result, Section, holds
from tests.live.checks import CHECKS
from tests.live.page import PAGE, page
from tests.live.report import as_document, as_markdown
from tests.live.run import Record, run
from tests.live.stack import ROOT, ThrowAwayStack
from tests.live.world import Options, World

COMMAND = (sys.executable, "-m", "tests.live")
REAL = {
    "ARM_SUBSCRIPTION_ID": seed.SUBSCRIPTION_ID,
    "ARM_TENANT_ID": seed.SUBSCRIPTION_ID,
    "ARM_CLIENT_ID": seed.SUBSCRIPTION_ID,
    "ARM_CLIENT_SECRET": "secret",
}
"""What a machine with a real sign-in holds."""


def live(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_test_reaches_a_real_azure_whatever_the_environment_holds() -> None:
    done = live("--subscription", seed.SUBSCRIPTION_ID, "--yes", **REAL, GPUOBS_ARM_URL="")
    assert done.returncode == 1
    assert "tests never call management.azure.com" in done.stderr


def test_nothing_is_made_without_a_yes() -> None:
    done = live("--subscription", seed.SUBSCRIPTION_ID, "--gpu")
    assert done.returncode == 2
    assert "nothing was created" in done.stderr
    # What it would make and cost stands before the question.
    assert re.search(r"costs roughly \d+ US dollars", done.stderr)
    assert "one GPU node Standard_NC4as_T4_v3" in done.stderr


def test_neither_the_gate_nor_the_tests_call_the_command() -> None:
    for name in (".ci/run", "scripts/check", "scripts/test", "scripts/demo", "scripts/simulate"):
        text = (ROOT / name).read_text()
        assert not re.search(r"^\s*(exec\s+)?\S*scripts/live\b", text, re.MULTILINE), name
        assert not re.search(r"tests\.live(?!\.page)", text), name


def test_a_check_that_does_not_exist_and_an_id_that_is_none_are_refused() -> None:
    assert "no check nonsense" in live("--only", "nonsense").stderr
    assert "not a subscription id" in live("--subscription", "mine").stderr


def test_the_list_names_every_check_and_its_assumption() -> None:
    listed = live("--list").stdout
    assert all(one.id in listed and one.assumption in listed for one in CHECKS)


def test_ids_are_distinct_and_each_section_and_phase_has_a_check() -> None:
    assert len({one.id for one in CHECKS}) == len(CHECKS)
    assert {one.section for one in CHECKS} == set(Section)
    assert {one.phase for one in CHECKS} == set(Phase)


def test_the_page_says_what_the_checks_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(
        subscription=seed.SUBSCRIPTION_ID, prefix="gpuobs-live-x", folder=tmp_path / "run"
    )


@pytest.mark.engine
def test_a_run_that_fails_half_way_removes_what_it_made_and_says_so(
    sim: Simulation, inside: Path, options: Options
) -> None:
    said: list[str] = []
    stack = ThrowAwayStack(options.folder, options.settings(), said.append)
    world = World(options, stack)
    refusal = {"error": {"code": "QuotaExceeded", "message": "no cores left"}}
    sim.faults(
        {
            "service": "arm",
            "method": "PUT",
            "path": ".*/managedClusters/[^/]+",
            "count": None,
            "then": {"status": 409, "body": refusal},
        }
    )
    try:
        stack.prepare()
        record = run(world)
    finally:
        sim.faults()
        world.close()
    assert any("no cores left" in one for one in record.problems), record.problems
    assert not record.ok
    # Read before anything is made; the rest says why it was not run.
    assert record.verdicts["one-identity"].result is Result.HOLDS
    assert record.verdicts["endpoint-name"].result is Result.UNKNOWN
    assert "an earlier step failed" in record.verdicts["endpoint-name"].evidence
    assert any("created" in line for line in said)
    assert not [key for key in sim.resources() if options.resource_group in key]


@pytest.mark.engine
def test_ctrl_c_removes_what_was_made_and_writes_the_report(
    sim: Simulation, options: Options
) -> None:
    report = options.folder.parent / "report.json"
    process = sim.start(
        *COMMAND,
        *("--subscription", options.subscription, "--prefix", options.prefix, "--yes"),
        *("--only", "endpoint-name", "--report", str(report)),
        *("--folder", str(options.folder)),
    )
    deadline = time.monotonic() + 120
    while not [key for key in sim.resources() if options.resource_group in key]:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 130, output
    document = json.loads(report.read_text())
    assert document["interrupted"] is True
    assert document["left"] == ""
    assert document["checks"][0]["evidence"] == "not run: interrupted"
    assert options.subscription not in report.read_text()
    assert not [key for key in sim.resources() if options.resource_group in key]


def test_the_report_has_every_check_and_leaves_the_callers_ids_out() -> None:
    verdict = holds("CALLER reads /subscriptions/SUBSCRIPTION")
    record = Record(dict.fromkeys((one.id for one in CHECKS), verdict), left="of SUBSCRIPTION")
    checks = {one.id: one for one in CHECKS}
    secret = {"SUBSCRIPTION": "<subscription>", "CALLER": "<caller>"}
    for text in (
        json.dumps(as_document(record, checks, secret)),
        as_markdown(record, checks, secret),
    ):
        assert all(one.id in text for one in CHECKS)
        assert "SUBSCRIPTION" not in text
        assert "CALLER" not in text
        assert "<caller> reads /subscriptions/<subscription>" in text
