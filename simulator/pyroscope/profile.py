"""The GPU workloads of the simulated cluster and what they allocate over time.

Everything the agent could observe is derived from here: profiles (this package) and metrics
(:mod:`simulator.prometheus`). It is deterministic: the same window answers the same bytes.

* ``vllm-0`` serves a language model: on start it loads weights, runs a profiling pass and fills
  most of the GPU with the KV cache; then each batch allocates a little more.
* ``vllm-1`` serves an embedding model: weights and activations, no KV cache.
* ``notebook-0`` allocates a tensor now and then, and frees it again.
* ``sweep-0`` is a job that ends with memory in hand. It allocates by a call that the profiling
  gadget does not hook, so only the metrics know of it.

The workloads start when observation starts: an operator restarts them to see their start-up,
because allocations made before the agent ran are never seen. Frames carry what real stacks carry:
interpreter trampolines, raw addresses, native leaves without symbols.

Non-goal: live memory in profiles. Like the agent, a profile counts bytes allocated, never frees.
"""

from collections.abc import Iterator
from dataclasses import dataclass

TRAMPOLINE = "<interpreter trampoline>"
KV_CACHE_BYTES = 55_100_000_000
"""What ``GPUModelRunner._allocate_kv_cache_tensors`` allocates: 55.1 GB (not GiB)."""

_NATIVE_ALLOCATION = ("libtorch_cuda.so+0x2f1c40", "0x7f1515c0a2b0", "libcudart.so.12+0x4d5e1")
"""What stands below PyTorch's allocator in a stack: native code without Python symbols."""


@dataclass(frozen=True)
class Process:
    """A process that allocates GPU memory, under the names by which agents label it."""

    namespace: str
    pod: str
    command: str
    pid: int
    ends: float | None = None
    """Seconds after observation began at which it exits; None: it runs on."""

    def is_running(self, at: float) -> bool:
        """Whether it has not ended by ``at`` (seconds after observation began)."""
        return self.ends is None or at < self.ends


@dataclass(frozen=True)
class Allocation:
    """Bytes that a process allocates with one call stack, once or repeatedly.

    Times are seconds after observation began.
    """

    process: Process
    stack: tuple[str, ...]
    """Outermost frame first."""
    bytes: int
    first: float
    every: float | None = None
    """Seconds between repetitions; None: it happens once."""
    profiled: bool = True
    """False: by a call that the profiling gadget does not hook (``cuMemAllocAsync``); the metrics
    count it all the same."""
    freed: bool = False
    """Freed before the next repetition; a process that frees nothing has no metric of frees."""

    def times(self, until: float) -> Iterator[float]:
        """When it happens, up to and including ``until`` (seconds after observation began)."""
        at = self.first
        while at <= until and self.process.is_running(at):
            yield at
            if self.every is None:
                return
            at += self.every


@dataclass(frozen=True)
class Observation:
    """Bytes that a process allocated with one stack in one second of observation."""

    at: float
    """Seconds after observation began."""
    process: Process
    stack: tuple[str, ...]
    bytes: int


def observations(start: float, end: float) -> Iterator[Observation]:
    """What the agent saw in ``[start, end]``, both in seconds after observation began."""
    for allocation in ALLOCATIONS:
        for at in allocation.times(end) if allocation.profiled else ():
            if at >= start:
                yield Observation(at, allocation.process, allocation.stack, allocation.bytes)


def _python(*frames: str) -> tuple[str, ...]:
    """A stack of a Python program: each function runs under an interpreter trampoline."""
    calls = [step for frame in frames for step in (TRAMPOLINE, frame)]
    return ("0x7f151a2d90b4", "Py_RunMain", *calls)


_LANGUAGE_MODEL = Process("inference", "vllm-0", "VLLM::EngineCor", 4211)
_EMBEDDING_MODEL = Process("inference", "vllm-1", "VLLM::EngineCor", 5120)
_NOTEBOOK = Process("research", "notebook-0", "python3", 733)
_SWEEP = Process("research", "sweep-0", "python3", 902, ends=0.25)

