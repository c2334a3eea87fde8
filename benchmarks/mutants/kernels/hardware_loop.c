// workload: operation: gemm | accelerator: gemmini | dims: {I: 20, J: 18, K: 33} | bias: row
void solution(int8_t A[20][33], int8_t B[33][18], int32_t bias[1][18], int8_t C[20][18]) {
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(33, 1.0f, DIM, 0);
    config_ld(18, 1.0f, DIM, 1);
    config_ld(0, 1.0f, DIM, 2);
    config_st(18);
    gemmini_loop_ws(1, 2, 3, 0, 14, 15, A, B, bias, C, 33, 18, 0, 18, false, false, false, false, true, NO_ACTIVATION, 0, 0, false);
    gemmini_loop_ws(1, 2, 3, 12, 14, 15, A[16], B, bias, C[16], 33, 18, 0, 18, false, false, false, false, true, NO_ACTIVATION, 0, 0, false);
    fence();
}
