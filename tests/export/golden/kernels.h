// Kernels of one accelerator. A function returns when its result is in memory; tensors are row-major and do
// not overlap. A dispatch function returns 0, or -1 where it has no kernel for the sizes and did nothing.
// Strides are the elements from the begin of one row, along the last axis, to that of the next.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void gemm_I20_J37_K50_activation_relu_bias_row_scale_transpose_b_true(const int8_t *A, const int8_t *B, const int32_t *bias, int8_t *C, float scale);
int gemm_activation_relu_bias_row_scale_transpose_b_true(size_t I, size_t J, size_t K, const int8_t *A, const int8_t *B, const int32_t *bias, int8_t *C, float scale);
int gemm_activation_relu_bias_row_scale_transpose_b_true_any(size_t I, size_t J, size_t K, const int8_t *A, size_t stride_A, const int8_t *B, size_t stride_B, const int32_t *bias, int8_t *C, size_t stride_C, float scale);
