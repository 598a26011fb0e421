"""Is it growth or the configured size: histories and profiles whose verdict is known."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from contract.json import Document
from memory.parts import Allocated, PartShare
from memory.reading import Pod, Process
from memory.verdict import UNKNOWN, Kind, Utilization, not_given, utilization_of, verdict
from memory.vocabulary import Part

GB = 10**9
MINUTES = 120


def process(
    held: Callable[[int], float], minutes: int = MINUTES, *, began: bool = False
) -> Process:
    """A history with a point a minute; ``held`` is GB by minute."""
    return Process(
        pod=Pod("inference", "vllm-0"),
        pid="41",
        held=[(60.0 * minute, held(minute) * GB) for minute in range(minutes)],
        ended=False,
        began=began,
    )


def profile(**parts: float) -> Allocated:
    """GB by part, named as members of :class:`Part`."""
    shares = [
        PartShare(
            part=Part[name].value, bytes=round(size * GB), function=f"f_{name}", function_bytes=1
        )
        for name, size in sorted(parts.items(), key=lambda item: -item[1])
    ]
    return Allocated(total=sum(one.bytes for one in shares), parts=shares)


SERVER = profile(KV_CACHE=55.1, WEIGHTS=16, ACTIVATIONS=2)
WORK = profile(ACTIVATIONS=3, OTHER=1)


@dataclass(frozen=True)
class Case:
    process: Process | None
    profile: Allocated | None
    kind: Kind


CASES = {
    # --- the configured size
    "the recorded server, from its profile alone": Case(None, SERVER, Kind.CONFIGURED),
    "a server that is flat": Case(process(lambda _: 73), SERVER, Kind.CONFIGURED),
    "a server that began in the window": Case(
        process(lambda minute: 73 if minute > 3 else 20 * minute, began=True),
        SERVER,
        Kind.CONFIGURED,
    ),
    "one that took all at its start, without a profile": Case(
        process(lambda minute: 73 if minute > 3 else 20, began=True), None, Kind.CONFIGURED
    ),
    "weights alone": Case(
        process(lambda _: 14), profile(WEIGHTS=14, ACTIVATIONS=1), Kind.CONFIGURED
    ),
    "graphs and weights": Case(
        process(lambda _: 9), profile(WEIGHTS=3, CUDA_GRAPHS=3, OTHER=5), Kind.CONFIGURED
    ),
    "a server whose activations waver": Case(
        process(lambda minute: 70 + minute % 3), SERVER, Kind.CONFIGURED
    ),
    # --- growth
    "2 GB an hour": Case(process(lambda minute: 10 + minute / 30), WORK, Kind.GROWTH),
    "2 GB an hour, without a profile": Case(
        process(lambda minute: 10 + minute / 30), None, Kind.GROWTH
    ),
    "growth with a saw": Case(
        process(lambda minute: 10 + minute / 20 + minute % 2), WORK, Kind.GROWTH
    ),
    "growth of a new process": Case(
        process(lambda minute: 0.5 + minute / 10, began=True), WORK, Kind.GROWTH
    ),
    "growth in steps of ten minutes": Case(
        process(lambda minute: 5 + minute // 10), WORK, Kind.GROWTH
    ),
    # --- both
    "a server that leaks on top": Case(process(lambda minute: 73 + minute / 20), SERVER, Kind.BOTH),
    "a server that began and leaks": Case(
        process(lambda minute: 60 + minute / 20 if minute > 3 else 20, began=True),
        SERVER,
        Kind.BOTH,
    ),
    # --- neither
    "a notebook that holds what it holds": Case(process(lambda _: 5), WORK, Kind.NEITHER),
    "a cache that fills and empties": Case(
        process(lambda minute: 2 + minute % 20), WORK, Kind.NEITHER
    ),
    "growth that has stopped": Case(
        process(lambda minute: 5 + min(minute, 30) / 10), WORK, Kind.NEITHER
    ),
    "a job that gives back": Case(process(lambda minute: 20 - minute / 10), WORK, Kind.NEITHER),
    "an agent that restarted": Case(
        process(lambda minute: 60 if minute < 50 else 2), WORK, Kind.NEITHER
    ),
    "noise of a few megabytes": Case(
        process(lambda minute: 5 + minute / 10_000), WORK, Kind.NEITHER
    ),
    "activations, from a profile alone": Case(None, WORK, Kind.NEITHER),
    # --- too little
    "nothing at all": Case(None, None, Kind.TOO_LITTLE),
    "ten minutes of history": Case(process(lambda _: 5, 10), None, Kind.TOO_LITTLE),
    "one point": Case(process(lambda _: 5, 1), None, Kind.TOO_LITTLE),
    "a profile of a few megabytes": Case(None, profile(ACTIVATIONS=0.01), Kind.TOO_LITTLE),
    "ten minutes and a few megabytes": Case(
        process(lambda minute: minute, 10), profile(OTHER=0.01), Kind.TOO_LITTLE
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_the_known_one(name: str) -> None:
    case = CASES[name]
    found = verdict(case.process, case.profile)
    assert found.kind is case.kind, found.reasons
    assert found.next_step
    assert found.reasons


def test_growth_is_said_in_gb_an_hour() -> None:
    found = verdict(process(lambda minute: 10 + minute / 30), WORK)
    assert found.growth.bytes_per_hour == pytest.approx(2 * GB, rel=0.05)
    assert "2.0" in " ".join(found.reasons)


def test_the_next_step_of_a_kv_cache_names_the_setting_and_its_present_value() -> None:
    told = Utilization(value=0.85, where="the arguments of container vllm")
    step = verdict(None, SERVER, told).next_step
    assert "--gpu-memory-utilization (now 0.85)" in step
    assert "(now" not in verdict(None, SERVER, UNKNOWN).next_step


@pytest.mark.parametrize(
    ("held", "share", "kind"),
    [
        # 0.9 of 85.2 GB is 76.7.
        pytest.param(75.2, 0.9, Kind.CONFIGURED, id="the share that it is told to take"),
        pytest.param(40, 0.9, Kind.NEITHER, id="far less"),
        pytest.param(84, 0.9, Kind.NEITHER, id="more"),
        pytest.param(42, 0.5, Kind.CONFIGURED, id="another share"),
        pytest.param(75.2, None, Kind.NEITHER, id="not known"),
    ],
)
def test_a_server_that_holds_the_share_it_is_told_to_take_is_configured_without_a_profile(
    held: float, share: float | None, kind: Kind
) -> None:
    told = Utilization(value=share, where="the arguments of container vllm")
    found = verdict(process(lambda _: held), None, told, 85.2 * GB)
    assert found.kind is kind
    said = "of the GPU's 85.2 GB is" in " ".join(found.reasons)
    assert said == (kind is Kind.CONFIGURED)
    assert verdict(process(lambda _: held), None, told).kind is Kind.NEITHER


def test_growth_on_top_of_a_server_points_at_what_is_not_configured() -> None:
    found = verdict(process(lambda minute: 73 + minute / 20), SERVER)
    assert "f_ACTIVATIONS" in found.next_step


# --- gpu_memory_utilization --------------------------------------------------------------------


def pod(
    *args: str, command: tuple[str, ...] = (), image: str = "vllm/vllm-openai:v0.11"
) -> Document:
    container = {"name": "server", "image": image, "args": [*args], "command": [*command]}
    return Document.parse(json.dumps({"spec": {"containers": [container]}}))


@pytest.mark.parametrize(
    ("spec", "value", "where"),
    [
        (pod("--model", "m", "--gpu-memory-utilization", "0.85"), 0.85, "container server"),
        (pod("--gpu-memory-utilization=0.7"), 0.7, "container server"),
        (pod("--gpu_memory_utilization", "0.6"), 0.6, "container server"),
        (pod(command=("sh", "-c", "vllm serve m --gpu-memory-utilization 0.5")), 0.5, "server"),
        (pod("--model", "m"), 0.9, "vLLM's own default"),
        (pod("train.py", image="pytorch"), None, "no container of the pod runs vLLM"),
    ],
)
def test_where_the_utilization_was_read_is_said(
    spec: Document, value: float | None, where: str
) -> None:
    found = utilization_of(spec)
    assert found.value == value
    assert where in found.where


def test_without_a_pod_it_is_said_that_it_is_not_known() -> None:
    assert UNKNOWN.value is None
    assert "not known" in UNKNOWN.where


def test_of_a_known_pod_the_line_that_prints_its_specification_is_complete() -> None:
    assert "(kubectl get pod vllm-0 --namespace inference --output json > FILE)" in (
        not_given(Pod("inference", "vllm-0")).where
    )
    # A process outside of any pod.
    assert not_given(Pod("", "")) == UNKNOWN
