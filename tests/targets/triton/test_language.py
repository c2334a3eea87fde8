"""The language, by parsing alone: no torch, no triton, no device."""

from __future__ import annotations

import pytest

from autocomp.errors import KernelError
from autocomp.targets.triton.language import check_module, fingerprint, parse
from autocomp.targets.triton.start import starting_kernel
from autocomp.workload.tensor import OPERATIONS
from tests.targets.triton.corpus import Cheat, cheats

COPY = """\
import triton
import triton.language as tl

@triton.jit
def copy(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < count), mask=offs < count)

def solution(x, y):
    copy[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
"""


def refusal(text: str) -> str:
    with pytest.raises(KernelError) as caught:
        check_module(parse(text), ["x", "y"])
    return str(caught.value)


COMPUTING = COPY.replace(
    "    copy[", "    x = (x @ x.t()).repeat(1, 1)[:4]\n    y.copy_(torch.where(x > 0, x, 0.0).mean())\n    copy["
)
COMPUTING = f"import torch\n{COMPUTING}"


def test_the_host_computes_only_where_the_workload_lets_it() -> None:
    check_module(parse(COMPUTING), ["x", "y"], computes=True)
    assert "call of '(x @ x.t()).repeat' on the host: it may compute the answer" in refusal(COMPUTING)
    assert "`host: compute` in the workload lets it" in refusal(COMPUTING)


@pytest.mark.parametrize(
    "call", ["torch.rand(4)", "torch.load('x')", "torch.compile(x)", "x.data_ptr()", "x.cpu()", "torch.cuda.Stream()"]
)
def test_a_host_that_computes_may_still_not_reach_out(call: str) -> None:
    text = COMPUTING.replace("x = (x @ x.t())", f"x = {call}")
    with pytest.raises(KernelError, match=r"does not have it|is not allowed|may compute"):
        check_module(parse(text), ["x", "y"], computes=True)


def test_the_corpus_has_at_least_40_cheats() -> None:
    assert len(cheats()) >= 40


@pytest.mark.parametrize("cheat", [c for c in cheats() if c.stage == "check"], ids=lambda cheat: cheat.name)
def test_the_check_refuses_a_cheat_with_its_reason(cheat: Cheat) -> None:
    assert cheat.reason in refusal(cheat.text)


@pytest.mark.parametrize("cheat", [c for c in cheats() if c.stage != "check"], ids=lambda cheat: cheat.name)
def test_the_check_leaves_to_the_judge_what_only_results_show(cheat: Cheat) -> None:
    check_module(parse(cheat.text))


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_generated_kernels_are_of_the_language(name: str) -> None:
    known = OPERATIONS[name]
    options = known.with_defaults({})
    dims = dict(known.edges(dict.fromkeys(known.dims, 128), options)[-1])
    tensors = [operand.name for operand in known.operands(dims, known.dtypes[0], options)]
    check_module(parse(starting_kernel(name, dims, options)), tensors)


def test_a_fingerprint_knows_no_names_comments_or_unused_functions() -> None:
    other = COPY.replace("copy", "moved").replace("offs", "where").replace("BLOCK", "WIDTH")
    other += "\n# a comment\ndef unused(x):\n    return x\n"
    assert fingerprint(parse(COPY)) == fingerprint(parse(other))


@pytest.mark.parametrize(("before", "after"), [("1024", "2048"), ("offs < count", "offs <= count"), ("x, y,", "y, x,")])
def test_a_fingerprint_knows_what_matters(before: str, after: str) -> None:
    assert fingerprint(parse(COPY)) != fingerprint(parse(COPY.replace(before, after)))


def test_a_refusal_names_the_place() -> None:
    text = COPY.replace("def solution(x, y):", "def solution(x, y):\n    eval('1')")
    assert refusal(text).startswith("kernel:10:5")


@pytest.mark.parametrize("nested", ["-" * 3000 + "1", "(" * 5000 + "1" + ")" * 5000, "1\x00"])
def test_text_that_python_cannot_parse_is_refused(nested: str) -> None:
    assert "not valid Python" in refusal(f"{COPY}\nX = {nested}\n")
