"""Ledger and verdict as a page of text, for the person who is paged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from flamegraphs.units import amount
from memory.ledger import Account
from memory.parts import Allocated
from memory.reading import Process, Reading
from memory.verdict import Utilization, Verdict

WITHOUT_DEVICES = (
    "What the devices say is used is not known: no DCGM exporter and no nvidia-smi exporter is "
    "collected. Install NVIDIA's dcgm-exporter (or the GPU Operator) and collect it with a "
    "PodMonitor of azmonitoring.coreos.com/v1; then the difference is shown, too."
)
_SHARES = "shares of what was allocated in the window; frees are invisible, so not part of any sum"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What is said of one process, or of a profile alone."""

    name: str
    process: Process | None
    allocated: Allocated | None
    before: Allocated | None
    """Of the window before, as long; None: not asked, or nothing in it."""
    verdict: Verdict
    utilization: Utilization


def ledger_text(
    reading: Reading, accounts: Sequence[Account], allocated: Allocated | None, *, binary: bool
) -> Iterator[str]:
    """The ledger, a paragraph for each account."""
    yield f"GPU memory at {_moment(reading.at)}"
    if not reading.devices:
        yield WITHOUT_DEVICES
    if not accounts:
        yield "No agent counts any process, and no device reports any memory."
    for account in accounts:
        yield ""
        yield from _account(reading, account, binary=binary)
    if allocated is not None:
        yield ""
        yield f"By part: {_SHARES}"
        yield from _parts(allocated)


def _account(reading: Reading, account: Account, *, binary: bool) -> Iterator[str]:
    yield f"{account.name}{_devices(account)}"
    for row in account.rows:
        if row.process is not None:
            yield _line(row.bytes, f"held by process {_process(row.process)}", binary=binary)
    for row in account.rows:
        if row.cause is not None:
            ground = f" ({row.ground})" if row.ground else ""
            yield _line(row.bytes, f"{row.cause}{ground}", binary=binary)
    if account.device_bytes is not None:
        yield _line(account.device_bytes, f"= used, as {reading.device_source} says", binary=binary)
    for process in account.ended:
        yield (
            f"  process {_process(process)} is gone since about {_moment(process.last_seen)}; "
            f"it held {_size(process.held[-1][1], binary=binary)}, at most "
            f"{_size(process.peak, binary=binary)}"
        )


def _devices(account: Account) -> str:
    if len(account.devices) == 1:
        device = account.devices[0]
        where = f" of {device.node}" if account.pod is not None else ""
        return f", GPU {device.index}{where}"
    return f", {len(account.devices)} GPUs" if account.devices else ""


def _line(size: float, text: str, *, binary: bool) -> str:
    return f"  {_size(size, binary=binary):>10}  {text}"


def _size(size: float, *, binary: bool) -> str:
    return amount(round(size), "bytes", binary=binary)


def _process(process: Process) -> str:
    return f"{process.pid} of {process.pod}" if process.pod.name else process.pid


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _parts(allocated: Allocated) -> Iterator[str]:
    for one in allocated.parts:
        share = 100 * one.bytes / allocated.total
        yield f"  {share:5.1f} %  {one.part}, most by {one.function}"


# --- the verdict -------------------------------------------------------------------------------


def explanation_text(explanation: Explanation, *, binary: bool) -> Iterator[str]:
    """A page on one process, or on a profile."""
    one = explanation
    yield one.name
    yield f"  Verdict: {one.verdict.kind}."
    if one.process is not None:
        held, peak = one.process.held[-1][1], one.process.peak
        most = f"at most {_size(peak, binary=binary)} in the window."
        if one.process.ended:
            seen = _moment(one.process.last_seen)
            yield f"  It is gone since about {seen}; it held {_size(held, binary=binary)}, {most}"
        else:
            yield f"  It holds {_size(held, binary=binary)}, {most}"
    for reason in one.verdict.reasons:
        yield f"  - {reason}"
    if one.allocated is not None and one.allocated.parts:
        first = one.allocated.parts[0]
        yield (
            f"  Most was allocated for {first.part}: {_size(first.bytes, binary=binary)}, by "
            f"{first.function}."
        )
        yield f"  {_SHARES[0].upper()}{_SHARES[1:]}:"
        yield from (f"  {line}" for line in _parts(one.allocated))
    yield from _changes(one)
    value = one.utilization.value
    known = (
        f"{value:g}, from {one.utilization.where}" if value is not None else (one.utilization.where)
    )
    yield f"  vLLM's gpu_memory_utilization: {known}."
    yield f"  Next: {one.verdict.next_step}."


def _changes(one: Explanation) -> Iterator[str]:
    if one.allocated is None:
        return
    if one.before is None:
        yield "  Nothing to compare with: no profile of the window before."
        return
    earlier = {part.part: part.bytes for part in one.before.parts}
    changes = {part.part: part.bytes - earlier.pop(part.part, 0) for part in one.allocated.parts}
    changes |= {part: -size for part, size in earlier.items()}
    largest = sorted(changes.items(), key=lambda item: -abs(item[1]))[:3]
    said = ", ".join(
        f"{part} {'+' if size >= 0 else ''}{amount(size, 'bytes')}"
        for part, size in largest
        if size
    )
    yield f"  Against the window before: {said or 'allocated as much for every part'}."
