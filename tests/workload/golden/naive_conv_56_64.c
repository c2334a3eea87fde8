void solution(int8_t inp[4][58][58][64], int8_t weights[3][3][64][64], int32_t bias[1][64], int8_t output[4][56][56][64]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(64, 1.0f, DIM, 0);
    config_ld(64, 1.0f, DIM, 1);
    config_ld(0, 1.0f, DIM, 2);
    config_st(64);
    for (int n = 0; n < 4; n++) {
        for (int p = 0; p < 56; p++) {
            for (int q = 0; q < 56; q += 16) {
                const int rows = 56 - q < 16 ? 56 - q : 16;
                for (int k = 0; k < 64; k += 16) {
                    mvin3(&bias[0][k], c_tile, 16, rows);
                    for (int r = 0; r < 3; r++) {
                        for (int s = 0; s < 3; s++) {
                            for (int c = 0; c < 64; c += 16) {
                                mvin(&inp[n][p + r][q + s][c], a_tile, 16, rows);
                                mvin2(&weights[r][s][c][k], b_tile, 16, 16);
                                preload(b_tile, c_tile | 0x40000000, 16, 16, 16, rows);
                                compute_preloaded(a_tile, 0xffffffff, 16, rows, 16, rows);
                            }
                        }
                    }
                    mvout(&output[n][p][q][k], c_tile, 16, rows);
                }
            }
        }
    }
    fence();
}
