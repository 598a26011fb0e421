"""The ledger: what the device says is used, what is counted as held, and the difference by cause.

Only live figures are added, and they add up to the device's number. What the difference is from is
an inference, and each row says on what it rests; what nothing speaks for is not attributed, and a
negative rest is shown as one. Profiles never enter the sum: they count allocations, not memory.

Accounts are pods on the nodes where the exporter names pods, one for each device in use; else
nodes, which is the sum of their devices.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memory.reading import Device, Pod, Process, Reading

CONTEXT_BYTES: Final = 640 * 10**6
"""The most that a process' CUDA context and libraries are taken to need.

A context with its kernels takes 200 to 600 MB by GPU and libraries (cuBLAS, NCCL, PyTorch's own
kernels), which no probe sees: the driver takes it itself.
"""


class Cause(StrEnum):
    """Why the device uses more, or less, than is counted."""

    CONTEXT = "CUDA context and libraries"
    BEFORE_AGENT = "taken before the agent came"
    UNSEEN = "allocations that the agent does not see"
    NOT_ATTRIBUTED = "not attributed"
    COUNTED_TOO_MUCH = "counted, and no longer on the device"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A part of what a device uses, in bytes."""

    bytes: float
    process: Process | None = None
    """Who holds it, for what is counted."""
    cause: Cause | None = None
    """Why it is there, for what is not."""
    ground: str = ""
    """What the cause rests on."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """One pod's, or one node's, memory."""

    name: str
    pod: Pod | None
    """None: a node, or all there is."""
    devices: Sequence[Device]
    device_bytes: float | None
    """What the devices say is used; None: nobody says."""
    rows: Sequence[Row]
    ended: Sequence[Process] = ()
    """Processes that are gone, with what they held."""

    @property
    def pods(self) -> set[Pod]:
        """Whose memory it is: its own pod, or those of its processes."""
        processes = (*(row.process for row in self.rows), *self.ended)
        found = {process.pod for process in processes if process is not None}
        return found if self.pod is None else {self.pod}

    @property
    def held(self) -> float:
        """Bytes that the agent counts as held."""
        return sum(row.bytes for row in self.rows if row.process is not None)


def ledger(reading: Reading) -> list[Account]:
    """The accounts, largest first."""
    nodes: dict[str, list[Device]] = {}
    for device in reading.devices:
        nodes.setdefault(device.node, []).append(device)
    of_pods: list[Device] = []
    of_nodes: list[Device] = []
    for devices in nodes.values():
        named = any(one.pod for one in devices) and not any(one.shared for one in devices)
        (of_pods if named else of_nodes).extend(devices)
    owners = {device.pod for device in of_pods}
    others = [one for one in reading.processes if one.pod not in owners]
    accounts = list(_pods(reading, of_pods))
    if of_nodes:
        accounts += _nodes(reading, of_nodes, others)
    else:
        accounts += [
            _account(reading, str(pod), pod, (), of) for pod, of in _by_pod(others).items()
        ]
    return sorted(accounts, key=lambda one: (-(one.device_bytes or one.held), one.name))


def _by_pod(processes: Sequence[Process]) -> dict[Pod, list[Process]]:
    found: dict[Pod, list[Process]] = {}
    for process in processes:
        found.setdefault(process.pod, []).append(process)
    return found


def _pods(reading: Reading, devices: Sequence[Device]) -> Iterator[Account]:
    """The pods that devices belong to; what no pod has, and is used all the same, at the end."""
    held = _by_pod(reading.processes)
    for pod in sorted({one.pod for one in devices if one.pod is not None}):
        own = [one for one in devices if one.pod == pod]
        yield _account(reading, str(pod), pod, own, held.get(pod, []))
    idle = [device for device in devices if device.pod is None]
    if sum(device.used for device in idle):
        yield _account(reading, "devices of no pod", None, idle, [])


def _nodes(
    reading: Reading, devices: Sequence[Device], processes: Sequence[Process]
) -> Iterator[Account]:
    """By node, or all together where a process' node is not known."""
    live = [process for process in processes if process.now or process.ended]
    names = {device.node for device in devices}
    known = all(reading.nodes.get(process.pod, "") in names for process in live)
    if not known:
        yield _account(reading, "all nodes", None, devices, processes)
        return
    for node in sorted(names):
        yield _account(
            reading,
            f"node {node}",
            None,
            [device for device in devices if device.node == node],
            [one for one in processes if reading.nodes.get(one.pod, "") == node],
        )


def _account(
    reading: Reading,
    name: str,
    pod: Pod | None,
    devices: Sequence[Device],
    processes: Sequence[Process],
) -> Account:
    live = sorted((one for one in processes if not one.ended), key=lambda one: -one.now)
    rows = [Row(bytes=process.now, process=process) for process in live]
    used = sum(device.used for device in devices) if reading.devices and devices else None
    if used is not None:
        rest = used - sum(row.bytes for row in rows)
        rows += _causes(reading, pod, live, rest)
    return Account(
        name=name,
        pod=pod,
        devices=devices,
        device_bytes=used,
        rows=rows,
        ended=[one for one in processes if one.ended and one.peak],
    )


# --- the difference ----------------------------------------------------------------------------


def _causes(
    reading: Reading, pod: Pod | None, live: Sequence[Process], rest: float
) -> Iterator[Row]:
    """Rows that add up to ``rest``, the most certain first."""
    if rest < 0:
        yield Row(
            bytes=rest,
            cause=Cause.COUNTED_TOO_MUCH,
            ground="frees that the agent missed, or a device figure older than the counters",
        )
        return
    context = min(rest, CONTEXT_BYTES * len(live))
    if context:
        yield Row(
            bytes=context,
            cause=Cause.CONTEXT,
            ground=f"at most {CONTEXT_BYTES / 1e6:.0f} MB a process, {_count(len(live))}",
        )
        rest -= context
    forgotten = min(rest, sum(process.forgotten for process in live))
    if forgotten:
        yield Row(
            bytes=forgotten,
            cause=Cause.BEFORE_AGENT,
            ground="counted until the agent restarted in this window",
        )
        rest -= forgotten
    age = _age(reading, pod, live)
    if rest and age is not None:
        yield Row(bytes=rest, cause=age[0], ground=age[1])
        rest = 0
    yield Row(
        bytes=rest,
        cause=Cause.NOT_ATTRIBUTED,
        ground="" if not rest else "nothing speaks for one of the causes",
    )


def _age(reading: Reading, pod: Pod | None, live: Sequence[Process]) -> tuple[Cause, str] | None:
    """Which cause the ages of pods and agents speak for; None: not known, or both kinds."""
    pods = {pod} if pod is not None else {process.pod for process in live}
    older: set[bool] = set()
    for one in pods:
        agent = reading.agent_started(reading.nodes.get(one, ""))
        if agent is None or one not in reading.started:
            return None
        older.add(reading.started[one] < agent)
    if older == {True}:
        return Cause.BEFORE_AGENT, "the pod is older than its node's agent"
    if older == {False}:
        return (
            Cause.UNSEEN,
            "the pod is younger than its node's agent: memory by cuMemCreate (PyTorch's expandable "
            "segments, vLLM's sleep mode), or another process on the device",
        )
    return None


def _count(processes: int) -> str:
    return "1 process" if processes == 1 else f"{processes} processes"
