"""The names that a kernel module may use. Everything else is refused, so that what is not listed needs no rule."""

from __future__ import annotations

IMPORTS = frozenset(
    {
        "math",
        "torch",
        "triton",
        "triton.language",
        "triton.language.extra",
        "triton.language.extra.libdevice",
        "triton.tools.tensor_descriptor",
        "triton.experimental.gluon",
        "triton.experimental.gluon.language",
        "triton.experimental.gluon.language.nvidia.hopper",
        "triton.experimental.gluon.nvidia.hopper",
    }
)
IMPORTED_FROM = {
    "triton": frozenset({"jit", "cdiv", "next_power_of_2", "language"}),
    "triton.language": frozenset({"constexpr"}),
    "triton.language.extra": frozenset({"libdevice", "cuda"}),
    "triton.tools.tensor_descriptor": frozenset({"TensorDescriptor"}),
    "triton.experimental": frozenset({"gluon"}),
    "triton.experimental.gluon": frozenset({"language", "jit"}),
    "triton.experimental.gluon.language.nvidia.hopper": frozenset(
        {"mbarrier", "tma", "warpgroup_mma", "warpgroup_mma_init", "warpgroup_mma_wait", "fence_async_shared"}
    ),
    "triton.experimental.gluon.nvidia.hopper": frozenset({"TensorDescriptor"}),
    "math": frozenset({"ceil", "sqrt", "log2", "pi", "inf"}),
    "__future__": frozenset({"annotations"}),
}

# What the host may call: sizes, launches, memory without contents, views. Nothing of it computes on elements.
HOST_BUILTINS = frozenset(
    {"min", "max", "int", "float", "bool", "len", "range", "tuple", "list", "abs", "sum", "divmod"}
)
HOST_FUNCTIONS = frozenset(
    {
        "math.ceil",
        "math.sqrt",
        "math.log2",
        "torch.empty",
        "torch.empty_like",
        "torch.empty_strided",
        "torch.zeros",  # counters and sums that a kernel adds to
        "torch.cuda.get_device_properties",
        "triton.cdiv",
        "triton.next_power_of_2",
        "triton.Config",
        "TensorDescriptor",
        "TensorDescriptor.from_tensor",
        "cdiv",
        "next_power_of_2",
    }
)
VIEWS = frozenset({"view", "t", "transpose", "permute", "unsqueeze", "squeeze", "expand"})
# What a host that may compute (`host: compute` in a workload) also calls: PyTorch's functions and methods on elements.
# None of them draws random numbers, changes PyTorch's settings, or reads a file.
COMPUTING = frozenset(
    {
        *("abs", "add", "clamp", "cos", "div", "erf", "exp", "exp2", "log", "log2", "maximum", "minimum", "mul", "neg"),
        *("pow", "reciprocal", "relu", "rsqrt", "sigmoid", "sign", "sin", "sqrt", "square", "sub", "tanh", "where"),
        *("amax", "amin", "argmax", "argmin", "cumsum", "max", "mean", "min", "prod", "sum", "var"),
        *("log_softmax", "softmax", "addmm", "bmm", "dot", "matmul", "mm"),
        *("bfloat16", "double", "float", "half", "int", "long", "to"),
        *("cat", "clone", "contiguous", "copy_", "flatten", "gather", "index_select", "repeat", "repeat_interleave"),
        *("reshape", "stack", "arange", "full", "full_like", "ones", "ones_like"),
    }
)
LISTS = frozenset({"append", "pop"})
METADATA = frozenset({"stride", "size", "dim", "numel", "element_size", "is_contiguous"})
ATTRIBUTES = frozenset({"shape", "dtype", "device", "T", "mT", "ndim", "multi_processor_count", "is_cuda", "itemsize"})
TORCH_TYPES = frozenset(
    {
        "torch.float8_e4m3fn",
        "torch.float8_e5m2",
        "torch.bfloat16",
        "torch.float16",
        "torch.float32",
        "torch.float64",
        "torch.int8",
        "torch.uint8",
        "torch.int16",
        "torch.int32",
        "torch.int64",
        "torch.bool",
        "torch.Tensor",
        "torch.dtype",
    }
)
GLUON_HOST = frozenset({"NVMMASharedLayout", "SwizzledSharedLayout", "get_default_for"})

# Keywords of the calls in decorators: none takes a function, which would run aside, or writes a file.
IN_DECORATORS = {
    "triton.autotune": frozenset({"configs", "key", "reset_to_zero", "restore_value", "warmup", "rep"}),
    "triton.Config": frozenset({"kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg"}),
    "triton.jit": frozenset({"do_not_specialize", "do_not_specialize_on_alignment", "noinline"}),
}
DECORATORS = frozenset({"triton.jit", "gluon.jit", "triton.autotune"})

# What a Triton function may call besides its own module's functions and anything of the language's own modules.
KERNEL_BUILTINS = frozenset({"min", "max", "abs", "range", "len", "float", "int", "bool", "tuple"})
LANGUAGES = frozenset({"tl", "gl", "ttgl", "libdevice", "mbarrier", "tma", "hopper", "triton.language", "triton"})
REFUSED_OF_LANGUAGE = frozenset(
    {
        "device_print",
        "static_print",
        "device_assert",
        "inline_asm_elementwise",
        "core",
        "semantic",
        "PropagateNan",
        "pointer_type",
    }
)
