// The operand is scaled instead of the result, and rounded too early.
// workload: scaled
// refused: elements of C are wrong
void solution(int8_t A[24][40], int8_t B[40][20], int32_t bias[1][20], int8_t C[24][20]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(40, 0.125f, DIM, 0);
    config_ld(20, 1.0f, DIM, 1);
    config_ld(0, 1.0f, DIM, 2);
    gemmini_extended_config_st(20, RELU, 1.0f);
    for (int i = 0; i < 24; i += 16) {
        const int rows = 24 - i < 16 ? 24 - i : 16;
        for (int j = 0; j < 20; j += 16) {
            const int cols = 20 - j < 16 ? 20 - j : 16;
            mvin3(&bias[0][j], c_tile, cols, rows);
            for (int k = 0; k < 40; k += 16) {
                const int depth = 40 - k < 16 ? 40 - k : 16;
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
