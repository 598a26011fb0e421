"""What an operator must know of the result, in sentences."""

from infra.settings import Settings

RECORDED = (
    "Only allocations made after the agent started are recorded: a workload that ran before it, "
    "such as a vLLM server, which allocates most of its memory when it starts, shows an empty "
    "flame graph until it is restarted.",
    "The flame graph shows the bytes that were allocated in the chosen time, not the memory in "
    "use: frees do not count, and a restarted workload counts twice.",
    "cuMemAlloc, cuMemAllocManaged, cuMemAllocPitch and pinned host memory (cuMemAllocHost) are "
    "recorded. cuMemAllocAsync, cuMemHostAlloc and cuMemCreate (PyTorch's expandable segments) are "
    "not.",
    "The first profile of a process may lack symbols: run the workload once more.",
    "Leave the dashboard's refresh off while you read a flame graph: a refresh collapses it.",
)
EPHEMERAL = (
    "Profiles are kept in Pyroscope's pod and are gone when it restarts; "
    "gpuobs:pyroscope.storage keeps them: on a disk, or in Azure Blob Storage."
)
NO_METRICS = "Without gpuobs:prometheus there are no metrics, and no panels that need them."
SIGNAL = "Does data arrive? python -m gpuobs check --stack {stack} --wait 300"


def _is_ephemeral(settings: Settings) -> bool:
    own = settings.pyroscope.existing is None
    return own and not settings.pyroscope.storage.planned_disk


def notes(settings: Settings, stack: str) -> list[str]:
    """The sentences for the stack of this name with ``settings``."""
    prometheus = settings.prometheus
    has_metrics = prometheus.azure_monitor_workspace is not None or prometheus.url is not None
    return [
        *RECORDED,
        *([EPHEMERAL] if _is_ephemeral(settings) else []),
        *([] if has_metrics else [NO_METRICS]),
        SIGNAL.format(stack=stack),
    ]
