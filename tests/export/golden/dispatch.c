#include "kernels.h"

int gemm_activation_relu_bias_row_scale_transpose_b_true(size_t I, size_t J, size_t K, const int8_t *A, const int8_t *B, const int32_t *bias, int8_t *C, float scale) {
    if (I == 20 && J == 37 && K == 50) {
        gemm_I20_J37_K50_activation_relu_bias_row_scale_transpose_b_true(A, B, bias, C, scale);
        return 0;
    }
    return gemm_activation_relu_bias_row_scale_transpose_b_true_any(I, J, K, A, K, B, K, bias, C, J, scale);
}
