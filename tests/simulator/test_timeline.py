"""The record of what took how long."""

from simulator.timeline import critical, steps, table
from simulator.values import JsonObject


def entry(kind: str, started: float, seconds: float, handler: str = "arm:A.B/things") -> JsonObject:
    return {
        "handler": handler,
        "kind": kind,
        "target": f"/subscriptions/x/{kind}",
        "started": started,
        "seconds": seconds,
        "status": "Succeeded",
    }


def test_steps_are_reported_in_the_order_of_their_start() -> None:
    found = steps([entry("late", 10, 5), entry("early", 0, 100)])
    assert [step.target for step in found] == ["early", "late"]


def test_known_operations_have_a_persons_words() -> None:
    (line,) = table(
        [entry("create", 3, 180, "arm:Microsoft.ContainerService/managedClusters/agentPools")]
    )
    assert "GPU node pool" in line
    assert "180 s" in line


def test_a_failed_step_says_so() -> None:
    (line,) = table([entry("create", 0, 1) | {"status": "Failed"}])
    assert line.endswith("failed")


def test_what_ran_beside_something_longer_is_not_on_the_critical_path() -> None:
    recorded = [entry("pool", 0, 180), entry("rule", 0, 5), entry("agent", 180, 150)]
    path = critical(steps(recorded))
    assert [step.target for step in path] == ["pool", "agent"]
    assert sum(step.seconds for step in path) == 330


def test_of_nothing_there_is_no_path() -> None:
    assert critical([]) == []
