// Adds zeros to a finished tile while the next one grows in the other bank: harmless, but the banks share their adders.
// workload: gemm
// refused: the banks share their adders, so that both sums would be wrong
void solution(int8_t A[20][33], int8_t B[33][18], int8_t C[20][18]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 4096;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(33, 1.0f, DIM, 0);
    config_ld(18, 1.0f, DIM, 1);
    config_st(18);
    for (int i = 0; i < 20; i += 16) {
        const int rows = 20 - i < 16 ? 20 - i : 16;
        for (int j = 0; j < 18; j += 16) {
            const int cols = 18 - j < 16 ? 18 - j : 16;
            const uint32_t c_tile = 0x80000000 | (j > 0 ? 512 : 0);
            for (int k = 0; k < 33; k += 16) {
                const int depth = 33 - k < 16 ? 33 - k : 16;
                mvin(&A[i][k], a_tile + k, depth, rows);
                mvin2(&B[k][j], b_tile + k + 64 * (j > 0), cols, depth);
                preload(b_tile + k + 64 * (j > 0), k == 0 ? c_tile : c_tile | 0x40000000, cols, depth, cols, rows);
                compute_preloaded(a_tile + k, 0xffffffff, depth, rows, cols, rows);
            }
            mvin(NULL, c_tile | 0x40000000, cols, rows);
            mvout(&C[i][j], c_tile, cols, rows);
        }
    }
    fence();
}
