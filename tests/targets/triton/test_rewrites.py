"""Rewrites of Triton kernels, by text alone: what they give is of the language. `test_interpreted.py` runs it."""

from __future__ import annotations

from functools import cache

import pytest

from autocomp.errors import NotApplicable
from autocomp.targets.triton.language import Module, check_module, fingerprint, parse
from autocomp.targets.triton.rewrites.registry import REWRITES
from autocomp.targets.triton.rewrites.registry import rewrite as known
from autocomp.targets.triton.rewrites.rewrite import Rewrite, Setting
from autocomp.targets.triton.routes import Route, routes
from autocomp.targets.triton.start import starting_kernel
from autocomp.targets.triton.transformations import SEQUENCE, Device, applied
from autocomp.workload.tensor import OPERATIONS
from tests.targets.triton.workloads import SIZES, load

NAMES = sorted(OPERATIONS)
CHAINED = ["fused_mlp"]  # several kernels, of which one can join another; its many routes take as long as all others
JOINING = ("fuse_epilogue", "join_products", "finish_wave")
PLAIN = [name for name in NAMES if name not in (*CHAINED, "layernorm", "sum")]  # enough for the other rewrites


@cache
def start(name: str) -> Module:
    return parse(starting_kernel(name, SIZES[name], OPERATIONS[name].with_defaults({})))


@cache
def routes_of(name: str) -> list[Route]:
    return routes(start(name), Device().setting(load(name)))


def stations(name: str, rewrite: str = "") -> list[Module]:
    """The starting kernel, and what each step gives of the first route with a rewrite, or of the first one."""
    fitting = (number for number, route in enumerate(routes_of(name)) if rewrite in dict(route.steps))
    return along(name, next(fitting, 0))


@cache
def along(name: str, number: int) -> list[Module]:
    modules = [start(name)]
    for step in routes_of(name)[number].steps:
        modules.append(applied(modules[-1], step[0], step[1]))
    return modules


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in CHAINED else []) for name in NAMES]
)
def test_a_route_gives_another_kernel_of_the_language(name: str) -> None:
    tensors = [tensor.name for tensor in load(name).tensors]
    kernels = [start(name)]
    for route in (routes_of(name)[0], routes_of(name)[-1]):
        kernels.append(applied(kernels[0], SEQUENCE, {"steps": [list(step) for step in route.steps]}))
        check_module(kernels[-1], tensors)
    assert len({fingerprint(kernel) for kernel in kernels}) == len(kernels)


@pytest.mark.parametrize(
    "rewrite",
    [pytest.param(one, id=one.name, marks=[pytest.mark.long] if one.name in JOINING else []) for one in REWRITES],
)
def test_a_rewrite_applies_somewhere_and_gives_the_language(rewrite: Rewrite) -> None:
    applies = 0
    for name in CHAINED if rewrite.name in JOINING else PLAIN:
        precise = rewrite.name == "product_precision"  # of float32 alone
        setting = Device().setting(load(name, **({"dtype": "float32"} if precise and name == "matmul" else {})))
        for module in stations(name, rewrite.name)[:: 1 if name in ("attention", *CHAINED) else 3]:
            for offer in rewrite.offers(module, setting)[:2]:
                try:
                    changed = applied(module, rewrite.name, offer.parameters)
                except NotApplicable:
                    continue
                check_module(changed)
                applies += 1
    assert applies


def test_a_halved_operand_is_loaded_from_a_row_that_no_other_offset_is_made_of() -> None:
    specialised = stations("scaled_matmul", "warp_specialise")[-1].text
    assert "warp_specialize=True" in specialised
    assert "a_desc.load([BLOCK_M * pid_m + origin, BLOCK_K * block])" in specialised
    assert "origin=0" in specialised


def test_short_sums_of_scaled_products_are_stored_beside_other_products() -> None:
    def first(depth: int) -> str:
        workload = load("scaled_matmul", dims={"M": 1024, "N": 1024, "K": depth})
        found = routes(start("scaled_matmul"), Device().setting(workload))
        return next(route.reason for route in found if "warp_groups" not in dict(route.steps))

    assert "two programs each" in first(256)
    assert "two programs each" not in first(8192)


