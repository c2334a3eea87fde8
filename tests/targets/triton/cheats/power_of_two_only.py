# Is right for columns that its block divides alone.
# operation: softmax float16
# refused: smoke: elements outside of 'y' were written
import triton
import triton.language as tl

@triton.jit
def softmax_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + offs).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row * cols + offs, y.to(y_ptr.dtype.element_ty))

def solution(x, y):
    rows, cols = x.shape
    softmax_kernel[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
