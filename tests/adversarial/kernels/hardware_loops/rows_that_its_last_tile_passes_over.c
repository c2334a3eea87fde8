// Rows of B that the loop's last tile fills from beyond the tensor keep what was moved there before.
// workload: gemm
// refused: which nothing has written
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(33, 1.0f, DIM, 0);
    config_ld(18, 1.0f, DIM, 1);
    config_st(18);
    mvin2(&B[0][0], 8161, 16, 15);
    gemmini_loop_ws(2, 2, 3, 12, 14, 15, A, B, 0, C, 33, 18, 0, 18, false, false, false, false, 0, NO_ACTIVATION, 0, 0, false);
    fence();
    mvin(&A[0][0], 0, 15, 16);
    mvin(&A[0][15], 16, 16, 16);
    mvin(&A[0][31], 32, 2, 16);
    mvin2(&B[15][0], 48, 16, 16);
    mvin2(&B[31][0], 64, 16, 2);
    preload(8161, 0x80000000, 16, 15, 16, 16);
    compute_preloaded(0, 0xffffffff, 15, 16, 16, 16);
    preload(48, 0xC0000000, 16, 16, 16, 16);
    compute_preloaded(16, 0xffffffff, 16, 16, 16, 16);
    preload(64, 0xC0000000, 16, 2, 16, 16);
    compute_preloaded(32, 0xffffffff, 2, 16, 16, 16);
    mvout(&C[0][0], 0x80000000, 16, 16);
    fence();
}
