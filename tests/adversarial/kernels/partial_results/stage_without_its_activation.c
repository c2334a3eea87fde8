// The second stage begins with what the first one gave without its activation.
// workload: chain
// refused: elements of E are wrong
void solution(int8_t A[16][16], int8_t B[16][16], int8_t D[16][16], int8_t T[16][16], int8_t E[16][16]) {
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(16, 1.0f, DIM, 0);
    config_ld(16, 1.0f, DIM, 1);
    gemmini_extended_config_st(16, RELU, 0.25f);
    mvin(&A[0][0], 0, 16, 16);
    mvin2(&B[0][0], 16, 16, 16);
    preload(16, 0x80000000, 16, 16, 16, 16);
    compute_preloaded(0, 0xffffffff, 16, 16, 16, 16);
    mvout(&T[0][0], 0x80000000, 16, 16);
    gemmini_extended_config_st(16, NO_ACTIVATION, 0.25f);
    mvout(&E[0][0], 0x80000000, 16, 16);
    fence();
    mvin(&E[0][0], 32, 16, 16);
    mvin2(&D[0][0], 48, 16, 16);
    preload(48, 0x80000010, 16, 16, 16, 16);
    compute_preloaded(32, 0xffffffff, 16, 16, 16, 16);
    mvout(&E[0][0], 0x80000010, 16, 16);
    fence();
}
