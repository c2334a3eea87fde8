// The second loop takes B from where the first did not leave it.
// workload: gemm
// refused: elements of C are wrong
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(33, 1.0f, DIM, 0);
    config_ld(18, 1.0f, DIM, 1);
    config_st(18);
    gemmini_loop_ws(1, 2, 3, 0, 14, 15, A, B, 0, C, 33, 18, 0, 18, false, false, false, false, 0, NO_ACTIVATION, 0, 0, false);
    gemmini_loop_ws(1, 2, 3, 12, 14, 15, &A[16][0], 0, 0, &C[16][0], 33, 18, 0, 18, false, false, false, false, 0, NO_ACTIVATION, 0, 0, false);
    fence();
}
