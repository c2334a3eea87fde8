"""A good hand-written GEMM schedule for the 16x16 machine, as text for any sizes that its blocks divide.

Blocks of 64 x 256 outputs (112 x 128 where 64 rows do not divide) stay in the accumulator while the reduction runs.
Each step of 64 along K moves the 16 x 64 strips of A and B needed next, spread over the computations of this step.
A and B lie in different banks, and each alternates between two, so that writes never meet reads.
"""

from __future__ import annotations

_KERNEL = """
void solution(int8_t A[{I}][{K}], int8_t B[{K}][{J}], int8_t C[{I}][{J}]) {{
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld({K}, 1.0f, 16, 0);
    config_ld({J}, 1.0f, 16, 1);
    config_st({J});
    for (int r = 0; r < {rows}; r++) mvin(&A[r * 16][0], r * 64, 64, 16);
    for (int t = 0; t < {strips}; t++)
        mvin2(&B[t / {wide} * 16][t % {wide} * 64], 8192 + t * 64, 64, 16);
    for (int i = 0; i < {I}; i += {height}) {{
        for (int j = 0; j < {J}; j += {block}) {{
            for (int k = 0; k < {K}; k += 64) {{
                const bool last_k = k + 64 == {K};
                const bool last_j = j + {block} == {J};
                const int next_k = last_k ? 0 : k + 64;
                const int next_j = last_k ? (last_j ? 0 : j + {block}) : j;
                const int next_i = last_k && last_j ? i + {height} : i;
                const uint32_t parity = ((i / {height} * {column_blocks} + j / {block}) * {steps} + k / 64) & 1;
                const uint32_t a = parity * 4096, b = 8192 + parity * 4096;
                const uint32_t next_a = 4096 - a, next_b = 8192 + (1 - parity) * 4096;
                for (int kk = 0; kk < 4; kk++) {{
                    for (int jj = 0; jj < {tiles}; jj++) {{
                        if (next_i < {I} && jj % 4 == 0) {{
                            mvin2(&B[next_k + kk * 16][next_j + jj * 16], next_b + (kk * {wide} + jj / 4) * 64, 64, 16);
                            for (int r = kk; jj == 0 && r < {rows}; r += 4)
                                mvin(&A[next_i + r * 16][next_k], next_a + r * 64, 64, 16);
                        }}
                        const uint32_t weights = b + (kk * {wide} + jj / 4) * 64 + jj % 4 * 16;
                        for (int ii = 0; ii < {rows}; ii++) {{
                            const uint32_t c = (k + kk == 0 ? 0x80000000 : 0xC0000000) + (ii * {tiles} + jj) * 16;
                            preload(ii == 0 ? weights : 0xffffffff, c, 16, 16, 16, 16);
                            if (ii == 0) compute_preloaded(a + ii * 64 + kk * 16, 0xffffffff, 16, 16, 16, 16);
                            else compute_accumulated(a + ii * 64 + kk * 16, 0xffffffff, 16, 16, 16, 16);
                            if (last_k && kk == 3)
                                mvout(&C[i + ii * 16][j + jj * 16], c & 0x800003ff, 16, 16);
                        }}
                    }}
                }}
            }}
        }}
    }}
    fence();
}}
"""


def gemm_kernel(i: int, j: int, k: int) -> str:
    """Kernel text for C[i][j] = A[i][k] B[k][j] in int8. J and K divide by 64, I by 64 or by 112."""
    rows = 4 if i % 64 == 0 else 7
    if i % (16 * rows) or j % 64 or k % 64:
        raise ValueError(f"I divides by 64 or 112, J and K by 64; got {i} x {j} x {k}")
    widest = 256 if rows == 4 else 128
    block = widest if j % widest == 0 else 64
    return _KERNEL.format(
        I=i,
        J=j,
        K=k,
        rows=rows,
        height=16 * rows,
        block=block,
        tiles=block // 16,
        wide=block // 64,
        strips=4 * (block // 64),
        column_blocks=j // block,
        steps=k // 64,
    )
