# Takes a tensor apart by a loop.
# operation: softmax float16
# refused: smoke: the kernel called PyTorch's operator aten.unbind
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * cols + offs, (e / tl.sum(e, axis=0)).to(y_ptr.dtype.element_ty), mask=offs < cols)


def solution(x, y):
    rows, cols = x.shape
    for z in x:
        rows = rows + 0
    softmax_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
