"""Which part a stack belongs to: stacks of the engines' published code, root first."""

import pytest

from flamegraphs.names import normalise
from memory.vocabulary import Part, vocabulary
from tests.memory.published import PUBLISHED, Published

WORDS = vocabulary()


def part(*stack: str) -> str:
    return WORDS.part(normalise(name) for name in reversed(stack))


VLLM = ("run_engine_core", "EngineCore > __init__")
SGLANG = ("run_scheduler_process", "Scheduler.__init__", "ModelRunner.initialize")
STACKS: dict[str, tuple[Part, tuple[str, ...]]] = {
    # vLLM, v1
    "vllm kv": (
        Part.KV_CACHE,
        (
            *VLLM,
            "EngineCore > _initialize_kv_caches",
            "Worker > initialize_from_config",
            "GPUModelRunner > initialize_kv_cache",
            "GPUModelRunner > _allocate_kv_cache_tensors",
            "torch.zeros",
            "libtorch_cuda.so+0x2f1c40",
        ),
    ),
    "vllm profile run, though kv caches are initialized around it": (
        Part.ACTIVATIONS,
        (
            *VLLM,
            "EngineCore > _initialize_kv_caches",
            "Worker > determine_available_memory",
            "GPUModelRunner > profile_run",
            "GPUModelRunner > _dummy_run",
            "LlamaDecoderLayer > forward",
        ),
    ),
    "vllm linear": (
        Part.WEIGHTS,
        (*VLLM, "Worker > load_model", "initialize_model", "QKVParallelLinear > create_weights"),
    ),
    "vllm embedding": (
        Part.WEIGHTS,
        (*VLLM, "GPUModelRunner > load_model", "VocabParallelEmbedding > __init__"),
    ),
    "vllm loader": (Part.WEIGHTS, (*VLLM, "DefaultModelLoader.load_weights", "torch.empty")),
    "vllm graphs, though layers run below": (
        Part.CUDA_GRAPHS,
        (
            *VLLM,
            "Worker.compile_or_warm_up_model",
            "GPUModelRunner.capture_model",
            "GPUModelRunner._dummy_run",
            "LlamaDecoderLayer.forward",
            "torch.empty_like",
        ),
    ),
    "vllm sampler": (
        Part.ACTIVATIONS,
        ("EngineCore > step", "GPUModelRunner > execute_model", "Sampler > forward"),
    ),
    "vllm nccl": (Part.FRAMEWORK, (*VLLM, "init_worker_distributed_environment", "ncclCommInit")),
    "vllm workspace": (Part.FRAMEWORK, (*VLLM, "FlashInferMetadataBuilder._get_workspace_buffer")),
    # SGLang
    "sglang pool": (
        Part.KV_CACHE,
        (
            *SGLANG,
            "ModelRunner.init_memory_pool",
            "MHATokenToKVPool._create_buffers",
            "torch.zeros",
        ),
    ),
    "sglang requests": (Part.KV_CACHE, (*SGLANG, "ReqToTokenPool.__init__", "torch.zeros")),
    "sglang weights": (Part.WEIGHTS, (*SGLANG, "ModelRunner.load_model", "get_model")),
    "sglang graphs": (
        Part.CUDA_GRAPHS,
        (*SGLANG, "CudaGraphRunner.capture", "CudaGraphRunner.capture_one_batch_size", "forward"),
    ),
    "sglang attention": (
        Part.FRAMEWORK,
        (*SGLANG, "FlashInferAttnBackend.__init__", "torch.empty"),
    ),
    "sglang batch": (
        Part.ACTIVATIONS,
        ("Scheduler.run_batch", "ModelRunner.forward_extend", "LlamaMLP.forward"),
    ),
    "sglang distributed": (Part.FRAMEWORK, (*SGLANG, "ModelRunner.init_torch_distributed")),
    # TGI
    "tgi kv": (
        Part.KV_CACHE,
        ("serve_inner", "FlashCausalLM.warmup", "FlashCausalLM.init_kv_cache", "KVCache.__init__"),
    ),
    "tgi weights": (Part.WEIGHTS, ("serve_inner", "get_model", "Weights.get_tensor")),
    "tgi prefill": (Part.ACTIVATIONS, ("Prefill", "FlashCausalLM.generate_token", "forward")),
    "tgi graphs": (Part.CUDA_GRAPHS, ("FlashCausalLM.warmup", "FlashCausalLM.cuda_graph_warmup")),
    # PyTorch, Transformers
    "torch model to device": (
        Part.WEIGHTS,
        ("<module>", "Module.to", "Module._apply", "Tensor.to"),
    ),
    "torch forward": (
        Part.ACTIVATIONS,
        ("train", "Module._wrapped_call_impl", "Module._call_impl", "Linear.forward", "linear"),
    ),
    "torch adam": (Part.OPTIMIZER, ("train", "Adam.step", "_init_group", "torch.zeros_like")),
    "torch backward": (Part.OPTIMIZER, ("train", "Tensor.backward", "_engine_run_backward")),
    "torch compile": (Part.FRAMEWORK, ("CachingAutotuner.run", "CachingAutotuner.bench")),
    "transformers": (Part.WEIGHTS, ("<module>", "PreTrainedModel.from_pretrained", "torch.empty")),
    "transformers cache": (Part.KV_CACHE, ("generate", "DynamicCache.update", "torch.cat")),
    "a tensor of somebody's own": (Part.ACTIVATIONS, ("<module>", "my_function", "Tensor.to")),
    # Triton
    "triton": (Part.FRAMEWORK, ("my_kernel", "Autotuner.run", "do_bench", "torch.empty")),
}


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_of_an_engines_code_is_the_part_that_its_engine_says(name: str) -> None:
    expected, stack = STACKS[name]
    assert part(*stack) == expected


@pytest.mark.parametrize("stack", PUBLISHED, ids=lambda one: one.url.split("/", 3)[3])
def test_a_published_stack_is_the_part_that_its_code_allocates_for(stack: Published) -> None:
    assert part(*stack.stack) == stack.part


@pytest.mark.parametrize("engine", ["vLLM", "SGLang", "PyTorch"])
def test_of_the_published_bytes_nine_in_ten_are_not_other(engine: str) -> None:
    known = [one for one in PUBLISHED if one.engine == engine]
    total = sum(one.bytes for one in known)
    other = sum(one.bytes for one in known if part(*one.stack) == Part.OTHER)
    assert total > 0
    assert other <= total / 10


@pytest.mark.parametrize(
    "stack", [(), ("main",), ("0x7f151a2d90b4", "<unknown>"), ("kvstore_get",)]
)
def test_what_no_pattern_knows_is_other(stack: tuple[str, ...]) -> None:
    assert part(*stack) == Part.OTHER


def test_a_file_of_ones_own_is_asked_first() -> None:
    words = vocabulary("# ours\nretrieval index: VectorIndex\\..*\n")
    assert words.part(["torch.empty", "VectorIndex.build", "Module.forward"]) == "retrieval index"
    assert words.part(["torch.empty"]) == Part.ACTIVATIONS


@pytest.mark.parametrize("line", ["no colon", "part:", ": pattern", "part: ("])
def test_a_line_of_another_form_is_refused_by_its_number(line: str) -> None:
    with pytest.raises(ValueError, match="line 2 "):
        vocabulary(f"# first\n{line}")
