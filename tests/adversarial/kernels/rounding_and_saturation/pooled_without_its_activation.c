// The maxima of negative pixels stay negative.
// workload: pooled
// refused: elements of output are wrong
void solution(int8_t inp[1][8][8][4], int8_t weights[3][3][4][18], int32_t bias[1][18], int8_t output[1][3][3][18]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(4, 1.0f, DIM, 0);
    config_ld(18, 1.0f, DIM, 1);
    config_ld(0, 1.0f, DIM, 2);
    gemmini_extended_config_st(18, RELU, 0.0078125f);
    for (int n = 0; n < 1; n++) {
        for (int k = 0; k < 18; k += 16) {
            const int cols = 18 - k < 16 ? 18 - k : 16;
            for (int p = 0; p < 6; p++) {
                for (int q = 0; q < 6; q += 16) {
                    const int rows = 6 - q < 16 ? 6 - q : 16;
                    const uint32_t tile = c_tile + (p * 6 + q);
                    mvin3(&bias[0][k], tile, cols, rows);
                    for (int r = 0; r < 3; r++) {
                        for (int s = 0; s < 3; s++) {
                            for (int c = 0; c < 4; c += 16) {
                                const int depth = 4 - c < 16 ? 4 - c : 16;
                                mvin(&inp[n][p + r][q + s][c], a_tile, depth, rows);
                                mvin2(&weights[r][s][c][k], b_tile, cols, depth);
                                preload(b_tile, tile | 0x40000000, cols, depth, cols, rows);
                                compute_preloaded(a_tile, 0xffffffff, depth, rows, cols, rows);
                            }
                        }
                    }
                }
            }
            gemmini_extended2_config_st(18, NO_ACTIVATION, 0.0078125f, 2, 3, 3, 3, 3, 6, 6, 1, 1);
            fence();
            mvout(&output[n][0][0][k], c_tile, cols, 0);
        }
    }
    fence();
}
