# Runs a function of its own when configurations are compared.
# operation: softmax float16
# refused: check: 'pre_hook' in a decorator is not allowed
import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({}, num_warps=4, pre_hook=solution)], key=['cols'], reset_to_zero=['x_ptr'])
@triton.jit
def softmax_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * cols + offs, (e / tl.sum(e, axis=0)).to(y_ptr.dtype.element_ty), mask=offs < cols)


def solution(x, y):
    rows, cols = x.shape
    softmax_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
