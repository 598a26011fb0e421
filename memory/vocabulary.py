"""Which part of an engine's memory a call stack belongs to: weights, KV cache, activations, ...

The name nearest to the allocation decides: an engine's start-up calls everything else. Two
exceptions: what is allocated while CUDA graphs are captured is CUDA graphs', though layers run
below; and names that serve every part (``torch.zeros``) decide only where no other does. Names are
as :func:`flamegraphs.names.normalise` spells them, ``Foo.bar``.

Sources of the names: the source of vLLM (``vllm/v1/worker``, ``vllm/model_executor``), SGLang
(``sglang/srt/model_executor``, ``mem_cache``), Text Generation Inference (``server/models``),
PyTorch (``torch/nn``, ``torch/optim``, ``torch/cuda/graphs.py``), Transformers and Triton.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Part(StrEnum):
    """The parts that every engine has, in its own words."""

    CUDA_GRAPHS = "CUDA graphs"
    KV_CACHE = "KV cache"
    OPTIMIZER = "optimizer and gradients"
    WEIGHTS = "weights"
    ACTIVATIONS = "activations"
    FRAMEWORK = "framework"
    OTHER = "other"


CONFIGURED: Final = frozenset({Part.CUDA_GRAPHS, Part.KV_CACHE, Part.WEIGHTS})
"""Parts whose size the engine's settings and the model decide, once, at its start."""

_NAMES: Final[Mapping[Part, Sequence[str]]] = {
    Part.CUDA_GRAPHS: (
        r"capture_model",
        r"(?i)cuda_?graph\w*\.(capture\w*|__init__|__call__|replay|_?run\w*)",
        r"capture_one_batch_size",
        r"cuda_graph_warmup",
        r"make_graphed_callables",
        r"graph_capture",
        r"CudaGraphRunner\..*",
        r"CUDAGraphTreeManager\..*",
    ),
    Part.KV_CACHE: (
        r"(?i)_?(allocate|init|initialize|create|reshape|setup|prepare)_?\w*kv_?cache\w*",
        r"(?i)\w*kv_?(cache|pool)\w*\.(__init__|_?create_buffers|_?allocate\w*|empty)",
        r"CacheEngine\..*",
        r"\w*TokenToKVPool\w*\..*",
        r"ReqToTokenPool\..*",
        r"init_memory_pool",
        r"(Static|Dynamic|Hybrid|Quantized|Sliding\w*)Cache\.(update|__init__|lazy_initialization)",
        r"(Static|Dynamic)Layer\.(update|lazy_initialization)",
        r"PagedKVCache\..*",
    ),
    Part.OPTIMIZER: (
        r"(Adam\w*|SGD|Adagrad|Adafactor|RMSprop|Lion|Muon|LAMB|\w*Optimizer)\.(step|_init_group|"
        r"__init__|_?step_\w*|initialize_\w*|init_state)",
        r"_(multi|single)_tensor_\w+",
        r"(optimizer_step|_?maybe_opt\w*_step|adamw?|_use_grad)",
        r"(_fused|_foreach)_\w+",
        r"Tensor\.backward",
        r"backward",
        r"(torch\.)?autograd\.\w*backward\w*",
        r"_engine_run_backward",
        r"\w+Backward\d*(\.\w+)?",
        r"clip_grad_norm_",
        r"(Reducer|GradBucket|DistributedDataParallel)\..*",
    ),
    Part.WEIGHTS: (
        r"_?(load|initialize|init|create|build|get|materialize)_?(model|weights?|"
        r"checkpoint\w*|state_dict|shard\w*|params?)(_\w+)?",
        r"(from_pretrained|_from_config|load_state_dict|process_weights_after_loading)",
        r"\w*(Model)?Loader\.\w+",
        r"(Module|nn\.Module)\.(to|cuda|_apply|half|bfloat16)",
        # Of a traceback, which names no classes.
        r"_apply",
        r"((gptq|awq)_marlin_repack|prepare_\w+_for_marlin|convert_weights?_to_\w+)",
        r"(safe_open|get_tensor|load_file|safetensors_weights_iterator)",
        r"\w*(Linear|Embedding|Norm|Conv\d?d?|LMHead|MoE|Experts)\w*\.(__init__|create_weights|"
        r"reset_parameters|weight_loader\w*)",
        r"(set_module_tensor_to_device|dispatch_model|load_checkpoint_in_model)",
        r"LoRAModelManager\..*",
    ),
    Part.ACTIVATIONS: (
        r"(forward\w*|_call_impl|_wrapped_call_impl|execute_model|_dummy_run|profile_run|"
        r"_dummy_sampler_run|determine_available_memory|determine_num_available_blocks)",
        r"(run_batch|forward_(batch|extend|decode|idle)\w*|generate_token|warmup|prefill|"
        r"decode|generate|sample\w*|_sample|embed|encode|train_step|training_step|compute_loss)",
        r"Sampler\..*",
        r"(scaled_dot_product_attention|flash_attn\w*|softmax|cross_entropy|log_softmax|linear|"
        r"gelu|silu|layer_norm|dropout|embedding|conv\dd|matmul|bmm|einsum)",
        r"prepare_inputs?\w*",
        r"_prepare_\w*inputs?\w*",
    ),
    Part.FRAMEWORK: (
        r"(?i)\w*nccl\w*(\.\w+)*",
        r"(?i)lib(nccl|cublas\w*|cudnn\w*|nvshmem\w*|cufft|cusparse)\b.*",
        r"(init_process_group|init_distributed_environment|init_torch_distributed|"
        r"initialize_model_parallel|new_group|init_device|_?lazy_init|set_device|"
        r"init_worker_distributed_environment|CustomAllreduce\w*.*)",
        r"(?i)\w*workspace\w*(\.\w+)*",
        r"(\w*Attn\w*Backend|AttentionMetadataBuilder|\w*MetadataBuilder)\.\w+",
        r"(triton\..*|JITFunction\.\w+|Autotuner\.\w+|CompiledKernel\.\w+|do_bench|"
        r"CachingAutotuner\.\w+|benchmark_all_configs)",
        r"(InputBatch|BlockTable|MultiGroupBlockTable|CpuGpuBuffer|GPUModelRunner)\.(__init__|"
        r"_make_buffer)",
        r"(Dynamo|torch\._dynamo|torch\._inductor).*",
        r"cublas\w*|cudnn\w*",
    ),
}