@pytest.mark.parametrize(("name", "rewrite"), [("scaled_matmul", "warp_groups"), ("attention", "attention_groups")])
def test_groups_of_warps_are_for_devices_that_have_them(name: str, rewrite: str) -> None:
    module = stations(name, rewrite)[-1]
    assert "gl.warp_specialize(" in module.text
    assert ".is_cuda and " in module.text  # the interpreter runs the kernel that there was
    assert not routes(module, Device().setting(load(name)))
    before = stations(name, rewrite)[-2]
    for capability, offered in (((8, 0), False), ((9, 0), True), ((10, 0), False)):  # of Hopper alone
        assert bool(known(rewrite).offers(before, Setting(capability=capability))) == offered


def test_a_load_starts_before_a_reduction_but_not_before_a_wait() -> None:
    early = {"kernel": "rmsnorm_kernel"}
    module = parse(start("rmsnorm").text.replace("squares = 0.0", "squares = 0.0\n    tl.extra.cuda.gdc_wait()"))
    text = applied(applied(module, "one_block", early), "early_loads", early).text
    order = ("gdc_wait()", "weight_early = tl.load(weight_ptr", "tl.sum(", "weight = weight_early.to(")
    assert sorted(order, key=text.index) == list(order)
    with pytest.raises(NotApplicable, match="waits for a reduction"):
        applied(parse(text), "early_loads", early)


def test_attention_is_recognised_under_other_names() -> None:
    text = start("attention").text.replace("scores", "logits").replace("attention_kernel", "attend")
    assert "attend_groups" in applied(parse(text), "attention_groups", {"kernel": "attend", "programs": 4}).text
    other = parse(text.replace("tl.exp(largest - new)", "tl.exp(new - largest)"))
    with pytest.raises(NotApplicable, match="plain"):
        applied(other, "attention_groups", {"kernel": "attend", "programs": 4})


def test_a_product_that_is_read_back_is_made_in_the_same_loop() -> None:
    module = applied(start("fused_mlp"), "fuse_epilogue", {"kernel": "gate_kernel", "producer": "matmul_kernel"})
    given = {"kernel": "matmul_kernel_gate_kernel", "producer": "matmul_kernel"}
    joined = applied(module, "join_products", given)
    kernel = joined.text[joined.text.index("def matmul_kernel_gate_kernel_joined") :].split("@triton.jit")[0]
    assert kernel.count("tl.dot(") == 2
    assert kernel.count("tl.load(a_ptr") == 1
    assert "gates" not in joined.text  # neither its memory nor its launch
    with pytest.raises(NotApplicable, match="different grids"):
        applied(joined, "join_products", {"kernel": "matmul_kernel", "producer": "matmul_kernel_gate_kernel_joined"})


@pytest.mark.long
def test_groups_of_warps_make_two_products_of_the_same_rows_as_one() -> None:
    text = stations("fused_mlp", "warp_groups")[-1].text
    kernel = text[text.index("def matmul_kernel_gate_kernel_joined_multiply") :].split("@gluon.jit")[0]
    assert kernel.count("warpgroup_mma(") == 1
    assert "acc, acc_2 = acc.reshape([BLOCK_M, 2, BLOCK_N]).permute([0, 2, 1]).split()" in kernel
    assert "matmul_kernel_gate_kernel_joined_descriptors_rest[" in text  # what is left of the last wave


def test_a_wave_is_finished_once_and_by_tiles_that_tensor_cores_multiply() -> None:
    given: dict[str, object] = {"kernel": "matmul_kernel", "programs": 132, "rows": 2, "columns": 2}
    with pytest.raises(NotApplicable, match="groups of rows"):
        applied(start("matmul"), "finish_wave", given)
    grouped = applied(start("matmul"), "group_programs", {"kernel": "matmul_kernel"})
    with pytest.raises(NotApplicable, match="64 cut into 8 parts gives tiles below 16"):
        applied(grouped, "finish_wave", {**given, "columns": 8})
    finished = applied(grouped, "finish_wave", given)
    with pytest.raises(NotApplicable, match="finished already"):
        applied(finished, "finish_wave", given)


@pytest.mark.long
def test_products_of_one_loop_share_the_width_of_a_tile() -> None:
    route = next(route for route in routes_of("fused_mlp") if "warp_groups" not in dict(route.steps))
    widths = [step[1]["values"]["BLOCK_N"] for step in route.steps if step[0] == "set_parameters"]
    assert "join_products" in dict(route.steps)
    assert max(widths) == 2 * min(widths)
