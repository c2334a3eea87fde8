// gemm I=20 J=37 K=50 bias=row activation=relu transpose_b=True on gemmini.
// … cycles
// Signed sums wrap, and products are rounded before they are added: compile with -fwrapv -ffp-contract=off.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "include/gemmini.h"
#include "kernels.h"

#ifndef WEIGHT_STATIONARY
#define WEIGHT_STATIONARY 1
#endif
_Static_assert(WEIGHT_STATIONARY == 1, "made for WEIGHT_STATIONARY = 1");

#ifndef NO_ACTIVATION
#define NO_ACTIVATION 0
#endif
_Static_assert(NO_ACTIVATION == 0, "made for NO_ACTIVATION = 0");

#ifndef RELU
#define RELU 1
#endif
_Static_assert(RELU == 1, "made for RELU = 1");

static void solution(int8_t A[20][50], int8_t B[37][50], int32_t bias[1][37], int8_t C[20][37], float scale) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0x80000000;
    gemmini_extended_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0, 1, false, true);
    gemmini_config_ld(50);
    gemmini_extended3_config_ld(50, 1.0f, 0, 1);
    gemmini_extended3_config_ld(0, 1.0f, 0, 2);
    gemmini_extended_config_st(37, RELU, scale);
    for (int i = 0; i < 20; i += 16) {
        const int rows = 20 - i < 16 ? 20 - i : 16;
        for (int j = 0; j < 37; j += 16) {
            const int cols = 37 - j < 16 ? 37 - j : 16;
            gemmini_extended_mvin3(&bias[0][j], c_tile, cols, rows);
            for (int k = 0; k < 50; k += 16) {
                const int depth = 50 - k < 16 ? 50 - k : 16;
                gemmini_extended_mvin(&A[i][k], a_tile, depth, rows);
                gemmini_extended_mvin2(&B[j][k], b_tile, depth, cols);
                gemmini_extended_preload(b_tile, c_tile | 0x40000000, cols, depth, cols, rows);
                gemmini_extended_compute_preloaded(a_tile, 0xffffffff, depth, rows, cols, rows);
            }
            gemmini_extended_mvout(&C[i][j], c_tile, cols, rows);
        }
    }
    gemmini_fence();
}

void gemm_I20_J37_K50_activation_relu_bias_row_scale_transpose_b_true(const int8_t *A, const int8_t *B, const int32_t *bias, int8_t *C, float scale) {
    solution((int8_t (*)[50])A, (int8_t (*)[50])B, (int32_t (*)[37])bias, (int8_t (*)[37])C, scale);
}