_ANYWHERE: Final = frozenset({Part.CUDA_GRAPHS})
_OF_EVERY_PART: Final = (
    r"Tensor\.(to|cuda|clone|contiguous|float|half|bfloat16|repeat|expand|new_\w+)",
    r"(torch\.)?(empty|zeros|ones|randn?|full|cat|stack|arange|tensor)(_like|_strided)?",
)
"""PyTorch's own ways to a tensor: activations, where nothing nearer to the engine is named."""


@dataclass(frozen=True)
class Word:
    """A pattern of names, and how much it counts."""

    part: str
    pattern: re.Pattern[str]
    rank: int
    """0: wherever it stands; 1: the nearest to the allocation; 2: where no other is."""


@dataclass(frozen=True)
class Vocabulary:
    """Patterns of names; a part of somebody's own is a text."""

    words: Sequence[Word]

    def word(self, name: str) -> Word | None:
        """The first pattern that a function's name matches; None without any."""
        return next((word for word in self.words if word.pattern.fullmatch(name)), None)

    def part(self, stack: Iterable[str]) -> str:
        """The part that a stack belongs to; its names begin with the leaf."""
        return part_of(map(self.word, stack))


def part_of(words: Iterable[Word | None]) -> str:
    """The part that decides among the words of a stack, the leaf's first."""
    # The first of the least rank: min takes the nearest of equals.
    best = min(filter(None, words), key=lambda word: word.rank, default=None)
    return best.part if best is not None else Part.OTHER.value


def vocabulary(own: str = "") -> Vocabulary:
    """The table, with lines of one's own before it.

    ``own`` holds a line ``PART: PATTERN`` for each, the pattern a regular expression for a whole
    name, which counts wherever the name stands; ``#`` begins a comment.

    Raises:
        ValueError: a line is not of that form, or its pattern no regular expression.
    """
    return Vocabulary(
        [
            *_own(own),
            *(
                Word(part.value, _any_of(names), 0 if part in _ANYWHERE else 1)
                for part, names in _NAMES.items()
            ),
            Word(Part.ACTIVATIONS.value, _any_of(_OF_EVERY_PART), 2),
        ]
    )


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    # Of whatever class or module.
    either = "|".join(f"(?:{_local(one)})" for one in patterns)
    return re.compile(rf"(?:[\w<>]+\.)*?(?:{either})")


def _local(pattern: str) -> str:
    """A flag that a pattern begins with counts for itself alone."""
    return pattern if not pattern.startswith("(?i)") else f"(?i:{pattern[4:]})"


def _own(text: str) -> Iterable[Word]:
    for number, line in enumerate(text.splitlines(), 1):
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        part, colon, pattern = written.partition(":")
        if not colon or not part.strip() or not pattern.strip():
            raise ValueError(f"line {number} is not of the form PART: PATTERN: {written}")
        try:
            yield Word(part.strip(), re.compile(pattern.strip()), 0)
        except re.error as error:
            raise ValueError(f"line {number} has no regular expression: {error}") from error
