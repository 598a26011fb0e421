"""The dashboard's own explanations, in Markdown. One text a panel; no layout."""

from typing import Final

_FLAME_GRAPH_DOCS: Final = (
    "https://grafana.com/docs/grafana/latest/panels-visualizations/visualizations/flame-graph/"
)
_PROFILE_DOCS: Final = "https://www.inspektor-gadget.io/docs/latest/gadgets/profile_cuda"
_METRICS_DOCS: Final = "https://www.inspektor-gadget.io/docs/latest/gadgets/top_cuda_memory"

_HOW_TO_READ: Final = """\
**A bar is a function; its width is the bytes that were allocated in it and in everything it \
called, within the time range.** `total` is the root; a bar called the bars that touch it on the \
side away from the root. *Self* is what a function allocated itself; *Total* adds its callees.

| You want to know | Look at |
|---|---|
| who allocates | the widest leaves, the bars that call nothing; or sort the table by *Self* |
| on whose behalf | the widest bars near the root: the entry point, the engine, the model runner |
| what to change | wide *Self*; where the leaf is native, the nearest named caller |
| what to pass over | wide bars whose *Self* is 0: they only pass the work on |

Names: `Foo > bar` is method `bar` of class `Foo`. Addresses and `lib….so+0x…` are native code \
without a symbol: blame the named caller. `<interpreter trampoline>` is Python's own machinery. \
`other` is what was too narrow to send.

To work with it: *Search* finds a function, *Focus block* keeps one path, *Expand all groups* \
shows whole stacks. Auto-refresh is off here, as each refresh would fold an open graph again.
"""

BEFORE_THE_FIRST_PROFILE: Final = """\
While *Profile type* at the top is empty, **no profile of GPU memory has arrived in this time \
range**, and Grafana shows an error of its own, or nothing, in the panels from profiles. That \
alone is no fault: profiles come when a workload allocates after its agent started, and a model \
server allocates once, at its start. Choose a range that includes the start, or restart the \
workload; if it stays empty, `python -m gpuobs check` finds which link is missing.
"""

_NOT_MEASURED: Final = """\
- **Anything before the agent.** Memory that a process took before the agent was enabled is in no \
panel. A model server that reserves its memory at start has to be restarted once.
- **Live memory, in the flame graph.** Profiles count allocations and never frees. Memory that is \
taken and given back again and again, or by a workload that restarted, adds up to more than the \
GPU has.
- **Some calls.** The flame graph sees the classic driver calls (device, pitched, managed) and \
includes pinned *host* memory from them; it does not see stream-ordered (`cuMemAllocAsync`) nor \
virtual memory (`cuMemCreate`, PyTorch's expandable segments) allocations. Metrics see the \
stream-ordered ones as well, and this dashboard selects GPU memory only.
- **Failed allocations.** The request that ran out of memory is never recorded, only those that \
succeeded before it. Its size is in the workload's own log.
- **CUDA contexts.** What the driver itself takes for a context, its kernels and its libraries \
(some hundred MiB a process) is no allocation by a call.
- **Sleep mode.** Memory that vLLM manages for its sleep mode is virtual memory (`cuMemCreate`): \
neither its allocation, nor its release for sleep, nor its return is seen.
- **Memory inside a framework's own pool.** A tensor that reuses a cached block allocates nothing.
- **The cluster, in profiles.** They carry no cluster label; choose the cluster's *Profiles* source.
- **More than 32 days at once.** Azure Monitor answers no longer range, nor does this stack's \
Pyroscope; a longer one is an error in every panel.
- **Names, the first time.** The first profile of a process can lack symbols: let it allocate again.
"""

_WITHOUT_METRICS: Final = """\
- **Live memory, at all.** This stack has no Prometheus. The panels for memory held, processes, \
rates and frees need one, and are left out.
"""


def how_to_read(documentation_url: str | None) -> str:
    """Reading the flame graph in four questions."""
    own = _own_documentation(documentation_url, "dashboard.md", "what each panel answers")
    return f"{_HOW_TO_READ}\nMore: {own} · [Grafana on flame graphs]({_FLAME_GRAPH_DOCS})\n"


def not_measured(documentation_url: str | None, *, with_metrics: bool) -> str:
    """What no panel can show, so that nobody looks for it."""
    own = _own_documentation(
        documentation_url, "dashboard.md", "how live memory is computed, and its limits"
    )
    missing = _NOT_MEASURED if with_metrics else _WITHOUT_METRICS + _NOT_MEASURED
    return (
        f"{missing}\nMore: {own} · the agent's [profiles]({_PROFILE_DOCS}) "
        f"and [metrics]({_METRICS_DOCS})\n"
    )


def _own_documentation(base_url: str | None, file: str, subject: str) -> str:
    if base_url is None:
        return f"{subject}: `docs/users/{file}` in this dashboard's project"
    return f"[{subject}]({base_url.rstrip('/')}/users/{file})"
