"""Agent and server that do not fit each other are named, whenever their versions become known."""

import pytest

from tests.engine.simulation import Simulation

pytestmark = pytest.mark.engine

REFUSED = "invalid metric name"
OLD_AGENT = {"inspektorGadget.releaseTrain": "stable"}
"""The simulated train installs 0.53.0."""


def test_the_contract_is_checked_when_the_agent_is_installed_and_at_every_preview_after(
    sim: Simulation,
) -> None:
    sim.stack_file("dev", {**OLD_AGENT, "pyroscope.imageTag": "1.19.2"}, like="dev")
    # Which version a train brings is not known before.
    assert sim.preview().ok
    first = sim.up(check=False)
    assert not first.ok
    assert REFUSED in first.output
    assert "this agent: 0.53.0" in first.output
    assert "Traceback" not in first.output

    # From now on it is.
    second = sim.preview(check=False)
    assert not second.ok
    assert REFUSED in second.output
    assert "the installed agent is 0.53.0" in second.output

    sim.stack_file("dev", {"pyroscope.imageTag": "1.15.0"})
    sim.up()
    signal = sim.run("python", "-m", "gpuobs", "check", "--stack", "dev", "--wait", "300")
    assert "[ok] versions: Inspektor Gadget 0.53.0, Pyroscope 1.15.0" in signal.stdout
    assert "The signal arrives." in signal.stdout

    sim.stack_file("dev", {"pyroscope.imageTag": "1.16.0"})
    refused = sim.preview(check=False)
    assert not refused.ok
    assert refused.changes == []
    assert REFUSED in refused.output


def test_a_server_for_which_the_agent_is_upgraded_too_is_deployed(sim: Simulation) -> None:
    sim.stack_file(
        "dev",
        {"pyroscope.imageTag": "1.19.2", "inspektorGadget.releaseTrain": "preview"},
    )
    sim.up()
    signal = sim.run("python", "-m", "gpuobs", "check", "--stack", "dev", "--wait", "300")
    assert "[ok] versions: Inspektor Gadget 0.54.1, Pyroscope 1.19.2" in signal.stdout
