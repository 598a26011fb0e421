"""Waiting: deadlines, give_up_after, advice of services, and what is said meanwhile."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations.clock import Clock
from operations.errors import ExitCode, OperationError
from tests.operations.conftest import assert_says


def not_yet(
    kind: ExitCode = ExitCode.NOT_FOUND, retry_after: float | None = None
) -> OperationError:
    return OperationError(kind, "not there.", transient=True, retry_after=retry_after)


def raising(errors: Iterator[OperationError]) -> Callable[[], str]:
    def probe() -> str:
        for error in errors:
            raise error
        return "found"

    return probe


def forever(error: Callable[[], OperationError]) -> Iterator[OperationError]:
    while True:
        yield error()


def test_an_answer_ends_the_wait() -> None:
    clock = Clock(scale=0)
    assert clock.poll(raising(iter([not_yet()] * 5)), what="it", within=900) == "found"


def test_an_error_that_time_does_not_fix_ends_the_wait() -> None:
    error = OperationError(ExitCode.CONFLICT, "taken")
    with pytest.raises(OperationError) as raised:
        Clock(scale=0).poll(raising(iter([not_yet(), error])), what="it", within=900)
    assert raised.value is error


@given(
    within=st.floats(0, 5000),
    advice=st.lists(st.one_of(st.none(), st.floats(0.001, 10_000)), min_size=1),
)
def test_no_advice_of_a_service_stretches_a_deadline(
    within: float, advice: list[float | None]
) -> None:
    clock = Clock(scale=0)
    calls = 0

    def probe() -> None:
        nonlocal calls
        calls += 1
        raise not_yet(ExitCode.BUSY, advice[calls % len(advice)])

    with pytest.raises(OperationError) as raised:
        clock.poll(probe, what="it", within=within, quiet=True)
    assert raised.value.kind is ExitCode.BUSY
    # What is slept adds up to the deadline; the looks themselves take next to nothing.
    assert clock.now() == pytest.approx(within, abs=2)


def test_the_advice_of_a_service_is_followed() -> None:
    clock = Clock(scale=0)
    clock.poll(raising(iter([not_yet(ExitCode.BUSY, 42)])), what="it", within=900)
    assert clock.now() == pytest.approx(42, abs=1)


def test_a_kind_of_failure_is_given_up_after_its_own_time() -> None:
    clock = Clock(scale=0)
    with pytest.raises(OperationError) as raised:
        clock.poll(raising(forever(lambda: not_yet(ExitCode.UNREACHABLE))), what="it", within=900)
    assert raised.value.kind is ExitCode.UNREACHABLE
    assert clock.now() == pytest.approx(120, abs=2)


def test_what_is_not_waited_for_at_all_is_reported_as_it_is() -> None:
    error = OperationError(ExitCode.FORBIDDEN, "refused", transient=True)
    with pytest.raises(OperationError) as raised:
        Clock(scale=0).poll(
            raising(iter([error])), what="it", within=900, give_up_after={ExitCode.FORBIDDEN: 0.0}
        )
    assert raised.value is error


def test_giving_up_counts_failures_in_a_row() -> None:
    clock = Clock(scale=0)
    kinds = [ExitCode.UNREACHABLE, ExitCode.NOT_FOUND] * 25
    clock.poll(raising(not_yet(kind) for kind in kinds), what="it", within=900)
    assert clock.now() > 120


def test_on_expiry_the_message_says_for_how_long_and_what_was_last_seen() -> None:
    with pytest.raises(OperationError) as raised:
        Clock(scale=0).poll(raising(forever(not_yet)), what="the thing", within=60)
    assert_says(str(raised.value), ["the thing", "after 60 s", "last seen: not there."])


def test_progress_says_what_is_waited_for_and_last_seen_but_not_at_every_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(OperationError):
        Clock(scale=0).poll(raising(forever(not_yet)), what="the thing", within=300)
    lines = capsys.readouterr().err.splitlines()
    assert_says(lines[0], ["waiting for the thing ... 0 s", "last seen: not there"])
    assert 5 <= len(lines) <= 25


def test_a_change_of_what_is_seen_is_reported_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    errors = [OperationError(ExitCode.BUSY, text, transient=True) for text in "aab"]
    Clock(scale=0).poll(raising(iter(errors)), what="it", within=60)
    assert [line[-1] for line in capsys.readouterr().err.splitlines()] == ["a", "b"]


def test_sleeping_is_scaled_but_counted_unscaled() -> None:
    clock = Clock(scale=0.0001)
    clock.sleep(100)
    assert clock.now() == pytest.approx(100, abs=1)
