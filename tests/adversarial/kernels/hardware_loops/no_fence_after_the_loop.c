// Nothing waits for the stores of a hardware loop.
// workload: gemm
// refused: and nothing waits for it before the kernel returns
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(33, 1.0f, DIM, 0);
    config_ld(18, 1.0f, DIM, 1);
    config_st(18);
    gemmini_loop_ws(2, 2, 3, 12, 14, 15, A, B, 0, C, 33, 18, 0, 18, false, false, false, false, 0, NO_ACTIVATION, 0, 0, false);
}
