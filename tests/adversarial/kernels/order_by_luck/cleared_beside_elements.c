// Clears a tile in one bank while elements move to the other bank by another path: rows of either may go astray.
// workload: gemm
// refused: the banks choose a path together, so that rows would go astray
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 4096;
    const uint32_t c_tile = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(33, 1.0f, DIM, 0);
    config_ld(18, 1.0f, DIM, 1);
    gemmini_extended4_config_ld(33, 1.0f, true, DIM, 2);
    config_st(18);
    for (int i = 0; i < 20; i += 16) {
        const int rows = 20 - i < 16 ? 20 - i : 16;
        for (int j = 0; j < 18; j += 16) {
            const int cols = 18 - j < 16 ? 18 - j : 16;
            mvin(NULL, c_tile, cols, rows);
            mvin3(&A[0][0], c_tile | 512, 33, 16);
            for (int k = 0; k < 33; k += 16) {
                const int depth = 33 - k < 16 ? 33 - k : 16;
                mvin(&A[i][k], a_tile, depth, rows);
                mvin2(&B[k][j], b_tile, cols, depth);
                preload(b_tile, c_tile | 0x40000000, cols, depth, cols, rows);
                compute_preloaded(a_tile, 0xffffffff, depth, rows, cols, rows);
            }
            mvout(&C[i][j], c_tile, cols, rows);
        }
    }
    fence();
}
