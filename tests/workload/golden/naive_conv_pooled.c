void solution(int8_t inp[1][30][30][32], int8_t weights[3][3][32][64], int32_t bias[1][64], int8_t output[1][14][14][64]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(32, 1.0f, DIM, 0);
    config_ld(64, 1.0f, DIM, 1);
    config_ld(0, 1.0f, DIM, 2);
    gemmini_extended_config_st(64, RELU, 0.0078125f);
    for (int n = 0; n < 1; n++) {
        for (int k = 0; k < 64; k += 16) {
            for (int p = 0; p < 28; p++) {
                for (int q = 0; q < 28; q += 16) {
                    const int rows = 28 - q < 16 ? 28 - q : 16;
                    const uint32_t tile = c_tile + (p * 28 + q);
                    mvin3(&bias[0][k], tile, 16, rows);
                    for (int r = 0; r < 3; r++) {
                        for (int s = 0; s < 3; s++) {
                            for (int c = 0; c < 32; c += 16) {
                                mvin(&inp[n][p + r][q + s][c], a_tile, 16, rows);
                                mvin2(&weights[r][s][c][k], b_tile, 16, 16);
                                preload(b_tile, tile | 0x40000000, 16, 16, 16, rows);
                                compute_preloaded(a_tile, 0xffffffff, 16, rows, 16, rows);
                            }
                        }
                    }
                }
            }
            gemmini_extended2_config_st(64, RELU, 0.0078125f, 2, 3, 14, 14, 14, 28, 28, 1, 1);
            fence();
            mvout(&output[n][0][0][k], c_tile, 16, 0);
        }
    }
    fence();
}
