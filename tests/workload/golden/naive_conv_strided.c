void solution(int8_t inp[1][56][56][64], int8_t weights[3][3][64][128], int32_t bias[1][128], int8_t output[1][28][28][128]) {
    const uint32_t a_tile = 0;
    const uint32_t b_tile = 16;
    const uint32_t c_tile = 0x80000000;
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(128, 1.0f, DIM, 0);
    config_ld(128, 1.0f, DIM, 1);
    config_ld(0, 1.0f, DIM, 2);
    gemmini_extended_config_st(128, RELU, 0.0078125f);
    for (int n = 0; n < 1; n++) {
        for (int p = 0; p < 28; p++) {
            for (int q = 0; q < 28; q += 16) {
                const int rows = 28 - q < 16 ? 28 - q : 16;
                for (int k = 0; k < 128; k += 16) {
                    mvin3(&bias[0][k], c_tile, 16, rows);
                    for (int r = 0; r < 3; r++) {
                        const int y = p * 2 + r - 1;
                        if (y >= 0 && y < 56) {
                            for (int s = 0; s < 3; s++) {
                                const int x = q * 2 + s - 1;
                                const int first_pixel = x < 0 ? (-x + 1) / 2 : 0;
                                const int end_pixel = (56 - x + 1) / 2 < rows ? (56 - x + 1) / 2 : rows;
                                const int pixels = end_pixel - first_pixel;
                                if (pixels > 0) {
                                    for (int c = 0; c < 64; c += 16) {
                                        mvin(&inp[n][y][x + first_pixel * 2][c], a_tile, 16, pixels);
                                        mvin2(&weights[r][s][c][k], b_tile, 16, 16);
                                        preload(b_tile, c_tile + first_pixel | 0x40000000, 16, 16, 16, pixels);
                                        compute_preloaded(a_tile, 0xffffffff, 16, pixels, 16, pixels);
                                    }
                                }
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
