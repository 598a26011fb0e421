"""Stacks that were published with the bytes that they asked for: facts, with where they are from.

They are tracebacks of allocations that failed, in threads of issues: the one place where complete
stacks of these engines stand in public with a size. (No recorded memory snapshot of any of them was
found as text; PyTorch's documentation shows such snapshots as pictures.) Kept are the names of
functions alone, outermost first, as they stand there: Python's tracebacks name no classes, so this
is harder than what the agent records. A thread often shows the innermost frames only.
"""

from dataclasses import dataclass
from typing import Final

from memory.vocabulary import Part

_MIB: Final = 1 << 20
_GITHUB: Final = "https://github.com/"


@dataclass(frozen=True)
class Published:
    """A stack."""

    engine: str
    url: str
    bytes: int
    """What was asked for; 0 where the thread does not say it."""
    part: Part
    """What the code that is named there allocates for."""
    stack: tuple[str, ...]


def _stack(engine: str, thread: str, mib: float, part: Part, names: str) -> Published:
    return Published(engine, _GITHUB + thread, int(mib * _MIB), part, tuple(names.split()))


PUBLISHED: Final = (
    _stack(
        "vLLM",
        "lemonade-sdk/vllm-rocm/issues/5",
        12.94 * 1024,
        Part.KV_CACHE,
        "initialize_from_config sync_wrapper initialize_from_config initialize_kv_cache "
        "initialize_kv_cache_tensors _allocate_kv_cache_tensors",
    ),
    _stack(
        "vLLM",
        "QwenLM/Qwen3/issues/458",
        642,
        Part.KV_CACHE,
        "CacheEngine.__init__ CacheEngine._allocate_kv_cache",
    ),
    _stack(
        "vLLM",
        "gensyn-ai/rl-swarm/issues/314",
        0,
        Part.KV_CACHE,
        "__init__ inner __init__ from_engine_args __init__ _initialize_kv_caches initialize_cache "
        "collective_rpc _allocate_kv_cache",
    ),
    _stack(
        "vLLM",
        "vllm-project/vllm/issues/40291",
        84,
        Part.WEIGHTS,
        "create_weights __torch_function__",
    ),
    _stack(
        "vLLM",
        "vllm-project/vllm/issues/27508",
        786,
        Part.ACTIVATIONS,
        "_wrapped_call_impl _call_impl forward",
    ),
    _stack(
        "vLLM",
        "wtdcode/vllm-backport/issues/34",
        0,
        Part.WEIGHTS,
        "process_weights_after_loading _setup_kernel convert_weight_to_mxfp4_moe_kernel_format "
        "prepare_moe_mxfp4_layer_for_marlin",
    ),
    _stack(
        "SGLang",
        "sgl-project/sglang/pull/6318",
        6.05 * 1024,
        Part.ACTIVATIONS,
        "forward _get_logits",
    ),
    _stack(
        "SGLang",
        "sgl-project/sglang/issues/12496",
        32,
        Part.KV_CACHE,
        "__init__ __init__ initialize init_memory_pool __init__ _create_buffers",
    ),
    _stack(
        "SGLang",
        "sgl-project/sglang/issues/1087",
        0,
        Part.ACTIVATIONS,
        "start_controller_process loop_for_forward exposed_step decorate_context forward_step "
        "forward_decode_batch sample top_k_top_p_sampling_from_probs",
    ),
    _stack(
        "SGLang",
        "sgl-project/sglang/issues/1751",
        0,
        Part.CUDA_GRAPHS,
        "__init__ capture capture_one_batch_size init_forward_metadata_capture_cuda_graph "
        "update_single_wrapper call_begin_forward",
    ),
    _stack(
        "PyTorch",
        "hpcaitech/ColossalAI/issues/3509",
        3.12 * 1024,
        Part.OPTIMIZER,
        "<module> train fit optimizer_step wrapper step",
    ),
    _stack(
        "PyTorch",
        "pytorch/pytorch/issues/18853",
        1024,
        Part.ACTIVATIONS,
        "forward threshold",
    ),
    _stack(
        "PyTorch",
        "huggingface/trl/pull/2776",
        130,
        Part.OPTIMIZER,
        "wrapper _use_grad step adamw maybe_fallback _multi_tensor_adamw",
    ),
    _stack(
        "PyTorch",
        "mindverse/Second-Me/issues/209",
        28,
        Part.OPTIMIZER,
        "backward backward _engine_run_backward apply backward backward _engine_run_backward",
    ),
    _stack(
        "PyTorch",
        "d8ahazard/sd_dreambooth_extension/issues/1282",
        0,
        Part.WEIGHTS,
        "_prepare_one prepare_model to _apply _apply _apply _apply convert",
    ),
    _stack(
        "PyTorch",
        "d8ahazard/sd_dreambooth_extension/issues/287",
        0,
        Part.OPTIMIZER,
        "main step step _maybe_opt_step step wrapper wrapper decorate_context step",
    ),
)