_ENGINE = _python("<module>", "EngineCoreProc > run_engine_core", "EngineCore > __init__")
_WORKER_INIT = (TRAMPOLINE, "EngineCore > _initialize_kv_caches")
_KV_CACHE = (
    *_ENGINE,
    *_WORKER_INIT,
    TRAMPOLINE,
    "Worker > initialize_from_config",
    TRAMPOLINE,
    "GPUModelRunner > initialize_kv_cache",
    TRAMPOLINE,
    "GPUModelRunner > _allocate_kv_cache_tensors",
    *_NATIVE_ALLOCATION,
)
_LOAD_MODEL = (
    *_ENGINE,
    TRAMPOLINE,
    "UniProcExecutor > _init_executor",
    TRAMPOLINE,
    "Worker > load_model",
    TRAMPOLINE,
    "GPUModelRunner > load_model",
    TRAMPOLINE,
    "initialize_model",
    TRAMPOLINE,
)
_PROFILE_RUN = (
    *_ENGINE,
    *_WORKER_INIT,
    TRAMPOLINE,
    "Worker > determine_available_memory",
    TRAMPOLINE,
    "GPUModelRunner > profile_run",
    TRAMPOLINE,
    "GPUModelRunner > _dummy_run",
    TRAMPOLINE,
)
_BATCH = (
    *_python(
        "<module>",
        "EngineCoreProc > run_engine_core",
        "EngineCoreProc > run_busy_loop",
        "EngineCore > step",
        "Worker > execute_model",
        "GPUModelRunner > execute_model",
    ),
    TRAMPOLINE,
)
_CELL = _python("<module>", "ZMQInteractiveShell > run_cell", "train_step")

ALLOCATIONS: tuple[Allocation, ...] = (
    # Self, not a native leaf: PyTorch's allocator was inlined into the call.
    Allocation(_LANGUAGE_MODEL, _KV_CACHE, KV_CACHE_BYTES, first=0.0),
    Allocation(
        _LANGUAGE_MODEL,
        (*_LOAD_MODEL, "QKVParallelLinear > create_weights", *_NATIVE_ALLOCATION),
        9_663_676_416,
        first=0.0,
    ),
    Allocation(
        _LANGUAGE_MODEL,
        (*_LOAD_MODEL, "MergedColumnParallelLinear > create_weights", *_NATIVE_ALLOCATION),
        5_368_709_120,
        first=0.0,
    ),
    Allocation(
        _LANGUAGE_MODEL,
        (*_LOAD_MODEL, "VocabParallelEmbedding > __init__", *_NATIVE_ALLOCATION),
        1_050_673_152,
        first=0.0,
    ),
    Allocation(
        _LANGUAGE_MODEL,
        (*_PROFILE_RUN, "LlamaDecoderLayer > forward", *_NATIVE_ALLOCATION),
        2_147_483_648,
        first=0.0,
    ),
    # A thread of NCCL: native all the way down, nothing to attribute it to.
    Allocation(
        _LANGUAGE_MODEL, ("0x7f150c0ffee0", "libnccl.so.2+0x5a110", "<unknown>"), 268_435_456, 0.0
    ),
    Allocation(
        _LANGUAGE_MODEL,
        (*_ENGINE, TRAMPOLINE, "GPUModelRunner > capture_model"),
        1_610_612_736,
        first=0.0,
        profiled=False,
    ),
    Allocation(
        _LANGUAGE_MODEL,
        (*_BATCH, "Sampler > forward", *_NATIVE_ALLOCATION),
        33_554_432,
        first=60.0,
        every=600.0,
    ),
    Allocation(
        _EMBEDDING_MODEL,
        (*_LOAD_MODEL, "QKVParallelLinear > create_weights", *_NATIVE_ALLOCATION),
        1_207_959_552,
        first=0.0,
    ),
    Allocation(
        _EMBEDDING_MODEL,
        (*_BATCH, "Pooler > forward", *_NATIVE_ALLOCATION),
        16_777_216,
        first=120.0,
        every=600.0,
    ),
    Allocation(
        _NOTEBOOK,
        (*_CELL, TRAMPOLINE, "Tensor.to", *_NATIVE_ALLOCATION),
        536_870_912,
        first=0.0,
        every=900.0,
        freed=True,
    ),
    Allocation(_SWEEP, (*_CELL, "Linear.forward"), 2_147_483_648, first=0.0, profiled=False),
)


def processes() -> tuple[Process, ...]:
    """Every process, in the order of its first allocation here."""
    return tuple(dict.fromkeys(allocation.process for allocation in ALLOCATIONS))


def held(process: Process, at: float) -> int:
    """Bytes that ``process`` holds at ``at`` (seconds after observation began)."""
    return allocated(process, at) - freed(process, at) - freed_implicitly(process, at)


def allocated(process: Process, at: float) -> int:
    """Bytes that it has allocated until ``at``."""
    return sum(one.bytes * _count(one, at) for one in _of(process))


def freed(process: Process, at: float) -> int:
    """Bytes that it has freed by calls."""
    # What is freed goes just before it is allocated anew: one free less than allocations.
    return sum(one.bytes * max(0, _count(one, at) - 1) for one in _of(process) if one.freed)


def freed_implicitly(process: Process, at: float) -> int:
    """Bytes that the driver took back from it, which happens when it exits."""
    if process.is_running(at):
        return 0
    return allocated(process, at) - freed(process, at)


def _of(process: Process) -> tuple[Allocation, ...]:
    return tuple(one for one in ALLOCATIONS if one.process == process)


def _count(allocation: Allocation, at: float) -> int:
    return sum(1 for _ in allocation.times(at))
